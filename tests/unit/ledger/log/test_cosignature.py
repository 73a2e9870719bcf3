"""Cosignatures: openssl verifies what we make, and nothing but what was signed verifies."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign, time_of
from ledger.log.note import Note, NoteSignature, VerifierKey
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import InputError, LogInvalid

ORIGIN = "example.org/bench"
NAME = "witness.example/w1"
LOG, SIGNER = Signer.from_seed(b"l" * 32), Signer.from_seed(b"w" * 32)
KEY = CosignerKey(NAME, SIGNER.public)
HEAD = Checkpoint(ORIGIN, 3, Digest.of(b"root"))
TIME = 1679315147


def cosigned():
    return Note.parse(sign_checkpoint(HEAD, LOG)).signed_also(cosign(HEAD, NAME, SIGNER, TIME))


def test_the_id_is_the_specification_s():
    assert KEY.id == sha256(NAME.encode() + b"\n\x04" + SIGNER.public).digest()[:4]
    name, identifier, encoded = str(KEY).split("+", 2)
    assert (name, identifier, base64.b64decode(encoded)) == (NAME, KEY.id.hex(), b"\x04" + SIGNER.public)
    assert CosignerKey.parse(str(KEY)) == KEY


def test_openssl_verifies_a_cosignature(tmp_path):
    signature = cosign(HEAD, NAME, SIGNER, TIME)
    (tmp_path / "message").write_text(f"cosignature/v1\ntime {TIME}\n{ORIGIN}\n3\n{HEAD.format().splitlines()[2]}\n")
    (tmp_path / "signature").write_bytes(signature.signature[8:])
    (tmp_path / "public").write_bytes(bytes.fromhex("302a300506032b6570032100") + SIGNER.public)  # RFC 8410
    words = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public", "-keyform", "DER", "-rawin"]
    words += ["-in", "message", "-sigfile", "signature"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "message").write_text(f"cosignature/v1\ntime {TIME + 1}\n{HEAD.format()}")
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    assert signature.signature[:8] == TIME.to_bytes(8, "big")
    assert time_of(signature) == TIME


def test_a_cosigned_checkpoint_verifies_for_those_who_know_the_witness_and_those_who_do_not():
    data = cosigned().format()
    assert open_checkpoint(data, ORIGIN, [VerifierKey(ORIGIN, LOG.public)]) == HEAD
    assert Note.parse(data).verified([KEY]) == [KEY]


def test_a_cosignature_of_another_time_text_or_kind_rejects_the_note():
    note = cosigned()
    log, witness = note.signatures
    later = (TIME + 1).to_bytes(8, "big") + witness.signature[8:]
    plain = SIGNER.sign(HEAD.format().encode())  # a signature of type 1 under the id of type 4
    for signature in (later, plain, TIME.to_bytes(8, "big") + plain, witness.signature[:-1], b"\xff" * 72):
        with pytest.raises(LogInvalid, match="note-signature"):
            Note(note.text, (log, replace(witness, signature=signature))).verified([KEY])
    with pytest.raises(LogInvalid, match="note-signature"):
        Note(note.text.replace("\n3\n", "\n4\n"), note.signatures).verified([KEY])


def test_a_log_key_is_no_witness_key_and_a_witness_key_no_log_key():
    with pytest.raises(InputError, match="not an Ed25519 witness key"):
        CosignerKey.parse(str(VerifierKey(NAME, SIGNER.public)))
    with pytest.raises(InputError, match="not an Ed25519 verifier key"):
        VerifierKey.parse(str(KEY))
    with pytest.raises(LogInvalid, match="note-unsigned"):
        cosigned().verified([VerifierKey(NAME, SIGNER.public)])


@pytest.mark.parametrize("time", [-1, 2**63])
def test_a_time_that_cannot_be_written_is_refused(time):
    with pytest.raises(InputError, match="time"):
        cosign(HEAD, NAME, SIGNER, time)


def test_what_is_no_cosignature_has_no_time():
    with pytest.raises(InputError, match="not a cosignature"):
        time_of(NoteSignature(NAME, b"1234", b"x" * 64))


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1), st.integers(0, 71), st.integers(1, 255))
def test_any_changed_byte_is_noticed(time, place, change):
    signature = cosign(HEAD, NAME, SIGNER, time)
    assert KEY.verify(HEAD.format().encode(), signature.signature)
    spoilt = bytearray(signature.signature)
    spoilt[place] ^= change
    assert not KEY.verify(HEAD.format().encode(), bytes(spoilt))
