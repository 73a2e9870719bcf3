"""Reading: what is believed, and how records are found by name."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from ledger import bundles, reader
from ledger.log.authority import read_checkpoint
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer
from store.digest import Digest
from store.errors import InputError, LogInvalid, RecordRejected
from tests.unit.ledger.release import bench
from tests.unit.ledger.release.story import EVALUATOR, ORIGIN

but = msgspec.structs.replace


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A folder with every outcome in it; tests of this module only read it."""
    place = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        folder = bench.begin(place / "b")
        yield folder, bench.tell_everything(folder)


@pytest.fixture
def folder(told):
    return told[0]


@pytest.fixture
def story(told):
    return told[1]


@pytest.fixture
def copy(folder, tmp_path):
    shutil.copytree(folder.root, tmp_path / "copy")
    return type(folder).open(tmp_path / "copy")


def last(ledger, chain):
    return kinds.Chain(attempt=chain.attempt, seq=chain.seq + 1, prev=ledger.attempt(chain.attempt).closed.digest)


def test_it_is_the_log_at_its_head(folder):
    ledger = Ledger.open(folder)
    assert ledger.head == read_checkpoint(folder).head
    assert [record.index for record in ledger.records] == list(range(ledger.head.size))
    assert ledger.root_at(ledger.head.size) == ledger.head.root
    for record in ledger.records:
        leaf = ledger.leaf(record.index)
        assert record.digest == Digest.of(leaf)
        assert ledger.get(record.digest) is record
    assert ledger.vkey.startswith(f"{ORIGIN}+")


def test_opening_again_admits_only_what_is_new(folder, monkeypatch):
    Ledger.open(folder)
    admitted = []
    for name in ("admit", "admit_examined"):
        admit = getattr(reader.Gate, name)
        counting = lambda gate, *rest, admit=admit: admitted.append(1) or admit(gate, *rest)  # noqa: E731
        monkeypatch.setattr(reader.Gate, name, counting)
    first = Ledger.open(folder)
    assert not admitted
    again = Ledger.open(folder, full=True)
    assert len(admitted) == first.head.size
    assert again.records == first.records


def test_a_view_stays_at_its_head(told, tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    folder = bench.begin(tmp_path / "b")
    before = Ledger.open(folder)
    bench.tell(folder).plan(["a"], ["c"])
    after = Ledger.open(folder)
    assert len(before.records) == before.head.size == 1
    assert after.records[:1] == before.records
    assert len(after.records) == after.head.size > 1


def test_a_tampered_leaf_is_not_read(copy):
    bundle = copy.log / "tile" / "entries" / "000.p" / str(read_checkpoint(copy).head.size)
    data = bytearray(bundle.read_bytes())
    data[-40] ^= 1
    bundle.chmod(0o644)
    bundle.write_bytes(data)
    with pytest.raises(LogInvalid) as caught:
        Ledger.open(copy)
    assert caught.value.rule == "leaf"


def test_trust_roots_beside_the_log_are_those_in_it(copy):
    place = copy.trust / "1.root.json"
    place.chmod(0o644)
    place.write_bytes(place.read_bytes().replace(b'"sig"', b'"gis"'))
    with pytest.raises(LogInvalid) as caught:
        Ledger.open(copy)
    assert caught.value.rule == "trust"


def test_another_pin_is_not_believed(folder):
    with pytest.raises(LogInvalid):
        Ledger.open(folder, Digest.of(b"another"))


def test_a_folder_without_a_log_is_an_input_error(tmp_path, monkeypatch, folder):
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    empty = type(folder).create(tmp_path / "e", ORIGIN)
    with pytest.raises(InputError):
        Ledger.open(empty)


def test_records_are_found_by_kind_digest_and_beginning(folder, story):
    ledger = Ledger.open(folder)
    assert [record.body.id for record in ledger.of(kinds.Case)] == ["pricing", "docs"]
    split = story.split
    assert ledger.get_as(split.digest, kinds.Split) == split
    with pytest.raises(InputError, match="split"):
        ledger.get_as(split.digest, kinds.Case)
    with pytest.raises(InputError):
        ledger.get(Digest.of(b"nothing"))
    assert (
        ledger.find(str(split.digest)) == ledger.find(split.digest.hex[:12]) == ledger.find(str(split.index)) == split
    )
    for name in ("", "zz", "99999", "sha256:"):
        with pytest.raises(InputError):
            ledger.find(name)


def test_names_are_found_and_near_ones_are_told(folder, story):
    ledger = Ledger.open(folder)
    assert ledger.case("pricing") == ledger.case("pricing", 1) == story.cases["pricing"]
    assert ledger.entry("oracle") == story.entries["oracle"]
    assert ledger.split("dev") == story.split
    assert ledger.protocol("p1") == story.protocol
    assert ledger.schedule("s1") == story.schedule
    with pytest.raises(InputError, match="pricing"):
        ledger.case("princing")
    with pytest.raises(InputError):
        ledger.case("pricing", 2)
    with pytest.raises(InputError, match="oracle"):
        ledger.entry("delphi")
    with pytest.raises(InputError, match="none"):
        ledger.release("r1")


def test_an_attempt_has_its_records_in_order(folder, story):
    ledger = Ledger.open(folder)
    told = next(item for item in story.told if item.evaluation is not None)
    records = ledger.attempt(told.id)
    assert records.opened == told.opened
    assert records.captures == told.captures
    assert records.evaluation == told.evaluation
    assert records.closed == told.closed
    assert [record.index for record in records.all()] == sorted(record.index for record in records.all())
    assert len(ledger.attempts()) == len(story.told)


def test_an_attempt_is_found_by_what_tells_it_apart(folder, story):
    ledger = Ledger.open(folder)
    told = story.told[3]
    assert ledger.attempt(told.id[:-1]).id == ledger.attempt(told.id[-8:]).id == told.id
    for name in ("", "nobody", "2026"):
        with pytest.raises(InputError):
            ledger.attempt(name)


def test_a_withdrawal_stands_until_it_is_lifted(folder, story):
    ledger = Ledger.open(folder)
    gone = [records.id for records in ledger.attempts() if records.withdrawn]
    lifted = [records.id for records in ledger.attempts() if records.withdrawals and not records.withdrawn]
    assert len(gone) == 1
    assert lifted == [story.told[0].id]


def test_the_verdict_that_counts_is_the_first_under_the_protocols_evaluator(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    folder = bench.begin(tmp_path / "b")
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    told = story.attempt("a", "c", 1, evaluator=Digest.of(b"old code"), close=False)
    case = story.cases["c"]
    assert Ledger.open(folder).attempt(told.id).evaluation == told.evaluation
    second = story.evaluate(told, case, {"functional": 1})
    story.evaluate(told, case, {"functional": 2})
    records = Ledger.open(folder).attempt(told.id)
    assert records.evaluator == EVALUATOR
    assert records.evaluation == second
    assert len(records.evaluations) == 3


def test_what_arrives_late_stands_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    folder = bench.begin(tmp_path / "b")
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    told = story.attempt("a", "c", 1)
    chain = last(Ledger.open(folder), told.closed.body.chain)
    item = kinds.Artifact(name="x", class_="late", media_type="text/plain", digest=Digest.of(b""), size=0)
    late = bench.say(folder)(
        lambda base: kinds.Artifacts(**base, chain=chain, workspace=None, build=None, items=[item])
    )
    records = Ledger.open(folder).attempt(told.id)
    assert records.late == (late,)
    assert late not in records.artifacts


def test_a_record_that_breaks_a_rule_does_not_get_in(folder, story):
    body = but(story.split.body, issued_at="2027-01-01T00:00:00Z")
    with Sequencer.open(folder) as sequencer, pytest.raises(RecordRejected) as caught:
        sequencer.append([sign_statement(body, [folder.keys.signer("curator")])])
    assert caught.value.rule == "redefined"


def test_a_large_log_is_read_alike_by_several_processes(folder, monkeypatch):
    alone = Ledger.open(folder, full=True)
    monkeypatch.setattr(bundles, "_ALONE", 0)
    monkeypatch.setattr(bundles, "WIDTH", 16)
    shared = Ledger.open(folder, full=True)
    assert shared.records == alone.records
    assert [shared.of(kind) for kind in kinds.KINDS.values()] == [alone.of(kind) for kind in kinds.KINDS.values()]
