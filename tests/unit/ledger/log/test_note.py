"""Signed notes and checkpoints: what is read is what a known key signed, and has one form only."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, open_checkpoint, parse_decimal, sign_checkpoint
from ledger.log.note import Note, NoteSignature, VerifierKey, decode_base64, sign
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import InputError, LogInvalid

NAME = "example.org/bench"
SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(b"k" * 32))
KEY = VerifierKey(NAME, SIGNER.public)
TEXT = "first line\n\nafter an empty line\n"
HEAD = Checkpoint(NAME, 3, Digest.of(b"root"))


def verified(data):
    return open_checkpoint(data, NAME, [KEY])


def test_a_note_of_the_specifications_author_verifies():
    # The example of golang.org/x/mod/sumdb/note: a key and a note that our code did not make.
    vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    text = (
        "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
        "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    )
    note = Note.parse(text.encode())
    key = VerifierKey.parse(vkey)
    assert note.verified([key]) == [key]
    assert str(key) == vkey
    assert note.format() == text.encode()


def test_a_note_splits_at_the_last_empty_line():
    note = sign(TEXT, NAME, SIGNER)
    assert Note.parse(note.format()) == note
    assert note.verified([KEY]) == [KEY]


def test_a_line_separator_of_unicode_is_no_newline():
    note = sign("a\u2028b\x85c\n", NAME, SIGNER)
    assert Note.parse(note.format()).text == "a\u2028b\x85c\n"


def test_a_known_key_that_fails_rejects_the_whole_note():
    other = Signer.generate()
    note = sign(TEXT, NAME, SIGNER).signed_also(NoteSignature("witness.example", other.public[:4], b"x" * 64))
    assert note.verified([KEY]) == [KEY]
    bad = NoteSignature(NAME, KEY.id, b"x" * 64)
    with pytest.raises(LogInvalid) as caught:
        note.signed_also(bad).verified([KEY])
    assert caught.value.rule == "note-signature"


def test_without_a_known_signature_there_is_no_text():
    with pytest.raises(LogInvalid) as caught:
        sign(TEXT, NAME, Signer.generate()).verified([KEY])
    assert caught.value.rule == "note-unsigned"
    with pytest.raises(LogInvalid):
        sign(TEXT, NAME, SIGNER).verified([])


def test_a_key_that_signs_twice_counts_once():
    note = sign(TEXT, NAME, SIGNER)
    assert note.signed_also(note.signatures[0]).verified([KEY, KEY]) == [KEY]


LINE = str(sign(TEXT, NAME, SIGNER).signatures[0])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n\n", b"text\n", b"text\n\n", f"text\n{LINE}\n".encode(), f"text\n\n{LINE}".encode(),
        f"text\n\n{LINE}\n\n".encode(), f"text\r\n\n{LINE}\n".encode(), f"te\x00xt\n\n{LINE}\n".encode(),
        b"\xff\n\n" + LINE.encode() + b"\n", f"text\n\n {LINE}\n".encode(), f"text\n\n{LINE} \n".encode(),
        f"text\n\n{LINE.replace('—', '-')}\n".encode(), f"text\n\n{LINE[:-1]}\n".encode(),
        "text\n\n— a+b AAAAAAAA\n".encode(), "text\n\n— a\u00a0b AAAAAAAA\n".encode(), "text\n\n—  AAAAAAAA\n".encode(),
        "text\n\n— a AAAA\n".encode(), f"text\n\n{LINE}\n".encode() * 2 + b"x" * 1_000_000,
        b"text\n\n" + f"{LINE}\n".encode() * 101,
    ],
)  # fmt: skip
def test_what_is_no_note_is_refused(data):
    with pytest.raises(LogInvalid) as caught:
        Note.parse(data)
    assert caught.value.rule == "note"


@pytest.mark.parametrize("text", ["AB==", "AA=", "AA", "A A=", "AAA=\n", "AAB=", "AA-_", "é"])
def test_base64_has_one_form(text):
    assert decode_base64(text) is None


@settings(deadline=None)
@given(st.binary())
def test_base64_round_trips(data):
    assert decode_base64(base64.b64encode(data).decode()) == data


@pytest.mark.parametrize("text", ["+1", "1_0", "٣", " 1", "1 ", "01", "", "-0", "1.0", "１", "1\n", "0x1", "1" * 20])
def test_decimals_are_strict(text):
    assert parse_decimal(text) is None


def test_decimals_are_read():
    assert [parse_decimal(text) for text in ("0", "7", "20852163")] == [0, 7, 20852163]


@pytest.mark.parametrize(
    "text",
    [
        "", NAME, f"{NAME}+00000000+AAAA", str(KEY)[:-1], f"{str(KEY)[:-1]}\n", str(KEY).replace("+", " "),
        str(KEY).replace(KEY.id.hex(), "00000000"), "+" + str(KEY),
        str(KEY).replace(KEY.id.hex(), KEY.id.hex().upper()),
        f"a b{str(KEY).removeprefix(NAME)}",
    ],
)  # fmt: skip
def test_what_is_no_verifier_key_is_refused(text):
    with pytest.raises(InputError):
        VerifierKey.parse(text)


@settings(deadline=None)
@given(st.integers(0, 2**53 - 1), st.binary(min_size=32, max_size=32))
def test_checkpoints_round_trip(size, root):
    checkpoint = Checkpoint(NAME, size, Digest.from_raw(root if size else merkle.EMPTY_ROOT))
    assert verified(sign_checkpoint(checkpoint, SIGNER)) == checkpoint


def test_the_same_head_gives_the_same_bytes():
    assert sign_checkpoint(HEAD, SIGNER) == sign_checkpoint(HEAD, SIGNER)


def test_a_checkpoint_of_another_log_is_refused():
    data = sign("other.example\n3\n" + HEAD.format().split("\n")[2] + "\n", NAME, SIGNER).format()
    with pytest.raises(LogInvalid) as caught:
        verified(data)
    assert caught.value.rule == "origin"


ROOT = HEAD.format().split("\n")[2]


@pytest.mark.parametrize(
    "text",
    [
        f"{NAME}\n+3\n{ROOT}\n", f"{NAME}\n03\n{ROOT}\n", f"{NAME}\n3_0\n{ROOT}\n", f"{NAME}\n３\n{ROOT}\n",
        f"{NAME}\n-3\n{ROOT}\n", f"{NAME}\n3 \n{ROOT}\n", f"{NAME}\n3\n{ROOT[:-1]}\n", f"{NAME}\n3\n{ROOT[:40]}\n",
        f"{NAME}\n3\n{ROOT}\nextension\n", f"{NAME}\n3\n", f"\n3\n{ROOT}\n", f"{NAME}\n0\n{ROOT}\n",
        f"{NAME}\n{2**53}\n{ROOT}\n", f"{NAME}\u20283\n{ROOT}\n",
    ],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused_though_it_is_signed(text):
    with pytest.raises(LogInvalid) as caught:
        verified(sign(text, NAME, SIGNER).format())
    assert caught.value.rule == "checkpoint"


@settings(deadline=None)
@given(st.data())
def test_a_changed_byte_never_verifies(data):
    note = bytearray(sign_checkpoint(HEAD, SIGNER))
    place = data.draw(st.integers(0, len(note) - 1))
    note[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(LogInvalid):
        verified(bytes(note))


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "a\nb", "a\tb"])
def test_what_cannot_name_a_key_does_not_sign(name):
    with pytest.raises(InputError):
        sign(TEXT, name, SIGNER)


@pytest.mark.parametrize("text", ["no newline", "tab\there\n", "return\r\n"])
def test_what_cannot_be_a_text_is_not_signed(text):
    with pytest.raises(InputError):
        sign(text, NAME, SIGNER)
