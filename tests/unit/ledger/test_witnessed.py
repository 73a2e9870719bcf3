"""A release is vouched for by a head that includes it; one that stops short is not enough."""

from __future__ import annotations

import shutil

import pytest

from ledger.folder import Folder
from ledger.log.authority import read_checkpoint, read_note
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.cosigned import collect
from ledger.log.note import Note
from ledger.log.policy import Policy
from ledger.records.keys import Signer
from ledger.release.freeze import freeze
from ledger.release.verify import verify
from store.digest import Digest
from tests.unit.ledger.release.bench import begin, tell

WITNESS = Signer.from_seed(b"w" * 32)
KEY = CosignerKey("witness.example/w1", WITNESS.public)
POLICY = Policy.parse(f"witness W1 {KEY}\nquorum W1\n".encode())


def cosigned(folder):
    note, head = read_note(folder), read_checkpoint(folder)
    collect(folder, note, [cosign(head, KEY.name, WITNESS, 1679315147)])
    return head


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release; the head before it was cosigned, and no other."""
    place = tmp_path_factory.mktemp("witnessed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        folder = begin(place / "bench")
        story = tell(folder)
        story.plan(["a"], ["pricing"], repeats=1)
        story.attempt("a", "pricing", 1, scores={"functional": 500_000})
        cosigned(folder)
        freeze(folder, "r1", story.schedule.body.name)
    return place


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "all")
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "all/config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "all/state"))
    return Folder.open(tmp_path / "all/bench")


def found(folder, policy=POLICY):
    return [(one.rule, one.where) for one in verify(folder, "r1", policy=policy).findings]


def test_a_head_that_stops_short_of_the_release_is_not_enough(folder):
    assert found(folder, None) == []
    release = read_checkpoint(folder).size - 1
    assert found(folder) == [("policy", f"record {release}")]
    cosigned(folder)
    report = verify(folder, "r1", policy=POLICY)
    assert report.ok
    assert f"its head of {release + 1} records is cosigned by W1" in report.steps[2].detail


def test_records_after_the_cosigned_head_do_not_matter_to_the_release(folder):
    cosigned(folder)
    tell(folder).case("later", ["functional"])
    assert found(folder) == []


def test_a_head_of_another_history_is_a_finding_and_counts_for_nothing(folder):
    head = read_checkpoint(folder)
    for size, rule in ((head.size, "fork"), (head.size + 1, "rollback")):
        other = Checkpoint(head.origin, size, Digest.of(b"another"))
        note = Note.parse(sign_checkpoint(other, folder.keys.signer("log")))
        place = folder.log / "cosigned" / str(size)
        place.write_bytes(note.signed_also(cosign(other, KEY.name, WITNESS, 1)).format())
        assert found(folder) == [("checkpoint", f"log/cosigned/{size}"), ("policy", f"record {head.size - 1}")]
        assert any(one.what.startswith(rule) for one in verify(folder, "r1").findings)
        place.unlink()


def test_a_head_that_only_the_witness_signed_counts_for_nothing(folder):
    head = read_checkpoint(folder)
    note = Note(head.format(), (cosign(head, KEY.name, WITNESS, 1),))
    (folder.log / "cosigned" / str(head.size)).write_bytes(note.format())
    assert found(folder)[0] == ("checkpoint", f"log/cosigned/{head.size}")
    assert found(folder)[1:] == [("policy", f"record {head.size - 1}")]
