"""Verifying what is new since a pin file: the answer of a verification in full, from the new records alone."""

from __future__ import annotations

import shutil
import sqlite3

import msgspec
import pytest

from ledger import sequencer
from ledger.folder import Folder
from ledger.log.authority import open_log, read_checkpoint
from ledger.pinfile import PinFile
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.statement import Statement, sign_statement
from ledger.sequencer import Sequencer, submit
from ledger.verify import verify_ledger
from store.digest import Digest
from store.errors import Conflict, HarnessError, InputError, RecordRejected
from tests.unit.ledger.release import bench

but = msgspec.structs.replace


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Every outcome, verdicts that differ, a key that is distrusted afterwards, and then some more."""
    place = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        folder = bench.begin(place / "bench")
        story = bench.tell_everything(folder)
        judged = next(item for item in story.told if item.evaluation is not None)
        story.evaluate(judged, story.cases[judged.opened.body.case.id], {"functional": 3})
        first = Ledger.open(folder).of(kinds.TrustRoot)[0].body
        curator = folder.keys.signer("curator").keyid
        keys = [but(key, distrusted_from=1 if key.keyid == curator else None) for key in first.keys]
        submit(folder, but(first, version=2, after=read_checkpoint(folder).head, keys=keys), "root")
        story.attempt("oracle", "docs", 2, purpose="diagnostic", backend="native", outcome="timeout", scheduled=False)
        folder.store.flush()
    return place


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where another machine keeps the same ledger."""
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def records(told, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("RBL_STATE_HOME", str(told / "state"))
        return [Envelope.parse(leaf) for leaf in open_log(Folder.open(told / "bench")).entries()]


@pytest.fixture
def growing(told, home, records):
    """The same ledger, whose log holds the first trust root only."""
    shutil.copytree(told / "config", home / "config")
    folder = Folder.create(home / "growing", "example.org/bench")
    root = Ledger.open(Folder.open(told / "bench"), pinned=records[0].digest).records[0].body
    sequencer.begin(folder, root, [folder.keys.signer("root")])
    return folder


def append(folder, envelopes):
    with Sequencer.open(folder) as appender:
        appender.append(envelopes)


@pytest.mark.parametrize("step", [1, 7, 40])
def test_the_answer_is_that_of_a_verification_in_full(growing, records, step, tmp_path):
    """At every head on the way, and the findings that stay true are said again."""
    pin = tmp_path / "auditor.pin"
    before = 0
    rules = set()
    for start in range(1, len(records), step):
        append(growing, records[start : start + step])
        new, full = verify_ledger(growing, pin_file=pin), verify_ledger(growing)
        assert (new.size, new.root, sorted(map(str, new.findings))) == (
            full.size,
            full.root,
            sorted(map(str, full.findings)),
        )
        assert new.before == before
        before = new.size
        rules |= {finding.rule for finding in full.findings}
    assert rules == {"twin", "distrusted"}
    assert verify_ledger(growing, pin_file=pin).before == len(records)


def test_a_record_that_breaks_a_rule_of_what_was_verified_before_is_found(growing, records, tmp_path):
    """Rules that look back over the pin file: the same payload again, a name taken, a second closing."""
    append(growing, records[1:])
    pin = tmp_path / "auditor.pin"
    verify_ledger(growing, pin_file=pin)
    head = read_checkpoint(growing).head
    story = Ledger.open(growing)
    closed = story.of(kinds.AttemptClosed)[0].body
    entry = story.of(kinds.Entry)[0].body
    chain = kinds.Chain(attempt=closed.chain.attempt, seq=9, prev=story.of(kinds.AttemptClosed)[0].digest)
    with PinFile.open(pin, growing.config.origin, records[0].digest) as kept:
        gate = kept_gate(kept, growing)
        for rule, body, role in (
            ("closed-twice", but(closed, chain=chain, after=head), "runner"),
            ("redefined", but(entry, after=head), "release-manager"),
        ):
            with pytest.raises(RecordRejected) as refused:
                gate.admit(sign_statement(body, [growing.keys.signer(role)]), gate.size)
            assert refused.value.rule == rule
        with pytest.raises(RecordRejected) as refused:
            gate.admit(records[5], gate.size)
        assert refused.value.rule == "duplicate"


def kept_gate(kept, folder):
    from ledger.records.gate import Gate

    return Gate(folder.config.origin, open_log(folder).root_at, kept)


def test_records_that_were_taken_back_are_a_finding(growing, records, tmp_path):
    pin = tmp_path / "auditor.pin"
    shutil.copytree(growing.log, tmp_path / "short")
    append(growing, records[1:9])
    verify_ledger(growing, pin_file=pin)
    shutil.rmtree(growing.log)
    shutil.copytree(tmp_path / "short", growing.log)
    shutil.rmtree(growing.state)  # the auditor's machine never signed
    (finding,) = verify_ledger(growing, pinned=records[0].digest, pin_file=pin).findings
    assert (finding.rule, finding.record) == ("rollback", str(pin))


def test_another_history_is_a_finding(growing, records, tmp_path):
    pin = tmp_path / "auditor.pin"
    shutil.copytree(growing.root, tmp_path / "fork")
    append(growing, records[1:9])
    verify_ledger(growing, pin_file=pin)
    shutil.rmtree(growing.state)
    other = Folder.open(tmp_path / "fork")
    shutil.rmtree(other.state, ignore_errors=True)
    (other.state).mkdir(parents=True)
    (other.state / "trust-root").write_text(f"{records[0].digest}\n")
    bodies = (Statement.parse(envelope.payload).body for envelope in records)
    entry = next(body for body in bodies if isinstance(body, kinds.Entry))
    signer = other.keys.signer("release-manager")
    entries = [but(entry, id=f"other{n}", after=read_checkpoint(other).head) for n in range(9)]
    append(other, [sign_statement(body, [signer]) for body in entries])
    (finding,) = verify_ledger(other, pin_file=pin).findings
    assert (finding.rule, finding.record) == ("fork", str(pin))
    assert verify_ledger(other).findings == ()


def test_nothing_is_kept_where_a_record_is_not_to_be_believed(growing, records, tmp_path):
    append(growing, records[1:9])
    pin = tmp_path / "auditor.pin"
    bundle = growing.log / "tile/entries/000.p/9"
    data = bytearray(bundle.read_bytes())
    data[100] ^= 1
    bundle.chmod(0o644)
    bundle.write_bytes(data)
    assert {finding.rule for finding in verify_ledger(growing, pin_file=pin).findings} == {"leaf"}
    data[100] ^= 1
    bundle.write_bytes(data)
    report = verify_ledger(growing, pin_file=pin)
    assert (report.findings, report.before) == ((), 0)


def test_another_ledgers_pin_file_is_refused(growing, tmp_path):
    pin = tmp_path / "auditor.pin"
    verify_ledger(growing, pin_file=pin)
    with pytest.raises(InputError, match="under the trust root"):
        PinFile.open(pin, growing.config.origin, Digest.of(b"another"))
    with pytest.raises(InputError, match=r"is of example\.org/bench"):
        PinFile.open(pin, "example.org/other", Digest.of(b"another"))


@pytest.mark.parametrize("content", [b"a letter to my grandmother, long enough to be a header" * 10, None])
def test_what_is_no_pin_file_is_refused_and_left_alone(growing, tmp_path, content):
    place = tmp_path / "other.sqlite"
    if content is None:
        with sqlite3.connect(place) as database:
            database.execute("create table letters (text)")
        database.close()
    else:
        place.write_bytes(content)
    before = place.read_bytes()
    with pytest.raises(InputError, match="not a pin file"):
        verify_ledger(growing, pin_file=place)
    assert place.read_bytes() == before


def test_a_pin_file_of_other_rules_begins_anew(growing, records, tmp_path):
    pin = tmp_path / "auditor.pin"
    append(growing, records[1:9])
    verify_ledger(growing, pin_file=pin)
    with sqlite3.connect(pin) as database:
        database.execute("update meta set rules = 0")
    database.close()
    assert [verify_ledger(growing, pin_file=pin).before for _ in range(2)] == [0, 9]


def test_two_verifications_at_once_do_not_mix(growing, records, tmp_path):
    pin = tmp_path / "auditor.pin"
    verify_ledger(growing, pin_file=pin)
    append(growing, records[1:9])
    with PinFile.open(pin, growing.config.origin, records[0].digest) as slow:
        gate = kept_gate(slow, growing)
        verify_ledger(growing, pin_file=pin)
        with pytest.raises(Conflict, match="meanwhile"):
            slow.keep(read_checkpoint(growing).head, gate, said_nothing(slow.size))
    assert verify_ledger(growing, pin_file=pin).before == 9


def said_nothing(size):
    from ledger.pinfile import Said, Signed

    return Said(Signed(size))


def test_a_folder_that_is_not_there_is_named(growing, tmp_path):
    with pytest.raises(InputError) as refused:
        verify_ledger(growing, pin_file=tmp_path / "nowhere" / "auditor.pin")
    assert refused.value.where == str(tmp_path / "nowhere")


def test_a_locked_pin_file_is_a_harness_error(growing, tmp_path, monkeypatch):
    monkeypatch.setattr("ledger.pinfile._WAIT", 0.05)
    pin = tmp_path / "auditor.pin"
    verify_ledger(growing, pin_file=pin)
    holder = sqlite3.connect(pin, isolation_level=None)
    holder.execute("begin exclusive")
    with pytest.raises(HarnessError, match="cannot be used: database is locked"):
        verify_ledger(growing, pin_file=pin)
    holder.close()
