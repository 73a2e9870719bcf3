"""The rules of admission: a fold over the records of a log, in order.

    gate = Gate("example.org/bench", root_at)
    record = gate.admit(envelope, index)         # or RecordRejected, and nothing has changed

The sequencer admits before it appends; every reader admits again. The rules, by the name that a refusal carries:

    canonical, statement, kind, schema, subject, envelope      the bytes (`statement`, `envelope`)
    no-trust-root, role, signature, threshold, distrusted, …   the signatures (`trust`)
    duplicate           the same payload stands in the log already
    origin              meant for another ledger
    after               made after a head that this log never had
    unknown-reference   cites a record that is not there, or is of another kind, or of another id
    chain               a runner's record out of its place in its attempt (`seq`, `prev`)
    not-opened          about an attempt that was not opened
    duplicate-attempt   an attempt id, or a slot of a schedule, opened twice
    not-scheduled       a formal opening outside its schedule's entries, cases or repeats
    retry               a retry of something that may not be retried
    closed-twice        a second closing; or anything but late artifacts after the closing
    verdict             a verdict on captures of another attempt or case, or a closing that its records do not bear out

Which of several verdicts counts, and what a withdrawal does to a release, is `ledger.release`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import Statement
from ledger.records.trust import Signed, TrustState
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Gate"]


@dataclass(slots=True)
class _Attempt:
    """What is known of one attempt so far."""

    opened: Record[kinds.AttemptOpened]
    seq: int
    prev: Digest
    captures: Record[kinds.Captures] | None = None
    verdicts: dict[Digest, kinds.Body] = field(default_factory=dict)
    closed: Record[kinds.AttemptClosed] | None = None


class Gate:
    """The state that the rules need.

    Args:
        origin: of the ledger.
        root_at: the root that the log had at a size.
    """

    def __init__(self, origin: str, root_at: Callable[[int], Digest]) -> None:
        self.origin = origin
        self.trust = TrustState()
        self._root_at = root_at
        self._records: dict[Digest, Record[kinds.Body]] = {}
        self._payloads: dict[Digest, int] = {}
        self._attempts: dict[str, _Attempt] = {}
        self._slots: dict[tuple[Digest, Digest, Digest, int, int], str] = {}
        self._heads: dict[int, Digest] = {}

    @property
    def size(self) -> int:
        """How many records were admitted."""
        return len(self._payloads)

    def known(self, payload: Digest) -> int | None:
        """The index of the record with this payload; null when there is none."""
        return self._payloads.get(payload)

    def admit(self, envelope: Envelope, index: int) -> Record[kinds.Body]:
        """Admit the next record.

        Args:
            envelope: the record.
            index: its place, which must be the next.

        Raises:
            RecordRejected: a rule is broken; nothing has changed.
        """
        try:
            return self._admit(envelope, index)
        except RecordRejected as error:
            if not error.where:
                error.where = f"record {index}"
            raise

    def _admit(self, envelope: Envelope, index: int) -> Record[kinds.Body]:
        if index != self.size:
            raise RecordRejected("order", f"record {index} where {self.size} is the next")
        statement = Statement.parse(envelope.payload)
        body = statement.body
        payload = envelope.payload_digest
        if payload in self._payloads:
            raise RecordRejected("duplicate", f"the same payload is record {self._payloads[payload]}")
        if body.ledger != self.origin:
            raise RecordRejected("origin", f"meant for the ledger {body.ledger!r}, not {self.origin!r}")
        self._check_after(body.after, index)
        signed = self._signed(statement, envelope, index)
        record = Record(
            index=index,
            digest=envelope.digest,
            payload_digest=payload,
            kind=statement.kind,
            body=body,
            keyids=signed.keyids,
            role=signed.role,
        )
        commit = self._check_body(record)
        if isinstance(body, kinds.TrustRoot):
            self.trust.install(body, envelope, index)
        commit()
        self._records[record.digest] = record
        self._payloads[payload] = index
        return record

    def _signed(self, statement: Statement, envelope: Envelope, index: int) -> Signed:
        if isinstance(statement.body, kinds.TrustRoot):
            return self.trust.examine(statement.body, envelope, index)[0]
        return self.trust.check(envelope, statement.kind, index)

    def _check_after(self, after: kinds.Head | None, index: int) -> None:
        if after is None:
            if index:
                raise RecordRejected("after", "only the first record comes after nothing")
            return
        if not 1 <= after.size <= index:
            raise RecordRejected("after", f"after a head of size {after.size}, in a log of {index} records")
        if after.size not in self._heads:
            self._heads[after.size] = self._root_at(after.size)
        if self._heads[after.size] != after.root:
            raise RecordRejected("after", f"at size {after.size} this log never had the root {after.root}")

    def _check_body(self, record: Record[kinds.Body]) -> Callable[[], None]:
        """Check what a record cites; the function that it returns takes the record into the state."""
        body = record.body
        if isinstance(body, kinds.AttemptOpened):
            return self._open(record, body)
        if isinstance(body, kinds.Artifacts | kinds.Captures | kinds.AttemptClosed):
            return self._continue(record, body)
        if isinstance(body, kinds.Evaluation | kinds.EvaluationFailed):
            return self._judge(record, body)
        if isinstance(body, kinds.Case):
            self._check_case(body)
        elif isinstance(body, kinds.Split):
            for case in body.cases:
                self._check_case_ref(case)
        elif isinstance(body, kinds.Schedule):
            self._cited(body.split, kinds.Split)
            protocol = self._cited(body.protocol, kinds.Protocol).body
            if body.repeats > protocol.repeats:
                raise RecordRejected("not-scheduled", f"{body.repeats} repeats, the protocol has {protocol.repeats}")
            for ref in body.entries:
                self._check_entry_ref(ref)
        elif isinstance(body, kinds.Withdrawal):
            self._check_withdrawal(body)
        elif isinstance(body, kinds.Release):
            self._check_release(record, body)
        return lambda: None

    def _check_case(self, body: kinds.Case) -> None:
        if body.source is not None:
            self._cited(body.source, kinds.Source)
        if body.supersedes is not None:
            before = self._cited(body.supersedes, kinds.Case).body
            if before.id != body.id or before.version >= body.version:
                raise RecordRejected("unknown-reference", f"{body.id} {body.version} cannot supersede {before.id}")

    def _check_case_ref(self, ref: kinds.CaseRef) -> None:
        case = self._cited(ref.record, kinds.Case).body
        if (case.id, case.version) != (ref.id, ref.version):
            raise RecordRejected("unknown-reference", f"{ref.id} {ref.version} is {case.id} {case.version} in {ref.record}")

    def _check_entry_ref(self, ref: kinds.Ref) -> None:
        if self._cited(ref.record, kinds.Entry).body.id != ref.id:
            raise RecordRejected("unknown-reference", f"the entry {ref.id} has another id in {ref.record}")

    def _check_withdrawal(self, body: kinds.Withdrawal) -> None:
        target = self._record(body.target.record).body
        named = {
            "attempt": getattr(getattr(target, "chain", None), "attempt", None),
            "case": target.id if isinstance(target, kinds.Case) else None,
            "release": target.name if isinstance(target, kinds.Release) else None,
        }[body.target.kind]
        if named != body.target.id:
            what = f"{body.target.record} is not a record of the {body.target.kind} {body.target.id}"
            raise RecordRejected("unknown-reference", what)
        if body.reinstates is not None:
            lifted = self._cited(body.reinstates, kinds.Withdrawal).body
            if (lifted.target.kind, lifted.target.id) != (body.target.kind, body.target.id) or lifted.reinstates:
                raise RecordRejected("unknown-reference", f"{body.reinstates} does not withdraw {body.target.id}")

    def _check_release(self, record: Record[kinds.Body], body: kinds.Release) -> None:
        schedule = self._cited(body.schedule, kinds.Schedule).body
        if (schedule.split, schedule.protocol) != (body.split, body.protocol):
            raise RecordRejected("unknown-reference", "split and protocol are not those of the schedule")
        self._check_after(body.cutoff, record.index)

    def _open(self, record: Record[kinds.Body], body: kinds.AttemptOpened) -> Callable[[], None]:
        attempt = body.chain.attempt
        if attempt in self._attempts:
            raise RecordRejected("duplicate-attempt", f"{attempt} was opened already")
        if body.chain.seq != 0 or body.chain.prev is not None:
            raise RecordRejected("chain", "an opening has seq 0 and nothing before it")
        self._check_entry_ref(body.entry)
        self._check_case_ref(body.case)
        slot = None
        if body.schedule is not None:
            slot = self._check_slot(body, body.schedule)
        elif body.purpose == "formal":
            raise RecordRejected("not-scheduled", "a formal attempt belongs to a schedule")
        self._check_retry(body)
        opened = Record(**{name: getattr(record, name) for name in Record.__slots__} | {"body": body})

        def commit() -> None:
            self._attempts[attempt] = _Attempt(opened, 0, record.digest)
            if slot is not None:
                self._slots[slot] = attempt

        return commit

    def _check_slot(self, body: kinds.AttemptOpened, cited: Digest) -> tuple[Digest, Digest, Digest, int, int]:
        schedule = self._cited(cited, kinds.Schedule).body
        split = self._cited(schedule.split, kinds.Split).body
        protocol = self._cited(schedule.protocol, kinds.Protocol).body
        if body.entry.record not in {ref.record for ref in schedule.entries}:
            raise RecordRejected("not-scheduled", f"the schedule does not have the entry {body.entry.id}")
        if body.case.record not in {ref.record for ref in split.cases}:
            raise RecordRejected("not-scheduled", f"the schedule's split does not have the case {body.case.id}")
        if not 1 <= body.repeat <= schedule.repeats:
            raise RecordRejected("not-scheduled", f"repeat {body.repeat} of {schedule.repeats}")
        if body.try_ > protocol.max_tries:
            raise RecordRejected("retry", f"try {body.try_}, and the protocol allows {protocol.max_tries}")
        slot = (cited, body.entry.record, body.case.record, body.repeat, body.try_)
        if slot in self._slots:
            raise RecordRejected("duplicate-attempt", f"that try of that repeat is {self._slots[slot]}")
        return slot

    def _check_retry(self, body: kinds.AttemptOpened) -> None:
        if body.retry_of is None:
            if body.try_ != 1:
                raise RecordRejected("retry", f"try {body.try_} names no attempt that it retries")
            return
        before = self._attempts.get(body.retry_of)
        if before is None:
            raise RecordRejected("retry", f"it retries {body.retry_of}, which was not opened")
        old = before.opened.body
        same = (old.entry.record, old.case.record, old.repeat, old.schedule)
        if same != (body.entry.record, body.case.record, body.repeat, body.schedule):
            raise RecordRejected("retry", f"{body.retry_of} is an attempt of another slot")
        if body.try_ != old.try_ + 1:
            raise RecordRejected("retry", f"try {body.try_} after try {old.try_}")
        if before.closed is None or before.closed.body.outcome != "harness-failure":
            raise RecordRejected("retry", f"{body.retry_of} was not closed as harness-failure, which alone is retried")

    def _continue(
        self, record: Record[kinds.Body], body: kinds.Artifacts | kinds.Captures | kinds.AttemptClosed
    ) -> Callable[[], None]:
        known = self._attempt(body.chain.attempt)
        if known.closed is not None:
            late = isinstance(body, kinds.Artifacts) and all(item.class_ == "late" for item in body.items)
            if not late:
                raise RecordRejected("closed-twice", f"{body.chain.attempt} is closed; only late artifacts may follow")
        if (body.chain.seq, body.chain.prev) != (known.seq + 1, known.prev):
            what = f"seq {body.chain.seq} after {body.chain.prev}, where {known.seq + 1} after {known.prev} follows"
            raise RecordRejected("chain", what)
        if isinstance(body, kinds.Captures) and known.captures is not None:
            raise RecordRejected("chain", f"{body.chain.attempt} has captures already")
        if isinstance(body, kinds.AttemptClosed):
            _check_closing(known, body)
        fields = {name: getattr(record, name) for name in Record.__slots__}

        def commit() -> None:
            known.seq, known.prev = body.chain.seq, record.digest
            if isinstance(body, kinds.Captures):
                known.captures = Record(**fields | {"body": body})
            if isinstance(body, kinds.AttemptClosed):
                known.closed = Record(**fields | {"body": body})

        return commit

    def _judge(
        self, record: Record[kinds.Body], body: kinds.Evaluation | kinds.EvaluationFailed
    ) -> Callable[[], None]:
        known = self._attempt(body.attempt)
        if known.captures is None or known.captures.digest != body.captures:
            raise RecordRejected("verdict", f"the captures are not those of {body.attempt}")
        if known.opened.body.case.record != body.case:
            raise RecordRejected("verdict", f"the case is not that of {body.attempt}")
        if isinstance(body, kinds.Evaluation):
            case = self._cited(body.case, kinds.Case).body
            if body.commitment != case.sealed.commitment:
                raise RecordRejected("verdict", "judged with another kit than the case commits to")
        return lambda: known.verdicts.__setitem__(record.digest, body)

    def _attempt(self, attempt: str) -> _Attempt:
        if attempt not in self._attempts:
            raise RecordRejected("not-opened", f"{attempt} was not opened")
        return self._attempts[attempt]

    def _record(self, digest: Digest) -> Record[kinds.Body]:
        if digest not in self._records:
            raise RecordRejected("unknown-reference", f"no earlier record is {digest}")
        return self._records[digest]

    def _cited(self, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
        record = self._record(digest)
        if not isinstance(record.body, wanted):
            kind = kinds.kind_of(wanted)
            raise RecordRejected("unknown-reference", f"{digest} is a {record.kind}, not a {kind}")
        return record  # type: ignore[return-value]  # its body was just looked at


def _check_closing(known: _Attempt, body: kinds.AttemptClosed) -> None:
    if body.outcome == "withdrawn":
        raise RecordRejected("verdict", "withdrawn is what a later sidecar makes of an attempt, never its closing")
    if body.outcome == "scored":
        if body.evaluation is None or not isinstance(known.verdicts.get(body.evaluation), kinds.Evaluation):
            raise RecordRejected("verdict", "closed as scored without citing a verdict on it")
        return
    if body.evaluation is not None:
        raise RecordRejected("verdict", f"closed as {body.outcome}, and cites a verdict")
    if known.captures is not None and body.outcome != "harness-failure":
        raise RecordRejected("verdict", f"captures are in the log, so it cannot be {body.outcome}")
    if known.captures is not None and not any(
        isinstance(verdict, kinds.EvaluationFailed) for verdict in known.verdicts.values()
    ):
        raise RecordRejected("verdict", "captures are in the log: only a failure that the evaluator signed closes it so")
