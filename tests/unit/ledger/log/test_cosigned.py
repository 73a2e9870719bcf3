"""Cosignatures are kept by size, beside the newest head, and survive appends, repetitions and crashes."""

from __future__ import annotations

import pytest

from ledger.log import cosigned
from ledger.log.authority import read_checkpoint, read_note
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.cosigned import collect, kept
from ledger.log.lock import Lock
from ledger.log.note import Note
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import Conflict, HarnessError, LogInvalid
from tests.unit.ledger.release.bench import begin, tell

WITNESSES = {name: Signer.from_seed(name[-1:].encode() * 32) for name in ("witness.example/1", "witness.example/2")}
FIRST, SECOND = (CosignerKey(name, signer.public) for name, signer in WITNESSES.items())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return begin(tmp_path / "bench")


def by(key, checkpoint, at=1679315147):
    return cosign(checkpoint, key.name, WITNESSES[key.name], at)


def who(data):
    return Note.parse(data).verified([FIRST, SECOND])


def grow(folder):
    tell(folder).plan(["oracle"], ["pricing"], repeats=1)


def test_an_append_replaces_the_checkpoint_and_keeps_the_cosigned_head(folder):
    note, head = read_note(folder), read_checkpoint(folder)
    collect(folder, note, [by(FIRST, head)])
    assert who(read_note(folder)) == [FIRST]
    grow(folder)
    with pytest.raises(LogInvalid, match="known"):
        who(read_note(folder))
    [one] = kept(folder.log)
    assert (one.size, who(one.data)) == (head.size, [FIRST])
    collect(folder, note, [by(SECOND, head)])  # of the old head, from a witness that was slow
    [one] = kept(folder.log)
    assert who(one.data) == [FIRST, SECOND]
    assert Checkpoint.parse(Note.parse(read_note(folder)).text).size > head.size
    newest = read_checkpoint(folder)
    collect(folder, read_note(folder), [by(FIRST, newest)])
    assert [one.size for one in kept(folder.log)] == [newest.size, head.size]


def test_a_key_s_new_cosignature_replaces_its_older_one_and_no_other(folder):
    note, head = read_note(folder), read_checkpoint(folder)
    for at in range(120):  # more than a note may have
        collect(folder, note, [by(FIRST, head, at)])
    collect(folder, note, [by(SECOND, head)])
    [one] = kept(folder.log)
    assert who(one.data) == [FIRST, SECOND]
    assert len(Note.parse(one.data).signatures) == len(Note.parse(read_note(folder)).signatures) == 3
    assert read_checkpoint(folder) == head


def test_more_signatures_than_a_reader_looks_at_are_refused(folder):
    note, head = read_note(folder), read_checkpoint(folder)
    crowd = [cosign(head, f"witness.example/{n}", WITNESSES[FIRST.name], 1) for n in range(100)]
    with pytest.raises(LogInvalid, match="more than 100"):
        collect(folder, note, crowd)
    assert read_note(folder) == note
    assert list(kept(folder.log)) == []


def test_another_head_of_the_same_size_is_not_mixed_in(folder):
    note, head = read_note(folder), read_checkpoint(folder)
    collect(folder, note, [by(FIRST, head)])
    other = Checkpoint(head.origin, head.size, Digest.of(b"another history"))
    with pytest.raises(LogInvalid, match="another head") as caught:
        collect(folder, sign_checkpoint(other, folder.keys.signer("log")), [by(FIRST, other)])
    assert caught.value.rule == "fork"
    assert who(read_note(folder)) == [FIRST]


def test_the_lock_of_the_appender_is_taken(folder, monkeypatch):
    monkeypatch.setattr(cosigned, "_WAIT", 0.0)
    note, head = read_note(folder), read_checkpoint(folder)
    with Lock(folder.journal / "lock", wait=0.0), pytest.raises(Conflict, match="appending"):
        collect(folder, note, [by(FIRST, head)])
    assert read_note(folder) == note


@pytest.mark.parametrize("syncs", range(5))
def test_a_disk_that_refuses_leaves_whole_heads_and_another_try_keeps_it(folder, monkeypatch, syncs):
    note, head = read_note(folder), read_checkpoint(folder)
    real, left = cosigned.disk.os.fsync, [syncs]

    def failing(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(5, "Input/output error")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(cosigned.disk.os, "fsync", failing)
        with pytest.raises(HarnessError, match="Input/output"):
            collect(folder, note, [by(FIRST, head)])
    assert read_checkpoint(folder) == head
    assert all(who(one.data) == [FIRST] for one in kept(folder.log))
    collect(folder, note, [by(FIRST, head)])
    assert who(read_note(folder)) == [FIRST]
    grow(folder)


def test_files_of_other_names_are_passed_over(folder):
    collect(folder, read_note(folder), [by(FIRST, read_checkpoint(folder))])
    for name in ("01", "+1", "note", "1.tmp", "9" * 30):
        (folder.log / "cosigned" / name).write_bytes(b"junk")
    assert [one.size for one in kept(folder.log)] == [1]
