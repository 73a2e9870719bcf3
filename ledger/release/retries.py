"""Rules on retries and withdrawals: no run is bought again, no score is lost, no sidecar floats free. Pure.

- A retry follows a `harness-failure` of the same slot, one for one, at most as often as the protocol allows.
- Once captures are in the log, only a failure signed by the evaluator excuses a harness failure: otherwise somebody
  could look at the page, or the score, and have the run again.
- A verdict that exists is counted: a harness failure beside a verdict is a score dropped.
- A withdrawal names a record of its target, gives a known reason, and cites two differing digests for a mismatch; a
  reinstatement names an earlier withdrawal of the same target that stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.cutoff import Attempt, Cut, Scope
from ledger.release.finding import Finding
from ledger.release.outcome import Slot, slot_of, withdrawn
from store.digest import Digest

__all__ = ["WITHDRAWAL_REASONS", "retries", "withdrawals"]

WITHDRAWAL_REASONS: Final = frozenset(
    {"digest-mismatch", "leak", "wrong-conditions", "operator-error", "case-defect", "author-request", "other"}
)
"""Every reason code of a withdrawal."""


def retries(cut: Cut, scope: Scope) -> list[Finding]:
    """Findings on the tries of each slot, and on harness failures."""
    slots: dict[Slot, list[Attempt]] = defaultdict(list)
    for attempt in scope.attempts(cut):
        slots[slot_of(attempt)].append(attempt)
    taken = withdrawn(cut.withdrawals)
    evaluator = scope.protocol.body.evaluator
    found: list[Finding] = []
    for attempts in slots.values():
        tries = sorted(attempts, key=lambda attempt: (attempt.opened.body.try_, attempt.opened.index))
        found += _tries(tries, scope.protocol.body.max_tries)
        for before, after in pairwise(tries):
            found += _retry(before, after, evaluator)
        for attempt in tries:
            if ("attempt", attempt.id) not in taken:
                found += _failure(attempt, evaluator)
    return found


def withdrawals(cut: Cut, scope: Scope) -> list[Finding]:
    """Findings on the sidecars that concern a schedule's attempts and cases."""
    cases = {case.digest for case in scope.cases.values()}
    attempts = {attempt.id: {record.digest for record in attempt.records} for attempt in scope.attempts(cut)}
    members = set().union(*attempts.values()) if attempts else set()
    seen: dict[Digest, Record[kinds.Withdrawal]] = {}
    lifted: set[Digest] = set()
    found: list[Finding] = []
    for record in cut.withdrawals:
        target = record.body.target
        ours = target.id in attempts or target.record in members if target.kind == "attempt" else target.record in cases
        if not ours:
            continue
        if target.kind == "attempt" and target.record not in attempts.get(target.id, set()):
            found.append(_bad(record, f"names {target.id} with a record that is not its own"))
        if record.body.reinstates is None:
            found += _withdrawal(record)
        else:
            found += _reinstatement(record, seen, lifted)
            lifted.add(record.body.reinstates)
        seen[record.digest] = record
    return found


def _tries(tries: Sequence[Attempt], allowed: int) -> Iterator[Finding]:
    first = tries[0]
    if first.opened.body.retry_of is not None or first.opened.body.try_ != 1:
        yield Finding("retry", first.id, "the first try of its slot says it is a retry", "an earlier try is hidden")
    numbers = [attempt.opened.body.try_ for attempt in tries]
    if numbers != list(range(1, len(tries) + 1)):
        yield Finding(
            "retry", tries[-1].id, f"tries of its slot are numbered {numbers}", "a slot has one try at a time"
        )
    if len(tries) > allowed:
        yield Finding(
            "retry", tries[-1].id, f"{len(tries)} tries, the protocol allows {allowed}", "the last may not count"
        )


def _retry(before: Attempt, after: Attempt, evaluator: Digest) -> Iterator[Finding]:
    number = after.opened.body.try_
    if after.opened.body.retry_of != before.id:
        yield Finding("retry", after.id, f"try {number} does not name the try before it", "a run could be bought again")
    closed = before.closed
    if closed is None or closed.index > after.opened.index:
        yield Finding("retry", after.id, f"try {number} was opened before the last was closed", "two runs, one chosen")
    elif closed.body.outcome != "harness-failure":
        what = f"try {number} follows an attempt that was closed as {closed.body.outcome}"
        yield Finding("retry", after.id, what, "only harness failures may be tried again")
    elif before.captures is not None and not _excused(before, evaluator, below=after.opened.index):
        what = f"try {number} follows captures that no evaluator's failure excuses"
        yield Finding("retry", after.id, what, "a run could be dropped after it was seen")


def _failure(attempt: Attempt, evaluator: Digest) -> Iterator[Finding]:
    closed = attempt.closed
    if closed is None or closed.body.outcome != "harness-failure":
        return
    if attempt.verdict(evaluator) is not None:
        yield Finding("retry", attempt.id, "closed as harness-failure although a verdict exists", "a score was dropped")
    elif attempt.captures is not None and not _excused(attempt, evaluator, below=closed.index):
        what = "closed as harness-failure after its captures, with no failure signed by the evaluator"
        yield Finding("retry", attempt.id, what, "a run could be dropped after it was seen")


def _excused(attempt: Attempt, evaluator: Digest, *, below: int) -> bool:
    captures = None if attempt.captures is None else attempt.captures.digest
    return any(
        record.index < below and record.body.evaluator == evaluator and record.body.captures == captures
        for record in attempt.failures
    )


def _withdrawal(record: Record[kinds.Withdrawal]) -> Iterator[Finding]:
    body = record.body
    if body.reason not in WITHDRAWAL_REASONS:
        yield _bad(record, f"gives the unknown reason {body.reason!r}")
    if not body.author.strip():
        yield _bad(record, "names no author")
    if body.reason == "digest-mismatch" and (None in {body.expected, body.observed} or body.expected == body.observed):
        yield _bad(record, "claims a mismatch without two digests that differ")


def _reinstatement(
    record: Record[kinds.Withdrawal], seen: dict[Digest, Record[kinds.Withdrawal]], lifted: set[Digest]
) -> Iterator[Finding]:
    named = None if record.body.reinstates is None else seen.get(record.body.reinstates)
    if named is None or named.body.reinstates is not None:
        yield _bad(record, "reinstates what no earlier withdrawal withdrew")
    elif (named.body.target.kind, named.body.target.id) != (record.body.target.kind, record.body.target.id):
        yield _bad(record, "reinstates the withdrawal of something else")
    elif named.digest in lifted:
        yield _bad(record, "reinstates a withdrawal that is lifted already")


def _bad(record: Record[kinds.Withdrawal], what: str) -> Finding:
    target = record.body.target
    return Finding(
        "withdrawal", f"{target.kind} {target.id}", f"record {record.index} {what}", "the standing is in doubt"
    )
