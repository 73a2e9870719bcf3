"""Sound bytes with a few changed, where the log and its records are read: our own errors come out, or what was read.

What is read is then what `format` writes. Random bytes are in `test_log_bytes`; mutated ones get further into a parser.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log import merkle
from ledger.log.checkpoint import open_checkpoint
from ledger.log.note import Note, VerifierKey
from ledger.log.proof import TlogProof
from ledger.log.tiles import Tile, format_bundle, parse_bundle
from ledger.records import kinds
from ledger.records.envelope import Envelope, sign
from ledger.records.statement import Statement
from ledger.records.trust import TrustState
from store.errors import LogInvalid, RecordRejected
from tests.unit.ledger.records.world import SIGNERS, World, trust_root
from tests.unit.ledger.release.story import ORIGIN, Story
from tests.vectors.scenes import LOG, node_of, note_of

LEAVES = [b"entry %d" % number for number in range(7)]
NOTE = note_of(LEAVES)
PROOF = TlogProof(4, tuple(merkle.inclusion_proof(node_of(LEAVES), 4, 7)), NOTE, b"more").format()
HASHES = [merkle.leaf_hash(leaf) for leaf in LEAVES]
KEYS = [VerifierKey(ORIGIN, LOG.public)]


def told():
    world = World()
    story = Story(world.say)
    story.plan(["a"], ["pricing"], repeats=1)
    story.attempt("a", "pricing", 1)
    return world


WORLD = told()
ROOT = WORLD.sign(trust_root())
PAYLOADS = [Envelope.parse(leaf).payload for leaf in WORLD.leaves]
PIECES = st.sampled_from([b"", b"0", b"-1", b"1.5", b"1e9", b"null", b"[]", b"{}", b'"', b"\\ud800", b"\x00", b"\xff",
                          b"\n", b"\n\n", b",", b":", b"=", b"9" * 40, b"[" * 500])  # fmt: skip


@st.composite
def mutated(draw, samples):
    """One of the samples with one to four slices replaced by nothing, a piece, random bytes, or another slice."""
    data = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 1, 2, 8, 60])))
        other = draw(st.integers(0, len(data)))
        put = draw(st.one_of(PIECES, st.binary(max_size=4), st.just(data[other : other + 40])))
        data = data[:start] + put + data[end:]
    return data


@settings(deadline=None)
@given(mutated([NOTE]))
def test_a_mutated_checkpoint_is_refused_or_is_the_note_that_it_says(data):
    try:
        note = Note.parse(data)
        assert note.format() == data
        assert open_checkpoint(data, ORIGIN, KEYS).size == 7, "nobody signed another"
    except LogInvalid:
        return


@settings(deadline=None)
@given(mutated([PROOF]))
def test_a_mutated_proof_is_refused_or_still_proves_the_entry(data):
    try:
        proof = TlogProof.parse(data)
        assert proof.format() == data
        proof.verify(LEAVES[4], ORIGIN, KEYS)
    except LogInvalid:
        return
    assert proof.index == 4


@settings(deadline=None)
@given(mutated([b"".join(HASHES)]), st.integers(0, 8))
def test_a_mutated_tile_is_refused_or_what_format_writes(data, width):
    try:
        tile = Tile.parse(data, width)
    except LogInvalid:
        return
    assert tile.format() == data


@settings(deadline=None)
@given(mutated([format_bundle(LEAVES)]), st.integers(0, 8))
def test_a_mutated_bundle_is_refused_or_what_format_writes(data, width):
    try:
        entries = parse_bundle(data, width)
    except LogInvalid:
        return
    assert format_bundle(entries) == data


@settings(deadline=None)
@given(mutated(WORLD.leaves))
def test_a_mutated_envelope_is_refused_or_what_format_writes(data):
    try:
        envelope = Envelope.parse(data)
    except RecordRejected:
        return
    assert envelope.format() == data


@settings(deadline=None, max_examples=200)
@given(mutated(PAYLOADS))
def test_a_mutated_statement_is_refused_or_what_format_writes(data):
    try:
        statement = Statement.parse(data)
    except RecordRejected:
        return
    assert statement.format() == data


@settings(deadline=None, max_examples=200)
@given(mutated([ROOT.payload]))
def test_a_mutated_trust_root_is_refused_or_one_that_its_root_key_signed(data):
    envelope = sign(data, [SIGNERS["root"]])
    try:
        body = Statement.parse(envelope.payload).body
    except RecordRejected:
        return
    if not isinstance(body, kinds.TrustRoot):
        return
    state = TrustState()
    try:
        state.install(body, envelope, 0)
    except RecordRejected:
        assert state.root is None
        return
    assert SIGNERS["root"].keyid in body.roles["root"].keys


@settings(deadline=None)
@given(mutated(WORLD.leaves))
def test_a_mutated_record_never_gets_through_the_gate_twice(data):
    before = WORLD.gate.size
    try:
        WORLD.gate.admit(Envelope.parse(data), before)
    except RecordRejected:
        assert WORLD.gate.size == before
        return
    raise AssertionError("every record stands there already, and a changed one is signed by nobody")
