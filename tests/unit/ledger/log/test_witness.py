"""A witness signs only what continues what it signed, remembers before it signs, and keeps what it refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.log import merkle, writer
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey
from ledger.log.log import LogReader, read_folder
from ledger.log.note import Note, NoteSignature, VerifierKey
from ledger.log.submission import AddCheckpoint
from ledger.log.witness import Witness, WitnessState
from ledger.log.writer import LogWriter
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import Conflict, HarnessError, InputError, LogInvalid

ORIGIN, NAME = "example.org/bench", "witness.example/w1"
LOG, SIGNER = Signer.from_seed(b"l" * 32), Signer.from_seed(b"w" * 32)
KEY = CosignerKey(NAME, SIGNER.public)


class Log:
    """A log of `size` entries, of which those from `changed` on are another history's."""

    def __init__(self, place, size, changed=None):
        self.place = place
        entries = [b"%d%s" % (n, b"!" if changed is not None and n >= changed else b"") for n in range(size)]
        root = Digest.from_raw(merkle.root([merkle.leaf_hash(entry) for entry in entries]))
        self.checkpoint = Checkpoint(ORIGIN, size, root)
        self.note = sign_checkpoint(self.checkpoint, LOG)
        LogWriter(place, None).integrate(entries)
        self.reader = LogReader(read_folder(place), self.checkpoint)

    def submission(self, old):
        return AddCheckpoint(old, tuple(self.reader.prove_consistency(old)), self.note)


@pytest.fixture
def state(tmp_path):
    state = WitnessState.create(tmp_path / "state", KEY)
    state.trust(VerifierKey(ORIGIN, LOG.public))
    return state


@pytest.fixture
def witness(state):
    return Witness(state, SIGNER, lambda: 1679315147.9)


@pytest.fixture
def log(tmp_path):
    made = iter(range(100))
    return lambda size, changed=None: Log(tmp_path / f"log{next(made)}", size, changed)


def signed(answer, log):
    assert answer.refusal is None
    assert Note.parse(log.note).signed_also(answer.signature).verified([KEY]) == [KEY]
    return answer.signature


def refused(answer, rule):
    assert answer.signature is None
    assert answer.refusal.rule == rule
    return answer


def test_it_cosigns_what_continues_and_the_same_again(witness, state, log):
    for size, old in ((3, 0), (7, 3), (7, 7), (8, 7)):
        now = log(size)
        signed(witness.add_checkpoint(now.submission(old)), now)
        assert state.head(ORIGIN) == now.checkpoint
    assert list(state.evidence(ORIGIN)) == []


def test_another_size_than_the_last_is_answered_with_the_last(witness, log):
    witness.add_checkpoint(log(7).submission(0))
    assert refused(witness.add_checkpoint(log(8).submission(0)), "stale").size == 7
    assert refused(witness.add_checkpoint(log(8).submission(3)), "stale").size == 7
    refused(witness.add_checkpoint(AddCheckpoint(7, (), log(3).note)), "request")


def test_two_heads_of_one_size_are_a_fork_and_both_are_kept(witness, state, log):
    first, second = log(7), log(7, changed=5)
    witness.add_checkpoint(first.submission(0))
    extra = Note.parse(second.note).signed_also(NoteSignature("stranger", b"1234", b"x" * 3000)).format()
    for _ in range(2):
        refused(witness.add_checkpoint(AddCheckpoint(7, (), extra)), "fork")
    [kept] = state.evidence(ORIGIN)
    assert (kept.rule, kept.proven, kept.at) == ("fork", True, 1679315147)
    assert (kept.place / "remembered").read_bytes() == first.note
    assert AddCheckpoint.parse((kept.place / "submission").read_bytes()).checkpoint == second.note
    assert state.head(ORIGIN) == first.checkpoint


def test_a_proof_that_does_not_hold_is_refused_and_kept_as_unproven(witness, state, log):
    witness.add_checkpoint(log(5).submission(0))
    refused(witness.add_checkpoint(log(9, changed=2).submission(5)), "consistency")
    refused(witness.add_checkpoint(AddCheckpoint(5, (), log(9).note)), "consistency")
    assert [(kept.rule, kept.proven) for kept in state.evidence(ORIGIN)] == [("consistency", False)] * 2
    now = log(9)
    signed(witness.add_checkpoint(now.submission(5)), now)


def test_a_first_head_with_a_proof_is_refused(witness, state, log):
    refused(witness.add_checkpoint(AddCheckpoint(0, (b"x" * 32,), log(3).note)), "consistency")
    assert state.head(ORIGIN) is None


def test_unknown_logs_and_unknown_keys_are_refused(witness, log):
    stranger = Signer.generate()
    checkpoint = log(3).checkpoint
    refused(witness.add_checkpoint(AddCheckpoint(0, (), sign_checkpoint(checkpoint, stranger))), "note-unsigned")
    other = Checkpoint("example.org/other", 3, checkpoint.root)
    refused(witness.add_checkpoint(AddCheckpoint(0, (), sign_checkpoint(other, LOG))), "origin")
    bad = Note.parse(log(3).note)
    spoilt = NoteSignature(ORIGIN, bad.signatures[0].id, b"x" * 64)
    refused(witness.add_checkpoint(AddCheckpoint(0, (), Note(bad.text, (spoilt,)).format())), "note-signature")


def test_reading_a_log_proves_a_fork_from_its_own_tiles(witness, state, log):
    first, other = log(4), log(300, changed=3)
    signed(witness.cosign_log(first.note, read_folder(first.place)), first)
    refused(witness.cosign_log(other.note, read_folder(other.place)), "fork")
    [kept] = state.evidence(ORIGIN)
    kept_submission = AddCheckpoint.parse((kept.place / "submission").read_bytes())
    root = Digest.parse(json.loads((kept.place / "refusal.json").read_text())["root_submitted_at_old"])
    assert root != first.checkpoint.root
    merkle.verify_consistency(4, 300, root.raw, other.checkpoint.root.raw, kept_submission.proof)
    grown = log(300)
    signed(witness.cosign_log(grown.note, read_folder(grown.place)), grown)


def test_reading_a_log_that_was_rolled_back_is_refused_and_kept(witness, state, log):
    long, short = log(9), log(5)
    witness.cosign_log(long.note, read_folder(long.place))
    refused(witness.cosign_log(short.note, read_folder(short.place)), "rollback")
    assert [(kept.rule, kept.proven) for kept in state.evidence(ORIGIN)] == [("rollback", False)]
    assert state.head(ORIGIN) == long.checkpoint


def test_a_log_whose_tiles_are_missing_is_not_cosigned(witness, state, log, tmp_path):
    with pytest.raises(LogInvalid, match="missing"):
        witness.cosign_log(log(3).note, read_folder(tmp_path / "nothing"))
    assert state.head(ORIGIN) is None


def test_nothing_is_signed_unless_the_memory_is_on_the_disk(state, log, monkeypatch):
    class Watching:
        public = SIGNER.public

        def sign(self, message):
            assert state.head(ORIGIN).size == 3
            return SIGNER.sign(message)

    now = log(3)
    signed(Witness(state, Watching()).add_checkpoint(now.submission(0)), now)

    def full(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(writer.os, "fsync", full)
    with pytest.raises(HarnessError, match="Input/output"):
        Witness(state, Watching()).add_checkpoint(log(4).submission(3))
    monkeypatch.undo()
    assert state.head(ORIGIN) == now.checkpoint


def test_of_many_submissions_at_once_one_history_is_cosigned(state, log):
    witness = Witness(state, SIGNER)
    witness.add_checkpoint(log(2).submission(0))
    logs = [log(3 + n % 2, changed=2 if n % 4 < 2 else None) for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: witness.add_checkpoint(one.submission(2)), logs))
    done = [one for one, answer in zip(logs, answers, strict=True) if answer.signature is not None]
    assert len(done) == 1
    assert {answer.refusal.rule for answer in answers if answer.refusal} == {"stale"}
    assert state.head(ORIGIN) == done[0].checkpoint


def test_a_state_is_one_witness_s(state, tmp_path):
    assert WitnessState.create(state.directory, KEY).key == KEY
    with pytest.raises(Conflict, match=NAME):
        WitnessState.create(state.directory, CosignerKey("other", SIGNER.public))
    with pytest.raises(InputError, match="not the key"):
        Witness(state, LOG)
    with pytest.raises(InputError, match="not the state"):
        Witness(WitnessState(tmp_path / "absent"), SIGNER)
    assert state.origins() == [ORIGIN]


PIECES = st.lists(
    st.sampled_from([b"old ", b"0", b"3", b"\n", b"\n\n", b"AAAA", b"A" * 43 + b"=", b"+1", b"\xff", b"\r", b" "]),
    max_size=20,
).map(b"".join)


@settings(deadline=None)
@given(st.one_of(PIECES, st.binary(max_size=200)))
@example(b"old 0\n\n")
@example(b"old 3\n" + (b"A" * 43 + b"=\n") * 64 + b"\n")
def test_a_submission_is_refused_or_what_format_writes(data):
    try:
        submission = AddCheckpoint.parse(data)
    except LogInvalid:
        return
    assert submission.format() == data
    assert len(submission.proof) <= 63
