"""A witness on the command line: it cosigns what continues, refuses what does not, and keeps the evidence."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.conftest import Command, explained

NAME = "witness.example/w1"


@pytest.fixture
def own(tmp_path):
    """A command with homes of its own, and a fresh folder."""
    rbl = Command(tmp_path)
    assert rbl("init", tmp_path / "bench").code == 0
    return rbl, tmp_path / "bench"


@pytest.fixture
def witness(own, tmp_path):
    """Makes a witness that watches the folder's log."""
    rbl, folder = own
    vkey = rbl("-C", folder, "ledger", "status", "--json").document["vkey"]

    def make(name):
        state = tmp_path / name
        made = rbl("ledger", "witness", "new", f"witness.example/{name}", "--state", state, "--json").document
        assert rbl("ledger", "witness", "trust", vkey, "--state", state).code == 0
        return state, made["vkey"]

    return make


def grow(rbl, folder, name):
    assert rbl("-C", folder, "protocol", "freeze", name, "--repeats", 2).code == 0


def test_it_cosigns_a_growing_log_and_appending_loses_nothing(own, witness):
    rbl, folder = own
    state, vkey = witness("w1")
    first = rbl("-C", folder, "ledger", "cosign", "--state", state, "--json").document
    assert (first["ok"], first["size"], first["witness"]) == (True, 1, NAME)
    assert first["signature"] + "\n" in (folder / "log/checkpoint").read_text("utf-8")
    grow(rbl, folder, "p")
    assert NAME not in (folder / "log/checkpoint").read_text("utf-8")
    assert first["signature"] + "\n" in (folder / "log/cosigned/1").read_text("utf-8")
    said = rbl("-C", folder, "ledger", "cosign", "--state", state)
    assert (said.code, f"{NAME} cosigned 2 records" in said.out) == (0, True)
    shown = rbl("ledger", "witness", "show", "--state", state, "--json").document
    assert (shown["vkey"], [log["size"] for log in shown["logs"]]) == (vkey, [2])
    assert rbl("-C", folder, "ledger", "verify").code == 0


def test_a_log_that_was_rolled_back_is_refused_with_the_evidence(own, witness):
    rbl, folder = own
    state, _ = witness("w1")
    shutil.copytree(folder, folder.parent / "old")
    grow(rbl, folder, "p")
    assert rbl("-C", folder, "ledger", "cosign", "--state", state).code == 0
    refused = rbl("-C", folder.parent / "old", "ledger", "cosign", "--state", state, "--json")
    assert refused.code == 1
    said = json.loads(refused.out)
    assert (said["ok"], said["signature"], said["refusal"]["rule"]) == (False, None, "rollback")
    assert said["refusal"]["evidence"].startswith(str(state))
    [log] = rbl("ledger", "witness", "show", "--state", state, "--json").document["logs"]
    assert [(one["rule"], one["place"]) for one in log["evidence"]] == [("rollback", said["refusal"]["evidence"])]
    assert not (folder.parent / "old/log/cosigned").exists()


def test_a_fork_is_refused_and_proven_by_the_log_s_own_signatures(own, witness):
    rbl, folder = own
    state, _ = witness("w1")
    shutil.copytree(folder, folder.parent / "other")
    shutil.copytree(folder.parent / "state", folder.parent / "before")
    grow(rbl, folder, "p")
    assert rbl("-C", folder, "ledger", "cosign", "--state", state).code == 0
    # whoever holds the log's key on a machine that does not remember goes on from the old copy
    forked = {"RBL_STATE_HOME": str(folder.parent / "before")}
    for name in ("q", "r"):
        assert rbl("-C", folder.parent / "other", "protocol", "freeze", name, "--repeats", 3, **forked).code == 0
    refused = rbl("-C", folder.parent / "other", "ledger", "cosign", "--state", state)
    assert (refused.code, "refuses: fork" in refused.out) == (1, True)
    assert "fork, proven" in rbl("ledger", "witness", "show", "--state", state).out


def test_what_is_missing_is_said(own, tmp_path):
    rbl, folder = own
    state = tmp_path / "w1"
    explained(rbl("-C", folder, "ledger", "cosign", "--state", state), 2, "not the state of a witness", "witness new")
    explained(rbl("ledger", "witness", "new", "a b", "--state", state), 2, "not a key name")
    assert not state.exists()
    assert rbl("ledger", "witness", "new", NAME, "--state", state).code == 0
    assert rbl("ledger", "witness", "new", NAME, "--state", state).code == 0
    explained(rbl("ledger", "witness", "new", "other", "--state", state), 5, f"the state of {NAME} is here")
    explained(rbl("-C", folder, "ledger", "cosign", "--state", state), 2, "is watched here", "witness trust")
    explained(rbl("ledger", "witness", "trust", "x+y+z", "--state", state), 2, "not an Ed25519 verifier key")
    (state / "witness.pem").rename(state / "moved.pem")
    explained(rbl("-C", folder, "ledger", "cosign", "--state", state), 3, "key of the role witness")
    moved = rbl("-C", folder, "ledger", "cosign", "--state", state, "--key", state / "moved.pem")
    explained(moved, 2, "is watched here")


def test_two_of_three_witnesses_are_asked_for_in_a_folder_and_in_a_bag(copied, tmp_path):
    rbl, folder = copied
    vkey = rbl("-C", folder, "ledger", "status", "--json").document["vkey"]
    states, lines = [], [f"log {vkey}"]
    for name in ("w1", "w2", "w3"):
        states.append(tmp_path / name)
        made = rbl("ledger", "witness", "new", f"witness.example/{name}", "--state", states[-1], "--json").document
        assert rbl("ledger", "witness", "trust", vkey, "--state", states[-1]).code == 0
        lines.append(f"witness {name} {made['vkey']}")
    policy = tmp_path / "policy"
    policy.write_text("\n".join([*lines, "group g 2 w1 w2 w3", "quorum g", ""]))

    def verified(*words):
        return rbl("-C", folder, *words, "--policy", policy, "--json")

    assert rbl("-C", folder, "ledger", "cosign", "--state", states[0]).code == 0
    for words in (("ledger", "verify"), ("release", "verify", "r1")):
        refused = verified(*words)
        assert refused.code == 1
        assert [one["rule"] for one in json.loads(refused.out)["findings"]] == ["policy"]
        assert rbl("-C", folder, *words).code == 0
    assert rbl("-C", folder, "ledger", "cosign", "--state", states[2]).code == 0
    assert verified("ledger", "verify").document["witnessed"]["names"] == ["w1", "w3"]
    assert verified("release", "verify", "r1").document["ok"]
    grow(rbl, folder, "later")
    partly = json.loads(verified("ledger", "verify").out)
    assert (partly["findings"][0]["rule"], partly["witnessed"]["size"]) == ("policy", partly["size"] - 1)
    assert verified("release", "verify", "r1").document["ok"]
    bag = tmp_path / "r1.tar"
    assert rbl("-C", folder, "store", "export", "r1", bag).code == 0
    (tmp_path / "empty").mkdir()
    checked = Command(tmp_path / "empty")("release", "verify", bag, "--policy", policy)
    assert (checked.code, "cosigned by w1, w3" in checked.out) == (0, True), checked.out


def test_a_policy_that_is_none_is_named_with_its_line(own, tmp_path):
    rbl, folder = own
    policy = tmp_path / "policy"
    for words in (("ledger", "verify"), ("release", "verify", "r1")):
        explained(rbl("-C", folder, *words, "--policy", policy), 2, "cannot read the policy", policy)
    policy.write_text("# who must sign\nquorum w1\n")
    explained(rbl("-C", folder, "ledger", "verify", "--policy", policy), 2, "not defined above", f"{policy}:2", "do:")
