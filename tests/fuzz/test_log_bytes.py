"""Bytes of any kind where notes, proofs, journals and paths are read: refused, or exactly what is written."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.log.checkpoint import Checkpoint
from ledger.log.journal import Batch, parse_journal
from ledger.log.note import Note, VerifierKey
from ledger.log.proof import TlogProof
from ledger.log.tiles import TilePath, format_bundle, parse_bundle
from store.errors import InputError, LogInvalid

PIECES = st.lists(
    st.sampled_from(
        [b"\n", b"\n\n", "— ".encode(), b"example.org/bench", b" ", b"AAAAAAAA", b"0", b"3", b"index ", b"extra ", b"+",
         b"c2sp.org/tlog-proof@v1\n", b"CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=", "\u2028".encode(), b"\r", b"=",
         b"\xff"]
    ),
    max_size=24,
).map(b"".join)  # fmt: skip
BYTES = st.one_of(PIECES, st.binary(max_size=300))


@settings(deadline=None)
@given(BYTES)
def test_a_note_is_refused_or_what_format_writes(data):
    try:
        note = Note.parse(data)
    except LogInvalid:
        return
    assert note.format() == data


@settings(deadline=None)
@given(st.one_of(PIECES.map(lambda data: data.decode("utf-8", "replace")), st.text()))
@example("a\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")
def test_a_checkpoint_is_refused_or_what_format_writes(text):
    try:
        checkpoint = Checkpoint.parse(text)
    except LogInvalid:
        return
    assert checkpoint.format() == text


@settings(deadline=None)
@given(BYTES)
@example(b"c2sp.org/tlog-proof@v1\nindex 0\n\nany checkpoint")
@example(b"c2sp.org/tlog-proof@v1\nextra \nindex 0\n\n")
def test_a_proof_is_refused_or_what_format_writes(data):
    try:
        proof = TlogProof.parse(data)
    except LogInvalid:
        return
    assert proof.format() == data


@settings(deadline=None)
@given(st.text(), st.integers(0, 3))
def test_a_path_is_refused_or_what_str_writes(text, part):
    candidate = ["tile/", "tile/0/", "tile/entries/", ""][part] + text
    try:
        path = TilePath.parse(candidate)
    except InputError:
        return
    assert str(path) == candidate


@settings(deadline=None)
@given(st.text())
def test_a_verifier_key_is_refused_or_what_str_writes(text):
    with pytest.raises(InputError):
        VerifierKey.parse(text)


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 256))
def test_a_bundle_is_refused_or_what_format_writes(data, width):
    try:
        entries = parse_bundle(data, width)
    except LogInvalid:
        return
    assert format_bundle(entries) == data


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_a_journal_is_refused_or_begins_with_its_batches(data):
    for candidate in (data, b"rbl-journal/1\n" + data):
        try:
            batches, end = parse_journal(candidate)
        except LogInvalid:
            continue
        written = b"rbl-journal/1\n" + b"".join(batch.format() for batch in batches)
        assert end in {0, len(written)}
        assert candidate.startswith(written[:end])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_a_batch_of_any_bytes_is_none(data):
    assert Batch.parse(data) is None
