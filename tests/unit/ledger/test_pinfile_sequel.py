"""The rules on what is said once attempts are made look back over an auditor's pin file too."""

from __future__ import annotations

import msgspec
import pytest

from ledger.log.authority import open_log, pinned_root
from ledger.pinfile import PinFile
from ledger.records import kinds
from ledger.records.gate import Gate
from ledger.records.statement import sign_statement
from ledger.verify import verify_ledger
from store.errors import RecordRejected
from tests.unit.ledger.records.sequel import ballot, calibration, erasure, preferences, reveal
from tests.unit.ledger.release import bench

but = msgspec.structs.replace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return bench.begin(tmp_path / "bench")


def refused(folder, pin, body, role):
    """The rule by which the next record is refused, by a gate that knows the log from the pin file alone."""
    assert verify_ledger(folder, pin_file=pin).findings == ()
    log = open_log(folder)
    with PinFile.open(pin, folder.config.origin, pinned_root(folder)) as kept:
        assert kept.head == log.head
        gate = Gate(folder.config.origin, log.root_at, kept)
        signed = sign_statement(but(body, after=log.head), [folder.keys.signer(role)])
        try:
            gate.admit(signed, gate.size)
        except RecordRejected as error:
            return error.rule
    return None


def test_a_kit_is_not_revealed_over_an_attempt_that_was_open_before(folder, tmp_path):
    story, pin = bench.tell(folder), tmp_path / "auditor.pin"
    story.plan(["a"], ["c"], repeats=1)
    told = story.attempt("a", "c", 1, outcome="timeout", close=False)
    base = {"ledger": folder.config.origin, "after": None, "issued_at": "2026-11-30T23:05:01Z"}
    assert refused(folder, pin, reveal(base, story.cases["c"]), "release-manager") == "revealed"
    chain = kinds.Chain(attempt=told.id, seq=1, prev=told.opened.digest)
    story.say(
        lambda base: kinds.AttemptClosed(
            **base,
            chain=chain,
            outcome="timeout",
            reason="wall-clock",
            detail="",
            last_step="",
            notes=[],
            evaluation=None,
            milliseconds=1,
            events=None,
        )
    )
    assert refused(folder, pin, reveal(base, story.cases["c"]), "release-manager") is None


def test_what_was_revealed_and_preferred_before_is_known(folder, tmp_path):
    story, pin = bench.tell(folder), tmp_path / "auditor.pin"
    story.plan(["a", "b"], ["c"], repeats=1)
    one, other = story.attempt("a", "c", 1), story.attempt("b", "c", 1)
    story.say(lambda base: reveal(base, story.cases["c"]))
    base = {"ledger": folder.config.origin, "after": None, "issued_at": "2026-11-30T23:05:01Z"}
    opened = but(one.opened.body, chain=kinds.Chain(attempt="new", seq=0, prev=None), repeat=1, schedule=None)
    assert refused(folder, pin, opened, "runner") == "revealed"
    assert refused(folder, pin, but(opened, purpose="diagnostic"), "runner") is None
    assert refused(folder, pin, reveal(base, story.cases["c"], detail="again"), "release-manager") == "redefined"
    assert refused(folder, pin, erasure(base, one.closed, one.closed.body.events), "release-manager") is None
    cast = ballot(one.captures, other.captures)
    twice = preferences(base, cast, ballot(other.captures, one.captures))
    assert refused(folder, pin, twice, "rater") == "duplicate-reference"
    assert refused(folder, pin, preferences(base, cast), "rater") is None
    batch = story.say(lambda base: preferences(base, cast))
    assert refused(folder, pin, calibration(base, batch, ballots=2), "evaluator") == "ballots"
    assert refused(folder, pin, calibration(base, batch), "evaluator") is None
