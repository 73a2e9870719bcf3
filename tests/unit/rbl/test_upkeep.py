"""gc and fsck on a real ledger: what anything needs stays, what nothing needs goes, what cannot be known stops both."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from cases.package import CaseFile, LimitsTable, PackageTrees
from ledger.announce import Stamp
from ledger.log.lock import Lock
from ledger.reach import reachable
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.statement import sign_statement
from ledger.release.freeze import freeze
from ledger.sequencer import Sequencer, spool
from rbl.upkeep import check, collect
from store import gc, pins
from store.digest import Digest
from store.directory import save_tree
from store.errors import CheckFailed, Conflict, InputError, LogInvalid
from store.tree import Tree, TreeEntry
from tests.unit.ledger.release import bench
from tests.unit.runners.frozen import frozen_case
from tests.unit.store.moments import moment


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return bench.begin(tmp_path / "b")


def tree(folder, **files):
    """A tree of small files; its digest and theirs."""
    parts = {name: folder.store.put_bytes(text.encode()) for name, text in files.items()}
    entries = [TreeEntry.file(name, digest, len(files[name].encode())) for name, digest in parts.items()]
    return save_tree(folder.store, Tree.of(entries)), set(parts.values())


def entry(folder, name, files):
    """A signed `entry` record whose agent is a tree."""
    at = Stamp.now(folder)
    body = kinds.Entry(
        ledger=at.ledger,
        after=at.after,
        issued_at=at.issued_at,
        id=name,
        agent=kinds.Agent(adapter="command", version="1", argv=["run"], files=files),
        model=None,
        reasoning_effort=None,
        tool_profile="none",
        skills=None,
        runtime="default",
        evidence_condition="full",
        sandbox="none",
        limits=None,
    )
    return sign_statement(body, [folder.keys.signer("release-manager")])


def append(folder, envelope):
    with Sequencer.open(folder) as sequencer:
        sequencer.append([envelope])


def remove(folder):
    return collect(folder, before=moment(folder.store), remove=True)


def test_nothing_of_any_outcome_withdrawal_or_release_goes_and_everything_else_does(folder):
    story = bench.tell_everything(folder)
    freeze(folder, "r1", "s1")
    withdrawn = [item.id for item in Ledger.open(folder).attempts() if item.withdrawn]
    assert withdrawn
    needed = reachable(Ledger.open(folder), folder.store)
    listing, files = tree(folder, a="nobody's", b="nobody's either")
    garbage = {listing, *files, folder.store.put_bytes(b"stray")}
    looked = collect(folder, before=moment(folder.store))
    assert (looked.objects.keys(), looked.kept, looked.young) == (garbage, len(needed), 0)
    assert garbage < set(folder.store.digests())

    gone = remove(folder)
    assert gone.objects.keys() == garbage
    assert set(folder.store.digests()) == needed.keys()
    assert check(folder).report.ok
    captures = next(told.captures for told in story.told if told.id in withdrawn)
    assert folder.store.has(captures.body.build)
    assert remove(folder).objects == {}


def test_what_the_store_took_lately_stays(folder):
    old = folder.store.put_bytes(b"old")
    again = folder.store.put_bytes(b"old, and put again")
    before = moment(folder.store)
    folder.store.put_bytes(b"old, and put again")
    new = folder.store.put_bytes(b"new")
    found = collect(folder, before=before, remove=True)
    assert (set(found.objects), found.young) == ({old}, 2)
    assert set(folder.store.digests()) == {again, new}


def test_pins_frozen_cases_and_waiting_records_keep_what_they_name(folder):
    pinned, pinned_files = tree(folder, page="pinned")
    pins.pin(folder.store, pinned, "the next case")
    source, source_files = tree(folder, page="source")
    package, package_files = tree(folder, page="package")
    contract, data = folder.store.put_bytes(b"contract"), folder.store.put_bytes(b"plan and kit")
    trees = PackageTrees(contract=contract, evidence=package, starter=package, package=package)
    limits = kinds.Limits(seconds=1, memory=1 << 20, cpus=1000, pids=8, workspace=1 << 20)
    case = CaseFile("next", 1, "frozen-evidence/reconstruct", "Next", ("policy",), LimitsTable.of(limits), None, "")
    (folder.cases / "next").mkdir()
    (folder.cases / "next" / "frozen.json").write_bytes(frozen_case(case, trees, data, source).format())
    spooled, spooled_files = tree(folder, page="spooled")
    spool(folder, entry(folder, "spooled", spooled))
    journaled, journaled_files = tree(folder, page="journaled")
    with Sequencer.open(folder) as sequencer:
        sequencer.append([entry(folder, "journaled", journaled)], integrate=False)
        sequencer._broken = True  # closing does not integrate: as after a crash
    folder.store.put_bytes(b"stray")
    kept = {pinned, source, package, contract, data, spooled, journaled}
    kept |= pinned_files | source_files | package_files | spooled_files | journaled_files
    assert len(Ledger.open(folder).records) == 1
    assert remove(folder).objects.keys() == {Digest.of(b"stray")}
    assert set(folder.store.digests()) == kept

    pins.unpin(folder.store, str(pinned))
    assert remove(folder).objects.keys() == {pinned} | pinned_files


def test_while_an_attempt_is_open_nothing_goes_that_came_since(folder):
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    told = story.attempt("a", "c", 1, close=False, captured=False, outcome="timeout")
    body = told.opened.body
    fresh = msgspec.structs.replace(
        body,
        chain=kinds.Chain(attempt="20261207T000000Z__c__a__r02__00000001", seq=0, prev=None),
        after=Stamp.now(folder).after,
        issued_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        repeat=2,
    )
    folder.store.put_bytes(b"of an agent at work")
    story.say(
        lambda base: kinds.AttemptClosed(
            **base,
            chain=kinds.Chain(attempt=told.id, seq=1, prev=told.opened.digest),
            outcome="timeout",
            reason="wall-clock",
            detail="",
            last_step="started",
            notes=[],
            evaluation=None,
            milliseconds=1,
            events=None,
        )
    )
    append(folder, sign_statement(fresh, [folder.keys.signer("runner")]))
    found = remove(folder)
    assert (found.objects, found.waits_for, found.young) == ({}, fresh.chain.attempt, 1)


def test_a_time_that_does_not_exist_holds_everything(folder):
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    told = story.attempt("a", "c", 1, close=False, captured=False, outcome="timeout")
    strange = msgspec.structs.replace(
        told.opened.body,
        chain=kinds.Chain(attempt="20260231T000000Z__c__a__r02__00000001", seq=0, prev=None),
        after=Stamp.now(folder).after,
        issued_at="2026-02-31T00:00:00Z",
        repeat=2,
    )
    append(folder, sign_statement(strange, [folder.keys.signer("runner")]))
    folder.store.put_bytes(b"stray")
    assert remove(folder).objects == {}


def test_what_was_set_aside_and_is_needed_by_now_comes_back_whole(folder):
    late, files = tree(folder, page="late", style="late too")
    stray = folder.store.put_bytes(b"stray")
    envelope = entry(folder, "late", late)
    for mend in (remove, check):
        gc.set_aside(folder.store, [late, *files, stray], moment(folder.store))  # and gc is killed here
        append(folder, envelope)
        mend(folder)
        assert {late, *files} <= set(folder.store.digests())
        assert check(folder).report.ok
        folder.store.put_bytes(b"stray")
    assert remove(folder).objects.keys() == {stray}


def test_nothing_goes_when_it_is_not_known_what_is_needed(folder):
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    stray = folder.store.put_bytes(b"stray")
    place = folder.store.path(story.cases["c"].body.evidence)
    data = place.read_bytes()
    place.unlink()
    with pytest.raises(CheckFailed, match="a needed tree is missing"):
        remove(folder)
    place.write_bytes(data[:-1])
    with pytest.raises(CheckFailed, match="a needed tree is missing or damaged"):
        remove(folder)
    place.unlink()
    place.write_bytes(data)

    waiting = folder.spool / "1.dsse"
    waiting.write_text("{}")
    with pytest.raises(CheckFailed, match="a waiting record cannot be read"):
        remove(folder)
    waiting.unlink()
    (folder.cases / "next").mkdir()
    (folder.cases / "next" / "frozen.json").write_text("{}")
    with pytest.raises(InputError, match="not a frozen case"):
        remove(folder)
    (folder.cases / "next" / "frozen.json").unlink()
    (folder.log / "checkpoint").write_bytes((folder.log / "checkpoint").read_bytes().replace(b"\n", b"\n\n", 1))
    with pytest.raises(LogInvalid):
        remove(folder)
    assert folder.store.has(stray)


def test_one_gc_at_a_time(folder):
    with Lock(folder.objects / "gc.lock", wait=0), pytest.raises(Conflict, match="another process is removing"):
        remove(folder)


def test_the_bytes_of_a_damaged_object_are_not_handed_out_by_dvc(folder):
    from store import dvc

    listing, (part,) = tree(folder, page="evidence")
    dvc.offer(folder.store, Tree.of([TreeEntry.file("page", part, 8)]), {})
    append(folder, entry(folder, "a", listing))
    place = folder.store.path(part)
    place.chmod(0o644)
    place.write_bytes(b"evidencE")
    (damaged,) = check(folder).corrupt
    assert damaged.named_by == ("record 1 (entry) agent: page",)
    assert damaged.aside.read_bytes() == b"evidencE"
    assert [path.suffix for path in (folder.objects / "dvc").glob("files/md5/*/*")] == [".dir"]
