"""Freezing and verifying on a real folder: what is refused, what is written, and what a verifier notices."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.release import admission
from ledger.release.freeze import draft_release, freeze, write_folder
from ledger.release.leaves import parse_leaves
from ledger.release.package import FILES, Package, Proofs
from ledger.release.receipt import prove
from ledger.release.trace import trace
from ledger.release.verify import STEPS, verify
from store.digest import Digest
from store.errors import CheckFailed, Conflict, InputError
from tests.unit.ledger.release.bench import begin, say, tell, tell_everything

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        yield place


@pytest.fixture(scope="module")
def released(home, tmp_path_factory):
    """A folder with every outcome in it, frozen as release `r1`; tests of this module only read it."""
    folder = begin(tmp_path_factory.mktemp("bench") / "b")
    story = tell_everything(folder)
    record = freeze(folder, "r1", "s1")
    return folder, story, record


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    folder = begin(tmp_path / "b")
    story = tell(folder)
    story.plan(["a"], ["pricing"], repeats=1)
    return folder, story


def findings(folder, name="r1", **more):
    return verify(folder, name, **more).findings


def test_a_frozen_release_verifies_in_eight_steps(released):
    folder, _, record = released
    result = verify(folder, "r1")
    assert result.findings == ()
    assert result.ok
    assert [step.name for step in result.steps] == list(STEPS)
    assert len(STEPS) == 8
    assert result.digest == record.body.root
    assert all("\n" not in step.detail for step in result.steps)


def test_the_release_folder_holds_what_an_auditor_needs(released):
    folder, _, record = released
    place = folder.releases / "r1"
    assert sorted(file.name for file in place.iterdir()) == sorted(FILES)
    summary = json.loads((place / "release.json").read_bytes())
    assert summary["digest"] == str(record.body.root)
    assert Digest.of((place / "results.json").read_bytes()) == record.body.results
    proofs = Proofs.parse((place / "proofs.json").read_bytes())
    assert proofs.format() == (place / "proofs.json").read_bytes()
    assert proofs.cutoff.size <= record.index


def test_every_attempt_has_a_receipt_under_the_release(released):
    folder, story, record = released
    items = parse_leaves((folder.releases / "r1" / "leaves.json").read_bytes())
    for told in story.told:
        if told.opened.body.purpose == "formal":
            receipt = prove(items, told.id)
            receipt.verify()
            assert receipt.release == record.body.root


def test_process_count_changes_nothing(released, monkeypatch):
    folder = released[0]
    alone = verify(folder, "r1", processes=1)
    monkeypatch.setattr(admission, "_ALONE", 0)
    monkeypatch.setattr(admission, "WIDTH", 16)
    assert verify(folder, "r1", processes=2) == alone
    assert alone.ok


def test_a_key_that_is_distrusted_afterwards_takes_the_release_with_it(fresh):
    folder, story = fresh
    told = story.attempt("a", "pricing", 1)
    freeze(folder, "r1", "s1")
    old = Ledger.open(folder).of(kinds.TrustRoot)[0].body
    stolen = folder.keys.signer("evaluator").keyid
    keys = [
        msgspec.structs.replace(key, distrusted_from=told.evaluation.index if key.keyid == stolen else None)
        for key in old.keys
    ]
    say(folder)(lambda base: msgspec.structs.replace(old, **base, version=2, keys=keys))
    result = verify(folder, "r1")
    assert [step.name for step in result.steps if not step.ok] == ["records"]
    assert [finding.where for finding in result.findings] == [f"record {told.evaluation.index}"]


def test_place_locale_and_time_zone_change_nothing(released, tmp_path):
    folder = released[0]
    other = tmp_path / "ünother place"
    shutil.copytree(folder.root, other)
    code = (
        "import sys; from pathlib import Path; from ledger.folder import Folder;"
        "from ledger.release.verify import verify; r = verify(Folder.open(Path(sys.argv[1])), 'r1');"
        "print(r.ok, r.digest, *[(s.name, s.ok, s.detail) for s in r.steps])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(place)],
            env={**os.environ, "LC_ALL": locale, "TZ": zone, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            cwd=ROOT,
        ).stdout
        for place, locale, zone, seed in [
            (folder.root, "C.UTF-8", "UTC", "1"),
            (other, "C", "Pacific/Chatham", "2"),
            (other, "de_DE.UTF-8", "Asia/Tokyo", "3"),
        ]
    }
    assert len(outputs) == 1
    assert b"True" in outputs.pop()


def test_the_pin_decides_whose_log_it_is(released, monkeypatch, tmp_path):
    folder = released[0]
    first = Digest.of((folder.trust / "1.root.json").read_bytes())
    assert verify(folder, "r1", pin=first).ok
    wrong = verify(folder, "r1", pin=Digest.of(b"another root"))
    assert not wrong.ok
    assert "trust root" in wrong.steps[0].detail
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "an auditor's machine"))
    alone = verify(Folder.open(folder.root), "r1")
    assert alone.ok
    assert "not pinned" in alone.steps[0].detail


def test_a_verifier_changes_nothing_in_the_folder(released):
    folder = released[0]

    def state():
        return {file: file.read_bytes() for file in folder.root.rglob("*") if file.is_file()}

    before = state()
    verify(folder, "r1")
    assert state() == before


def test_a_name_is_frozen_once(released):
    folder = released[0]
    with pytest.raises(Conflict, match="r1 is frozen"):
        freeze(folder, "r1", "s1")


def test_an_unknown_release_is_said_to_be_unknown(released):
    result = verify(released[0], "nothing")
    assert not result.ok
    assert any(finding.rule == "record" for finding in result.findings)


def test_the_folder_can_be_written_again_from_log_and_store(released, tmp_path):
    folder, _, record = released
    other = Folder(tmp_path / "copy")
    shutil.copytree(folder.root, other.root)
    shutil.rmtree(other.releases / "r1")
    write_folder(other, record)
    assert Package.read(other.releases / "r1") == Package.read(folder.releases / "r1")
    assert verify(other, "r1").ok


def test_freezing_again_after_a_crash_writes_the_folder_and_records_nothing(fresh):
    folder, story = fresh
    story.attempt("a", "pricing", 1)
    record = freeze(folder, "r1", "s1")
    size = read_checkpoint(folder).head.size
    shutil.rmtree(folder.releases / "r1")
    assert freeze(folder, "r1", "s1") == record
    assert read_checkpoint(folder).head.size == size
    assert verify(folder, "r1").ok


def test_open_attempts_and_unopened_slots_forbid_a_release(fresh):
    folder, story = fresh
    with pytest.raises(CheckFailed, match="a × pricing × 1"):
        freeze(folder, "r1", "s1")
    told = story.attempt("a", "pricing", 1, close=False, outcome="timeout")
    with pytest.raises(CheckFailed, match=told.id):
        freeze(folder, "r1", "s1")
    assert not (folder.releases / "r1").exists()
    assert Ledger.open(folder).of(kinds.Release) == []


def test_host_made_attempts_forbid_a_release(fresh):
    folder, story = fresh
    story.attempt("a", "pricing", 1, backend="native")
    with pytest.raises(CheckFailed, match="only container-made"):
        freeze(folder, "r1", "s1")


def test_a_later_withdrawal_leaves_the_release_as_it_was(fresh):
    folder, story = fresh
    told = story.attempt("a", "pricing", 1)
    record = freeze(folder, "r1", "s1")
    story.withdraw("attempt", told.id, told.closed.digest, reason="leak")
    result = verify(folder, "r1")
    assert result.findings == ()
    assert result.digest == record.body.root
    lines = [line for _, line in trace(Ledger.open(folder), folder.store, told.id).walk()]
    assert any("release r1: counted as scored with 0.500000" in line.text for line in lines)
    assert any("since then: withdrawn" in line.text for line in lines)
    second = freeze(folder, "r2", "s1")
    assert second.body.root != record.body.root
    assert verify(folder, "r1").ok
    assert verify(folder, "r2").ok


def test_a_withdrawn_release_still_verifies_and_says_so(fresh):
    folder, story = fresh
    story.attempt("a", "pricing", 1)
    record = freeze(folder, "r1", "s1")
    story.withdraw("release", "r1", record.digest, reason="other")
    result = verify(folder, "r1")
    assert result.ok
    assert f"withdrawn since by record {record.index + 1}: other" in result.steps[-1].detail


def test_a_release_that_the_manager_made_up_is_noticed(fresh):
    folder, story = fresh
    story.attempt("a", "pricing", 1)
    draft = draft_release(folder, "s1")
    invented = draft.results.replace(b'"score":500000', b'"score":990000')
    assert invented != draft.results
    honest = draft.scope
    release = say(folder)(
        lambda base: kinds.Release(
            **base,
            name="r1",
            split=honest.split.digest,
            protocol=honest.protocol.digest,
            schedule=honest.schedule.digest,
            cutoff=draft.cutoff,
            attempts=draft.attempts,
            results=folder.store.put_bytes(invented),
            leaves=folder.store.put_bytes(draft.leaves),
            root=draft.root,
        )
    )
    write_folder(folder, release)
    result = verify(folder, "r1")
    assert [step.name for step in result.steps if not step.ok] == ["aggregation"]
    assert {finding.rule for finding in result.findings} == {"results", "file"}


@pytest.mark.parametrize(
    ("field", "value", "step"),
    [("root", Digest.of(b"x"), "root"), ("leaves", None, "root"), ("attempts", 7, "root")],
)
def test_a_record_that_contradicts_its_own_evidence_is_noticed(fresh, field, value, step):
    folder, story = fresh
    story.attempt("a", "pricing", 1)
    draft = draft_release(folder, "s1")
    scope = draft.scope
    fields = {
        "attempts": draft.attempts,
        "results": folder.store.put_bytes(draft.results),
        "leaves": folder.store.put_bytes(draft.leaves),
        "root": draft.root,
    }
    fields[field] = folder.store.put_bytes(b"{}") if value is None else value
    release = say(folder)(
        lambda base: kinds.Release(
            **base,
            **fields,
            name="r1",
            split=scope.split.digest,
            protocol=scope.protocol.digest,
            schedule=scope.schedule.digest,
            cutoff=draft.cutoff,
        )
    )
    write_folder(folder, release)
    assert [step.name for step in verify(folder, "r1").steps if not step.ok] == [step]


def test_two_releases_of_one_name_are_noticed(fresh):
    folder, story = fresh
    story.attempt("a", "pricing", 1)
    first = freeze(folder, "r1", "s1")
    say(folder)(lambda base: msgspec.structs.replace(first.body, **base))
    assert "name" in {finding.rule for finding in findings(folder)}


def test_a_trace_leads_from_case_to_release(released):
    folder, story, record = released
    ledger = Ledger.open(folder)
    lines = [line for _, line in trace(ledger, folder.store, story.told[1].id).walk()]
    assert all(line.ok for line in lines)
    text = "\n".join(line.text for line in lines)
    for part in ("case pricing@1", "entry oracle", "schedule s1", "opened: formal", "captures", "evaluation: total"):
        assert part in text
    assert "release r1: counted as scored" in text
    indices = [line.index for line in lines if line.index is not None]
    assert record.index in indices
    for line in lines:
        if line.index is not None:
            assert ledger.records[line.index].digest == line.digest
            assert line.signer


def test_a_trace_shows_retries_withdrawals_and_reinstatements(released):
    folder, story, _ = released
    ledger = Ledger.open(folder)

    def text(told):
        return "\n".join(line.text for _, line in trace(ledger, folder.store, told.id).walk())

    failed, again, gone = story.told[4:7]
    assert f"tried again as {again.id}" in text(failed)
    assert f"retry of {failed.id}" in text(again)
    assert "attempt withdrawn by an operator: leak" in text(gone)
    assert "excluded because withdrawn: leak" in text(gone)
    assert "attempt reinstated" in text(story.told[0])


def test_a_trace_says_what_the_store_has_lost(released, tmp_path):
    folder, story, _ = released
    other = Folder(tmp_path / "copy")
    shutil.copytree(folder.root, other.root)
    told = story.told[0]
    other.store.path(told.captures.body.shots[0].tree).unlink()
    line = trace(Ledger.open(other), other.store, told.id)
    assert not line.ok
    assert any("not in the store" in child.text for _, child in line.walk())


def test_an_unknown_attempt_has_no_trace(released):
    with pytest.raises(InputError):
        trace(Ledger.open(released[0]), released[0].store, "nobody")
