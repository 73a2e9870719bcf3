"""Looking up: the same answers as the whole view gives, whatever became of the index."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3

import msgspec
import pytest

from ledger import lookup
from ledger.log.authority import read_checkpoint
from ledger.log.pin import Pin
from ledger.lookup import Lookup, Query, reindex
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.admitted import Admitted
from ledger.records.statement import sign_statement
from ledger.release.freeze import freeze
from ledger.release.recorded import recorded
from ledger.release.trace import trace
from ledger.sequencer import Sequencer
from store.digest import Digest
from store.errors import CheckFailed, InputError, LogInvalid, RecordRejected
from tests.unit.ledger.release import bench


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with every outcome and two releases, and its homes; tests copy what they change."""
    place = tmp_path_factory.mktemp("lookup")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        folder = bench.begin(place / "b")
        story = bench.tell_everything(folder)
        freeze(folder, "r1", "s1")
        freeze(folder, "r2", "s1")
        reindex(folder)
    return place, folder, story


@pytest.fixture
def folder(made, monkeypatch, tmp_path):
    """The folder as it was made, with a state folder that may be changed."""
    monkeypatch.setenv("RBL_CONFIG_HOME", str(made[0] / "config"))
    shutil.copytree(made[0] / "state", tmp_path / "state")
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return made[1]


@pytest.fixture
def copy(folder, tmp_path):
    shutil.copytree(folder.root, tmp_path / "copy")
    return type(folder).open(tmp_path / "copy")


def database(folder):
    (found,) = (folder.state / "index").glob("*.sqlite3")
    return found


def edit(folder, *commands):
    with sqlite3.connect(database(folder)) as connection:
        for command in commands:
            connection.execute(command)
    connection.close()


def restamp(folder):
    """What somebody does who may write the state folder, and knows how it is stamped."""
    place = folder.state / "index" / "stamp"
    stamp = json.loads(place.read_bytes())
    stamp["sha256"] = hashlib.sha256(database(folder).read_bytes()).hexdigest()
    stamp["identity"] = ["0"] * 5
    place.write_bytes(json.dumps(stamp, separators=(",", ":"), sort_keys=True).encode())


def same(found, ledger):
    """The lookup gives what the whole view gives."""
    assert found.head == ledger.head
    assert found.vkey == ledger.vkey
    assert [found.record(number) for number in range(found.head.size)] == list(ledger.records)
    assert list(found.attempts()) == ledger.attempts()
    assert found.open_attempts() == [records.id for records in ledger.attempts() if records.closed is None]
    assert sum(found.counts().values()) == ledger.head.size
    for kind, count in found.counts().items():
        assert count == len(ledger.of(kinds.KINDS[kind])) == len(list(found.select(Query(kind=kind))))


def test_it_gives_what_the_whole_view_gives(folder):
    ledger, found = Ledger.open(folder), Lookup.open(folder)
    same(found, ledger)
    for wanted in (kinds.TrustRoot, kinds.Case, kinds.Schedule, kinds.Withdrawal, kinds.Release):
        assert found.of(wanted) == ledger.of(wanted)
    for record in ledger.records:
        assert found.get(record.digest) == found.find(record.digest.hex[:20]) == found.find(str(record.index)) == record
    for records in ledger.attempts():
        assert found.attempt(records.id) == found.attempt(records.id[-8:]) == records
        assert found.tries(records) == ledger.tries(records)
        assert trace(found, folder.store, records.id) == trace(ledger, folder.store, records.id)


def test_a_query_narrows(folder, made):
    ledger, found = Ledger.open(folder), Lookup.open(folder)
    told = made[2].told[2]
    of_entry = {records.id for records in ledger.attempts() if records.opened.body.entry.id == "partial"}
    expected = [
        record
        for record in ledger.records
        if lookup.attempt_of(record.body) in of_entry
        or (record.kind, getattr(record.body, "id", "")) == ("entry", "partial")
    ]
    assert list(found.select(Query(entry="partial"))) == expected
    assert {record.kind for record in expected} > {"entry", "attempt-opened", "attempt-closed"}
    both = list(found.select(Query(entry="oracle", case="docs", kind="evaluation")))
    assert both
    assert all(ledger.attempt(record.body.attempt).opened.body.case.id == "docs" for record in both)
    assert list(found.select(Query(attempt=told.id))) == ledger.attempt(told.id).all()
    assert [record.index for record in found.select(Query(since=40))] == list(range(40, found.head.size))
    assert list(found.select(Query(since="2026-11-30"))) == [
        r for r in ledger.records if r.body.issued_at >= "2026-11-30"
    ]
    assert not list(found.select(Query(since="2999")))
    assert not list(found.select(Query(entry="nobody")))


@pytest.mark.parametrize("name", ["", "nobody", "2026", "%", "_" * 8])
def test_what_names_no_attempt_is_told(folder, name):
    with pytest.raises(InputError, match="called"):
        Lookup.open(folder).attempt(name)


@pytest.mark.parametrize("name", ["", "zz", "99999", "sha256:", "sha256:" + "0" * 64])
def test_what_names_no_record_is_told(folder, name):
    with pytest.raises(InputError, match="records are called"):
        Lookup.open(folder).find(name)


DAMAGE = {
    "edited": lambda folder: edit(folder, "UPDATE records SET attempt = 1 WHERE attempt = 2"),
    "left out": lambda folder: edit(folder, "DELETE FROM records WHERE number = 30"),
    "an attempt left out": lambda folder: edit(
        folder, "DELETE FROM records WHERE attempt = 3", "DELETE FROM attempts WHERE number = 3"
    ),
    "a closing forgotten": lambda folder: edit(folder, "UPDATE attempts SET closed = NULL WHERE number = 1"),
    "added": lambda folder: edit(folder, "INSERT INTO declared VALUES (30, 14, 'forged')"),
    "cut short": lambda folder: database(folder).write_bytes(database(folder).read_bytes()[:5000]),
    "no database": lambda folder: database(folder).write_bytes(b"nothing of the kind"),
    "gone": lambda folder: database(folder).unlink(),
    "stamp gone": lambda folder: (folder.state / "index" / "stamp").unlink(),
    "stamp damaged": lambda folder: (folder.state / "index" / "stamp").write_bytes(b'{"size":'),
    "stamp of another head": lambda folder: (folder.state / "index" / "stamp").write_bytes(
        (folder.state / "index" / "stamp").read_bytes().replace(b"sha256:", b"sha256:00")[:-3] + b"}"
    ),
    "all gone": lambda folder: shutil.rmtree(folder.state / "index"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_noticed_and_made_again(folder, damage):
    DAMAGE[damage](folder)
    same(Lookup.open(folder), Ledger.open(folder))
    made_again = database(folder).name
    Lookup.open(folder)
    assert database(folder).name == made_again


def test_the_stamp_of_another_root_is_not_believed(folder):
    place = folder.state / "index" / "stamp"
    stamp = json.loads(place.read_bytes())
    stamp["root"] = str(Digest.of(b"another history"))
    place.write_bytes(json.dumps(stamp, separators=(",", ":"), sort_keys=True).encode())
    before = database(folder).name
    same(Lookup.open(folder), Ledger.open(folder))
    assert database(folder).name != before


@pytest.mark.parametrize(
    "command",
    [
        "UPDATE records SET attempt = 1 WHERE attempt = 2",
        "UPDATE records SET number = number + 1000 WHERE attempt = 1",
        "DELETE FROM records WHERE number = (SELECT min(number) FROM records WHERE attempt = 1)",
    ],
)
def test_an_edited_row_is_not_believed_even_when_it_is_stamped(folder, command):
    edit(folder, command)
    restamp(folder)
    found = Lookup.open(folder)
    with pytest.raises(LogInvalid) as caught:
        list(found.attempts())
    assert caught.value.rule in {"index", "size"}
    reindex(folder)
    same(Lookup.open(folder), Ledger.open(folder))


def test_a_record_under_a_forged_name_is_not_shown(folder):
    edit(folder, "UPDATE declared SET name = 'r3' WHERE name = 'r2'", "UPDATE records SET kind = 10 WHERE number = 0")
    restamp(folder)
    found = Lookup.open(folder)
    with pytest.raises(LogInvalid):
        found.release("r3")
    with pytest.raises(LogInvalid):
        list(found.select(Query(kind="evaluation")))


def test_what_is_new_is_added_and_gives_the_same_index(copy):
    before = Lookup.open(copy)
    said = []
    bench.say(copy)(
        lambda base: kinds.Source(
            **base,
            id="new",
            lead="https://example.org/lead",
            origin="https://example.org/origin",
            artifact=Digest.of(b"new"),
            differences=["none"],
            permission="granted",
        )
    )
    after = Lookup.open(copy, lambda done, total: said.append((done, total)))
    assert said == [(before.head.size + 1, before.head.size + 1)]
    same(after, Ledger.open(copy))

    def dump():
        with sqlite3.connect(database(copy)) as connection:
            rows = [
                connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
                for table in ("records", "attempts", "declared")
            ]
        connection.close()
        return rows

    extended = dump()
    reindex(copy)
    assert dump() == extended
    assert list(before.attempts())  # its file is gone, and its view stays at its head


def test_a_tampered_leaf_is_not_shown(copy):
    bundle = copy.log / "tile" / "entries" / "000.p" / str(read_checkpoint(copy).head.size)
    data = bytearray(bundle.read_bytes())
    data[-40] ^= 1
    bundle.chmod(0o644)
    bundle.write_bytes(data)
    found = Lookup.open(copy)
    with pytest.raises(LogInvalid) as caught:
        found.record(found.head.size - 1)
    assert caught.value.rule == "leaf"
    with pytest.raises(LogInvalid):
        reindex(copy)


def elsewhere(folder, monkeypatch, place):
    """A machine that knows the first trust root and has signed nothing."""
    pinned = Pin(folder.state).trust_root
    monkeypatch.setenv("RBL_STATE_HOME", str(place))
    Pin(folder.state).pin(pinned)


def test_a_log_from_elsewhere_is_indexed_too(copy, monkeypatch, tmp_path):
    elsewhere(copy, monkeypatch, tmp_path / "auditor")
    same(Lookup.open(copy), Ledger.open(copy))


def test_a_log_from_elsewhere_that_breaks_a_rule_is_not_indexed(made, copy, monkeypatch, tmp_path):
    body = msgspec.structs.replace(made[2].split.body, issued_at="2027-01-01T00:00:00Z")
    with monkeypatch.context() as dishonest:  # an operator whose sequencer asks nothing of what a record cites
        dishonest.setattr(Admitted, "check", lambda _self, _body: None)
        with Sequencer.open(copy) as sequencer:
            sequencer.append([sign_statement(body, [copy.keys.signer("curator")])])
    elsewhere(copy, monkeypatch, tmp_path / "auditor")
    with pytest.raises(RecordRejected) as caught:
        Lookup.open(copy)
    assert caught.value.rule == "redefined"
    assert not (copy.state / "index").exists()


def test_a_release_is_found_by_its_own_folder(folder):
    shutil.rmtree(folder.state / "index")
    record = recorded(folder, "r1")
    assert record == Ledger.open(folder).release("r1")
    assert recorded(folder, "r") is None
    assert recorded(folder, "../releases/r1") is None
    assert not (folder.state / "index").exists()


def test_the_folder_of_another_release_is_refused(copy):
    shutil.rmtree(copy.releases / "r1")
    shutil.copytree(copy.releases / "r2", copy.releases / "r1")
    with pytest.raises(CheckFailed, match="not of the release r1"):
        recorded(copy, "r1")


def test_a_release_folder_that_is_not_the_logs_is_refused(copy):
    place = copy.releases / "r1" / "record.dsse"
    place.chmod(0o644)
    place.write_bytes((copy.releases / "r2" / "record.dsse").read_bytes())
    with pytest.raises(CheckFailed, match="not record"):
        recorded(copy, "r1")
