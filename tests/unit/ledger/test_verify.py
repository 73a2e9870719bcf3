"""Verifying a whole log: every fault is a finding by the name of its rule, and a sound log has none."""

from __future__ import annotations

import shutil
from dataclasses import replace

import msgspec
import pytest

from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import read_checkpoint, read_note
from ledger.log.checkpoint import Checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.cosigned import collect
from ledger.log.policy import Policy
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.gate import Gate
from ledger.records.keys import Signer
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer, submit
from ledger.verify import verify_ledger
from store.digest import Digest
from tests.unit.ledger.release import bench

but = msgspec.structs.replace
MANY = 2300  # above the size from which several processes work, and nine bundles


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("verify")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        yield place


@pytest.fixture(scope="module")
def large(home):
    """A log of nine bundles; tests copy it."""
    folder = bench.begin(home / "large")
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    signer, body = folder.keys.signer("release-manager"), story.entries["a"].body
    envelopes = [sign_statement(but(body, id=f"e{number}"), [signer]) for number in range(MANY)]
    with Sequencer.open(folder) as sequencer:
        sequencer.append(envelopes)
    return folder


@pytest.fixture
def copy(large, tmp_path):
    shutil.copytree(large.root, tmp_path / "copy")
    return Folder.open(tmp_path / "copy")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A folder with every outcome in it, beside what its machine remembers; tests copy both."""
    place = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        return place, bench.tell_everything(bench.begin(place / "bench"))


@pytest.fixture
def story(told):
    return told[1]


@pytest.fixture
def small(told, tmp_path, monkeypatch):
    shutil.copytree(told[0], tmp_path / "told")
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "told" / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "told" / "state"))
    return Folder.open(tmp_path / "told" / "bench")


def spoil(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_sound_log_has_no_findings(large, processes):
    seen = []
    report = verify_ledger(large, processes, lambda done, total: seen.append((done, total)))
    assert report.findings == ()
    assert (report.size, report.root) == (read_checkpoint(large).head.size, read_checkpoint(large).head.root)
    assert seen[-1] == (report.size, report.size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("processes", [1, 2])
def test_every_broken_bundle_is_a_finding(copy, processes):
    spoil(copy.log / "tile/entries/001", 5000)
    (copy.log / "tile/entries/003").unlink()
    report = verify_ledger(copy, processes)
    assert [(finding.rule, finding.record) for finding in report.findings] == [
        ("leaf", "records 256 to 511"),
        ("missing", "records 768 to 1023"),
    ]
    assert all("cannot be believed" in finding.consequence for finding in report.findings)


def test_a_broken_tile_is_a_finding(copy):
    spoil(copy.log / "tile/0/002", 40)
    (finding,) = verify_ledger(copy).findings
    assert (finding.rule, finding.record) == ("tile", "records 512 to 767")


def test_a_log_without_a_sound_checkpoint_is_believed_in_nothing(copy):
    note = copy.log / "checkpoint"
    note.write_bytes(note.read_bytes().replace(b"\n", b"\n9", 1))
    report = verify_ledger(copy)
    assert (report.size, report.root.raw) == (0, merkle.EMPTY_ROOT)
    (finding,) = report.findings
    assert finding.rule in {"note-signature", "checkpoint"}


def test_a_log_that_was_rolled_back_is_a_finding(small, tmp_path):
    shutil.copytree(small.log, tmp_path / "old")
    bench.tell(small).case("later", ["functional"])
    shutil.rmtree(small.log)
    (tmp_path / "old").rename(small.log)
    (finding,) = verify_ledger(small).findings
    assert finding.rule == "rollback"


def test_a_story_has_no_findings(small):
    assert verify_ledger(small).findings == ()


def test_the_first_record_that_breaks_a_rule_is_a_finding(small, story, monkeypatch):
    """A sequencer without rules, which is what an operator with every key can have."""
    folder = small
    told = story.told[0]
    chain = kinds.Chain(attempt=told.id, seq=9, prev=told.closed.digest)
    body = but(told.closed.body, chain=chain, after=read_checkpoint(folder).head)
    envelope = sign_statement(body, [folder.keys.signer("runner")])
    size = read_checkpoint(folder).head.size
    with monkeypatch.context() as patch:
        patch.setattr(Gate, "admit", _believe)
        with Sequencer.open(folder) as sequencer:
            sequencer.append([envelope])
    report = verify_ledger(folder)
    assert report.size == size + 1
    (finding,) = report.findings
    assert (finding.rule, finding.record) == ("closed-twice", f"record {size}")


def _believe(gate, envelope: Envelope, index: int) -> Record:
    from ledger.records.statement import Statement

    statement = Statement.parse(envelope.payload)
    return Record(index, envelope.digest, envelope.payload_digest, statement.body, statement.kind, ())


def test_differing_verdicts_of_one_evaluator_are_a_finding(small, story):
    told = next(item for item in story.told if item.evaluation is not None)
    case = story.cases[told.opened.body.case.id]
    replace(story, say=bench.say(small)).evaluate(told, case, {"functional": 3})
    (finding,) = verify_ledger(small).findings
    assert finding.rule == "twin"
    assert told.id in finding.consequence


def test_a_key_that_was_distrusted_afterwards_puts_its_records_in_doubt(small):
    folder = small
    ledger = Ledger.open(folder)
    first = ledger.of(kinds.TrustRoot)[0].body
    curator = folder.keys.signer("curator").keyid
    keys = [but(key, distrusted_from=0 if key.keyid == curator else None) for key in first.keys]
    submit(folder, but(first, version=2, after=read_checkpoint(folder).head, keys=keys), "root")
    findings = verify_ledger(folder).findings
    assert {finding.rule for finding in findings} == {"distrusted"}
    said = [record for record in ledger.records if record.role == "curator"]
    assert [finding.record for finding in findings] == [f"record {record.index}" for record in said]


def test_a_trust_root_beside_the_log_must_be_the_one_in_it(small):
    folder = small
    first = Ledger.open(folder).of(kinds.TrustRoot)[0].body
    submit(folder, but(first, version=2, after=read_checkpoint(folder).head), "root")
    other = sign_statement(
        but(first, version=2, after=read_checkpoint(folder).head, issued_at="2027-01-01T00:00:00Z"),
        [folder.keys.signer("root")],
    )
    place = folder.trust / "2.root.json"
    place.chmod(0o644)
    place.write_bytes(other.format())
    (finding,) = verify_ledger(folder).findings
    assert finding.rule == "trust"


def test_another_pin_is_a_finding(small):
    (finding,) = verify_ledger(small, pinned=Digest.of(b"another")).findings
    assert finding.rule == "trust"


WITNESSES = {name: Signer.from_seed(name.encode() * 32) for name in "abc"}
KEYS = {name: CosignerKey(f"witness.example/{name}", signer.public) for name, signer in WITNESSES.items()}
TWO = Policy.parse(
    "".join(f"witness {name} {key}\n" for name, key in KEYS.items()).encode() + b"group g 2 a b c\nquorum g\n"
)


def cosigned_by(folder, *names):
    head = read_checkpoint(folder)
    collect(folder, read_note(folder), [cosign(head, KEYS[name].name, WITNESSES[name], 1) for name in names])
    return head.size


def test_a_policy_vouches_for_the_records_below_the_largest_head_that_satisfies_it(small):
    (finding,) = verify_ledger(small, policy=TWO).findings
    size = read_checkpoint(small).size
    assert (finding.rule, finding.record) == ("policy", f"records 0 to {size - 1}")
    assert "another history" in finding.consequence
    cosigned_by(small, "a")
    assert [one.rule for one in verify_ledger(small, policy=TWO).findings] == ["policy"]
    cosigned_by(small, "c")
    report = verify_ledger(small, policy=TWO)
    assert (report.findings, report.witnessed.size, report.witnessed.names) == ((), size, ("a", "c"))
    assert verify_ledger(small).witnessed is None
    bench.tell(small).case("later", ["functional"])
    cosigned_by(small, "b")  # alone below the newest head: cosignatures of two heads are not added up
    report = verify_ledger(small, policy=TWO)
    (finding,) = report.findings
    assert (finding.rule, finding.record) == ("policy", f"records {size} to {read_checkpoint(small).size - 1}")
    assert report.witnessed.size == size


def test_a_cosigned_head_shows_what_was_cut_off_to_those_who_remember_nothing(small, tmp_path, monkeypatch):
    shutil.copytree(small.log, tmp_path / "old")
    bench.tell(small).case("later", ["functional"])
    size = cosigned_by(small, "a")
    kept = (small.log / f"cosigned/{size}").read_bytes()
    shutil.rmtree(small.log)
    (tmp_path / "old").rename(small.log)
    pinned = Digest.of((small.trust / "1.root.json").read_bytes())
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "elsewhere"))
    assert verify_ledger(small, pinned=pinned).findings == ()
    (small.log / "cosigned").mkdir()
    (small.log / f"cosigned/{size}").write_bytes(kept)
    (finding,) = verify_ledger(small, pinned=pinned).findings
    assert (finding.rule, finding.record) == ("rollback", f"log/cosigned/{size}")


def test_a_pin_file_does_not_move_to_a_head_that_the_policy_refuses(small, tmp_path):
    pin = tmp_path / "pin"
    size = cosigned_by(small, "a", "b")
    assert verify_ledger(small, policy=TWO, pin_file=pin).findings == ()
    bench.tell(small).case("later", ["functional"])
    for _ in range(2):
        report = verify_ledger(small, policy=TWO, pin_file=pin)
        assert ([one.rule for one in report.findings], report.before) == (["policy"], size)
    last = cosigned_by(small, "b", "c")
    assert verify_ledger(small, policy=TWO, pin_file=pin).findings == ()
    assert verify_ledger(small, policy=TWO, pin_file=pin).before == last


def test_a_kept_head_that_is_none_is_a_finding_and_counts_for_no_policy(small):
    size = cosigned_by(small, "a", "b")
    place = small.log / f"cosigned/{size}"
    bench.tell(small).case("later", ["functional"])
    sound = place.read_bytes()
    place.write_bytes(sound[:-1])
    (small.log / "cosigned/1").write_bytes(sound)
    found = [(one.rule, one.record) for one in verify_ledger(small, policy=TWO).findings]
    last = read_checkpoint(small).size - 1
    assert found == [
        ("note", f"log/cosigned/{size}"), ("checkpoint", "log/cosigned/1"), ("policy", f"records 0 to {last}")
    ]  # fmt: skip
    spoilt = (
        read_note(small) + f"{cosign(Checkpoint('x', 1, Digest.of(b'')), KEYS['a'].name, WITNESSES['a'], 1)}\n".encode()
    )
    (small.log / "checkpoint").write_bytes(spoilt)
    assert ("note-signature", "log/checkpoint") in [
        (one.rule, one.record) for one in verify_ledger(small, policy=TWO).findings
    ]
    assert "log/checkpoint" not in [one.record for one in verify_ledger(small).findings]
