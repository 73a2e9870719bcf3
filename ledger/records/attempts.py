"""The life of an attempt, as the log admits it.

    attempt-opened → artifacts → captures → (evaluation | evaluation-failed)… → attempt-closed → late artifacts…
    seq 0            1           2          no chain: the evaluator's           3                4, 5; prev: the closing

A runner's records of one attempt form a chain: `seq` counts them, `prev` is the leaf digest of the one before, so that
an omission or a second copy shows. The chain ends with the closing; what arrives later cites the closing.

A try is used once for each repeat of a scheduled entry on a case, and only a closed harness failure may be tried again:
once captures are in the log, only with a failure that the evaluator signed, because somebody may have seen the page.
Which verdict counts in a release is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from ledger.records import kinds
from ledger.records.admitted import Admitted
from ledger.records.kept import Kept, Nothing
from ledger.records.record import Record
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Attempts"]

_Runner = kinds.Artifacts | kinds.Captures | kinds.AttemptClosed
_Evaluator = kinds.Evaluation | kinds.EvaluationFailed
_Slot = tuple[Digest | None, Digest, Digest, int, int]
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(tuple[Any, ...]).decode


@dataclass(slots=True)
class _Attempt:
    """One attempt so far.

    There are as many as a log has attempts: no more is kept than rules ask for, and digests as their 32 bytes.

    Attributes:
        slot: schedule, entry, case, repeat and try.
        prev: leaf digest that the next runner's record must name.
        seq: of the last runner's record.
        captures: leaf digest of its captures.
        verdicts: leaf digests of its evaluations, until it is closed.
        failed: the evaluator signed that it could not judge.
        outcome: of its closing.
    """

    slot: _Slot
    prev: bytes
    seq: int = 0
    captures: bytes | None = None
    verdicts: tuple[Digest, ...] = ()
    failed: bool = False
    outcome: kinds.Outcome | None = None

    @property
    def case(self) -> Digest:
        """Leaf digest of the case version that it was opened on."""
        return self.slot[2]

    def pack(self) -> bytes:
        """The state as bytes."""
        schedule, entry, case, repeat, number = self.slot
        slot = (None if schedule is None else schedule.raw, entry.raw, case.raw, repeat, number)
        verdicts = [digest.raw for digest in self.verdicts]
        return _pack((*slot, self.prev, self.seq, self.captures, verdicts, self.failed, self.outcome))

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The state that `pack` gave."""
        schedule, entry, case, repeat, number, prev, seq, captures, verdicts, failed, outcome = _unpack(data)
        raw = Digest.from_raw
        slot = (None if schedule is None else raw(schedule), raw(entry), raw(case), repeat, number)
        return cls(slot, prev, seq, captures, tuple(map(raw, verdicts)), failed, outcome)


class Attempts:
    """Every attempt of a log.

    Args:
        admitted: where what they cite is found.
        kept: the state of the attempts that were opened before.
    """

    def __init__(self, admitted: Admitted, kept: Kept | None = None) -> None:
        self._admitted = admitted
        self._kept: Kept = kept or Nothing()
        self._attempts: dict[str, _Attempt] = {}
        self._slots: dict[_Slot, str] = {}

    def packed(self) -> Iterator[tuple[str, bytes | None, bytes]]:
        """Id, place in a schedule and state of every attempt that was opened or went on here."""
        for attempt, known in self._attempts.items():
            yield attempt, None if known.slot[0] is None else _packed_slot(known.slot), known.pack()

    def check(self, body: kinds.Body) -> None:
        """Check a record of an attempt against what is known of it; others pass.

        Raises:
            RecordRejected: `not-opened`, `duplicate-attempt`, `chain`, `closed`, `closed-twice`, `captures-twice`,
                `plan`, `other-attempt`, `other-case`, `commitment`, `not-scheduled`, `retry` or `unknown-reference`.
        """
        match body:
            case kinds.AttemptOpened():
                self._check_opening(body)
            case kinds.Artifacts() | kinds.Captures() | kinds.AttemptClosed():
                self._check_runner(body)
            case kinds.Evaluation() | kinds.EvaluationFailed():
                self._check_evaluator(body)

    def add(self, record: Record) -> None:
        """Take a record in that `check` has passed; others change nothing."""
        body = record.body
        match body:
            case kinds.AttemptOpened():
                slot = _slot(body)
                self._attempts[body.chain.attempt] = _Attempt(slot, record.digest.raw)
                if body.schedule is not None:
                    self._slots[slot] = body.chain.attempt
            case kinds.Artifacts() | kinds.Captures() | kinds.AttemptClosed():
                self._add_runner(record, body)
            case kinds.Evaluation():
                judged = self._attempts[body.attempt]
                if judged.outcome is None:
                    judged.verdicts += (record.digest,)
            case kinds.EvaluationFailed():
                self._attempts[body.attempt].failed = True

    def _add_runner(self, record: Record, body: _Runner) -> None:
        known = self._attempts[body.chain.attempt]
        known.seq = body.chain.seq
        if known.outcome is None:
            known.prev = record.digest.raw
        if isinstance(body, kinds.Captures):
            known.captures = record.digest.raw
        elif isinstance(body, kinds.AttemptClosed):
            known.outcome = body.outcome
            known.verdicts = ()

    def _find(self, attempt: str) -> _Attempt | None:
        found = self._attempts.get(attempt)
        if found is None and (before := self._kept.attempt(attempt)) is not None:
            found = self._attempts[attempt] = _Attempt.unpack(before)
        return found

    def _known(self, attempt: str) -> _Attempt:
        found = self._find(attempt)
        if found is None:
            raise RecordRejected("not-opened", f"the attempt {attempt} was not opened", fix="append its opening first")
        return found

    def case(self, attempt: str) -> Digest:
        """Leaf digest of the case version that an admitted attempt was opened on."""
        return self._known(attempt).case

    def unclosed(self) -> Iterator[tuple[str, Digest]]:
        """Every open attempt, with the leaf digest of its case version."""
        before = ((name, _Attempt.unpack(state)) for name, state in self._kept.attempts() if name not in self._attempts)
        for name, known in (*self._attempts.items(), *before):
            if known.outcome is None:
                yield name, known.case

    # ------------------------------------------------------------------------------------------------- openings

    def _check_opening(self, body: kinds.AttemptOpened) -> None:
        attempt = body.chain.attempt
        if self._find(attempt) is not None:
            raise RecordRejected("duplicate-attempt", f"the attempt {attempt} was opened already")
        if body.chain.seq != 0 or body.chain.prev is not None:
            raise RecordRejected("chain", "an opening has seq 0 and nothing before it")
        self._admitted.entry(body.entry)
        self._admitted.case(body.case)
        allowed = None if body.schedule is None else self._check_slot(body, body.schedule)
        self._check_retry(body, allowed)

    def _check_slot(self, body: kinds.AttemptOpened, cited: Digest) -> int:
        """The tries that the schedule's protocol allows."""
        schedule = self._admitted.cited(cited, kinds.Schedule).body
        split = self._admitted.cited(schedule.split, kinds.Split).body
        protocol = self._admitted.cited(schedule.protocol, kinds.Protocol).body
        if body.entry not in schedule.entries:
            raise RecordRejected("not-scheduled", f"the schedule {schedule.name} has no entry {body.entry.id}")
        if body.case not in split.cases:
            raise RecordRejected("not-scheduled", f"the split {split.name} has no case {body.case.id}")
        if body.repeat > schedule.repeats:
            what = f"repeat {body.repeat}, and the schedule {schedule.name} has {schedule.repeats}"
            raise RecordRejected("not-scheduled", what)
        slot = _slot(body)
        taken = self._slots.get(slot) or self._kept.slot(_packed_slot(slot))
        if taken is not None:
            raise RecordRejected("duplicate-attempt", f"try {body.try_} of this repeat is {taken}")
        return protocol.max_tries

    def _check_retry(self, body: kinds.AttemptOpened, allowed: int | None) -> None:
        if body.retry_of is None:
            if body.try_ != 1:
                raise RecordRejected("retry", f"try {body.try_} names no attempt that it tries again")
            return
        before = self._find(body.retry_of)
        if before is None:
            raise RecordRejected("retry", f"it tries {body.retry_of} again, which was not opened")
        *old, tried = before.slot
        *new, number = _slot(body)
        if old != new:
            raise RecordRejected("retry", f"{body.retry_of} is of another schedule, entry, case or repeat")
        if number != tried + 1:
            raise RecordRejected("retry", f"try {number} of what was try {tried}")
        if allowed is not None and body.try_ > allowed:
            raise RecordRejected("retry", f"try {body.try_}, and the protocol allows {allowed}")
        if before.outcome != "harness-failure":
            outcome = "still open" if before.outcome is None else f"closed as {before.outcome}"
            raise RecordRejected("retry", f"{body.retry_of} is {outcome}; only harness failures are tried again")
        if before.captures is not None and not before.failed:
            what = f"the captures of {body.retry_of} are in the log, and no failure that the evaluator signed"
            raise RecordRejected("retry", what, fix="have them judged: `rbl attempt recover`")

    # ------------------------------------------------------------------------------------- records after an opening

    def _check_runner(self, body: _Runner) -> None:
        known = self._known(body.chain.attempt)
        if known.outcome is not None:
            _check_late(body)
        seq, prev = body.chain.seq, body.chain.prev
        if seq != known.seq + 1 or prev is None or prev.raw != known.prev:
            due = Digest.from_raw(known.prev)
            raise RecordRejected("chain", f"seq {seq} after {prev}, where {known.seq + 1} after {due} is due")
        if isinstance(body, kinds.Captures):
            self._check_captures(known, body)
        elif isinstance(body, kinds.AttemptClosed):
            self._check_closing(known, body)

    def _check_captures(self, known: _Attempt, body: kinds.Captures) -> None:
        if known.captures is not None:
            what = f"{body.chain.attempt} has captures already, {Digest.from_raw(known.captures)}"
            raise RecordRejected("captures-twice", what)
        plan = self._admitted.cited(known.case, kinds.Case).body.plan
        if body.plan != plan:
            raise RecordRejected("plan", f"captured by the plan {body.plan}, and the case's is {plan}")
        ids = [shot.id for shot in body.shots]
        if len(set(ids)) != len(ids):
            raise RecordRejected("duplicate-reference", "a shot stands twice")

    def _check_closing(self, known: _Attempt, body: kinds.AttemptClosed) -> None:
        if body.outcome == "scored" and body.evaluation is not None and body.evaluation not in known.verdicts:
            self._admitted.expect(body.evaluation, kinds.Evaluation)
            raise RecordRejected("other-attempt", f"the evaluation {body.evaluation} is of another attempt")

    def _check_evaluator(self, body: _Evaluator) -> None:
        known = self._known(body.attempt)
        self._admitted.expect(body.captures, kinds.Captures)
        if body.captures.raw != known.captures:
            raise RecordRejected("other-attempt", f"the captures {body.captures} are not those of {body.attempt}")
        if body.case != known.case:
            raise RecordRejected("other-case", f"{body.case} is not the case of {body.attempt}")
        if isinstance(body, kinds.Evaluation):
            commitment = self._admitted.cited(body.case, kinds.Case).body.sealed.commitment
            if body.commitment != commitment:
                raise RecordRejected("commitment", f"judged with the kit {body.commitment}, committed is {commitment}")


def _check_late(body: _Runner) -> None:
    attempt = body.chain.attempt
    if isinstance(body, kinds.AttemptClosed):
        raise RecordRejected("closed-twice", f"the attempt {attempt} is closed already")
    late = isinstance(body, kinds.Artifacts) and body.items and all(item.class_ == "late" for item in body.items)
    if not late:
        what = f"the attempt {attempt} is closed; only artifacts of class late may follow"
        raise RecordRejected("closed", what, fix="record them with class late")


def _slot(body: kinds.AttemptOpened) -> _Slot:
    return (body.schedule, body.entry.record, body.case.record, body.repeat, body.try_)


def _packed_slot(slot: _Slot) -> bytes:
    schedule, entry, case, repeat, number = slot
    return _pack((b"" if schedule is None else schedule.raw, entry.raw, case.raw, repeat, number))
