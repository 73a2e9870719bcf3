"""One attempt from brief to score: every record it rests on, and the releases that count or exclude it.

    ✓ attempt 20261130T230501Z__pricing__imperfect__r01__9f03ab12
      ✓ case pricing@1 "Pricing page"                              12  sha256:5f1c…  curator
        ✓ brief, evidence and starter                                  sha256:77aa…
      ✓ opened: formal, docker, try 1 of repeat 1                  31  sha256:0c4e…  runner
      ✓ captures: 6 shots                                          33  sha256:b2d0…  runner
      ✓ evaluation: total 0.640000                                 34  sha256:19aa…  evaluator
      ✓ closed: scored, ok                                         35  sha256:a001…  runner
      ✓ release 2026-12: counted as scored                         97  sha256:ee12…  release-manager

A check mark on a record says that it was verified in the log; on an object, that the store holds it. Only
`rbl release verify` hashes every object again. A tree of values; how it is printed is the command line's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ledger.erasure import erased
from ledger.gathered import AttemptRecords
from ledger.lookup import Lookup
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.leaves import parse_leaves
from ledger.release.outcome import withdrawn
from ledger.release.report import decimal_text
from store import canonical
from store.digest import Digest
from store.errors import CheckFailed, InputError
from store.objects import ObjectStore

__all__ = ["Line", "trace"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a trace, and what hangs below it.

    Attributes:
        text: what it says.
        ok: its check mark.
        index: log index of its record; null for an object or a heading.
        digest: of the record's leaf, or of the object.
        signer: role that signed the record, and its key ids shortened.
        children: lines below it.
    """

    text: str
    ok: bool
    index: int | None = None
    digest: Digest | None = None
    signer: str = ""
    children: tuple[Line, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Line]]:
        """Every line with its depth, from the top."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def trace(ledger: Ledger | Lookup, store: ObjectStore, attempt: str) -> Line:
    """Trace one attempt.

    Args:
        ledger: a verified view.
        store: the objects beside it.
        attempt: its id, or the beginning or end of its id alone.

    Raises:
        InputError: no attempt, or several, are called so.
    """
    tracer = _Tracer(
        ledger,
        store,
        tuple(ledger.of(kinds.Withdrawal)),
        tuple(ledger.of(kinds.Release)),
        erased(ledger.of(kinds.Erasure)),
    )
    return tracer.attempt(ledger.attempt(attempt))


@dataclass(frozen=True, slots=True)
class _Tracer:
    ledger: Ledger | Lookup
    store: ObjectStore
    withdrawals: tuple[Record[kinds.Withdrawal], ...]
    releases: tuple[Record[kinds.Release], ...]
    erased: Mapping[Digest, str]

    def attempt(self, attempt: AttemptRecords) -> Line:
        """The line of an attempt, with one line below it for each step of its life."""
        body = attempt.opened.body
        lines = [
            *self._case(body.case.record),
            self._record(body.entry.record, kinds.Entry, f"entry {body.entry.id}"),
            *self._schedule(body),
            self._opened(attempt),
            *(self._artifacts(record) for record in attempt.artifacts),
            *([] if attempt.captures is None else [self._captures(attempt.captures)]),
            *(self._failure(record) for record in attempt.failures),
            *(self._evaluation(record) for record in attempt.evaluations),
            *self._closed(attempt),
            *(self._artifacts(record) for record in attempt.late),
            *self._tries(attempt),
            *self._withdrawals(attempt),
            *self._releases(attempt),
        ]
        return Line(f"attempt {attempt.id}", all(_sound(line) for line in lines), children=tuple(lines))

    def _case(self, digest: Digest) -> Iterator[Line]:
        case = self.ledger.get_as(digest, kinds.Case)
        body = case.body
        if body.source is not None:
            yield self._record(body.source, kinds.Source, "source")
        objects = [
            self._object("package: brief, evidence, starter, contract", body.package),
            self._object("probe plan", body.plan),
            self._object("sealed kit, encrypted", body.sealed.kit),
            Line("sealed commitment", ok=True, digest=body.sealed.commitment),
        ]
        yield self._line(case, f'case {body.id}@{body.version} "{body.title}"', objects)

    def _schedule(self, body: kinds.AttemptOpened) -> Iterator[Line]:
        if body.schedule is None:
            yield Line("outside any schedule", ok=True)
            return
        yield self._record(body.schedule, kinds.Schedule, "schedule")
        schedule = self.ledger.get_as(body.schedule, kinds.Schedule)
        yield self._record(schedule.body.protocol, kinds.Protocol, "protocol")
        yield self._record(schedule.body.split, kinds.Split, "split")

    def _opened(self, attempt: AttemptRecords) -> Line:
        body, place = attempt.opened.body, attempt.opened.body.environment
        limits = body.limits
        conditions = [
            Line(f"environment: {place.browser}, backend {place.backend}", ok=True, digest=place.image),
            Line(
                f"limits: {limits.seconds} s, {limits.memory} bytes of memory, {limits.cpus} thousandths of a CPU, "
                f"{limits.pids} processes, {limits.workspace} bytes of workspace",
                ok=True,
            ),
            Line(f"harness: {body.harness}", ok=True),
        ]
        what = f"opened: {body.purpose}, {body.backend}, try {body.try_} of repeat {body.repeat}"
        return self._line(attempt.opened, what, conditions)

    def _artifacts(self, record: Record[kinds.Artifacts]) -> Line:
        body = record.body
        named = [("workspace", body.workspace), ("build", body.build)]
        objects = [self._object(what, digest) for what, digest in named if digest is not None]
        objects += [self._object(f"{item.class_}: {item.name}, {item.size} bytes", item.digest) for item in body.items]
        return self._line(record, f"artifacts: {len(body.items)}", objects)

    def _captures(self, record: Record[kinds.Captures]) -> Line:
        shots = [
            Line(f"shot {shot.id}: {shot.error or 'none'}", ok=True)
            if shot.tree is None
            else self._object(f"shot {shot.id}", shot.tree)
            for shot in record.body.shots
        ]
        return self._line(record, f"captures: {len(shots)} shots", [*shots, self._object("sweep", record.body.sweep)])

    def _failure(self, record: Record[kinds.EvaluationFailed]) -> Line:
        return self._line(record, f"evaluation failed: {record.body.reason}, {record.body.detail}", [])

    def _evaluation(self, record: Record[kinds.Evaluation]) -> Line:
        verdict = record.body.verdict
        parts = [
            Line(f"{name}: {decimal_text(tally.score)}, {tally.passed} of {tally.total} checkpoints", ok=True)
            for name, tally in sorted(verdict.dimensions.items())
        ]
        parts.append(Line(f"gate: {decimal_text(verdict.gate)}", ok=True))
        parts.append(self._object("detail, encrypted", record.body.detail))
        what = f"evaluation: total {decimal_text(verdict.total)}, evaluator {record.body.evaluator.short}"
        return self._line(record, what, parts)

    def _closed(self, attempt: AttemptRecords) -> Iterator[Line]:
        closed = attempt.closed
        if closed is None:
            yield Line("never closed", ok=False)
            return
        body = closed.body
        notes = [Line(f"note: {note}", ok=True) for note in body.notes]
        if body.events is not None:
            notes.append(self._object("events", body.events))
        yield self._line(closed, f"closed: {body.outcome}, {body.reason}, after {body.milliseconds} ms", notes)

    def _tries(self, attempt: AttemptRecords) -> Iterator[Line]:
        for other in self.ledger.tries(attempt):
            again = other.opened.body.retry_of == attempt.id
            yield self._line(other.opened, f"{'tried again as' if again else 'retry of'} {other.id}", [])

    def _withdrawals(self, attempt: AttemptRecords) -> Iterator[Line]:
        for record in self.withdrawals:
            target = record.body.target
            if not self._concerns(record, attempt):
                continue
            verb = "withdrawn" if record.body.reinstates is None else "reinstated"
            named = [("expected", record.body.expected), ("observed", record.body.observed)]
            digests = [Line(what, ok=True, digest=digest) for what, digest in named if digest is not None]
            what = f"{target.kind} {verb} by {record.body.author}: {record.body.reason}, {record.body.detail}"
            yield self._line(record, what, digests)

    def _concerns(self, record: Record[kinds.Withdrawal], attempt: AttemptRecords) -> bool:
        target = record.body.target
        if target.kind == "attempt":
            return target.id == attempt.id
        return target.kind == "case" and target.record == attempt.opened.body.case.record

    def _releases(self, attempt: AttemptRecords) -> Iterator[Line]:
        gone = withdrawn(self.withdrawals)
        for release in self.releases:
            body = release.body
            if body.schedule != attempt.opened.body.schedule:
                continue
            found = self._standing(body, attempt.id)
            below: list[Line] = []
            if ("release", release.digest) in gone:
                below.append(Line("the release was withdrawn since", ok=True))
            later = [
                record
                for record in self.withdrawals
                if record.index >= body.cutoff.size and self._concerns(record, attempt)
            ]
            below += [
                self._line(record, f"since then: {'reinstated' if record.body.reinstates else 'withdrawn'}", [])
                for record in later
            ]
            yield self._line(release, f"release {body.name}: {found[0]}", below, ok=found[1])

    def _standing(self, release: kinds.Release, attempt: str) -> tuple[str, bool]:
        """What a release says of an attempt, from its own list of leaves."""
        try:
            items = parse_leaves(self.store.get(release.leaves))
        except (CheckFailed, InputError) as error:
            return f"its leaves cannot be read: {error.what}", False
        needle = canonical.dumps(attempt)
        for item in items:
            if needle in item:
                leaf: Any = canonical.loads(item)
                if leaf.get("type") == "attempt" and leaf.get("id") == attempt:
                    if leaf["outcome"] == "scored":
                        return f"counted as scored with {decimal_text(leaf['total'])}", True
                    return f"excluded because {leaf['outcome']}: {leaf['reason']}", True
        return "does not know this attempt", True

    def _record(self, digest: Digest, wanted: type[kinds.Body], text: str) -> Line:
        record = self.ledger.get_as(digest, wanted)
        name = getattr(record.body, "name", None)
        return self._line(record, f"{text} {name}" if name else text, [])

    def _object(self, text: str, digest: Digest) -> Line:
        held = self.store.has(digest)
        why = self.erased.get(digest)
        if not held and why is not None:
            return Line(f"{text}: {why}", ok=True, digest=digest)
        return Line(text if held else f"{text}: not in the store", ok=held, digest=digest)

    def _line(self, record: Record, text: str, children: Iterable[Line], *, ok: bool = True) -> Line:
        keys = ", ".join(keyid[:8] for keyid in record.keyids)
        return Line(text, ok, record.index, record.digest, f"{record.role} {keys}", tuple(children))


def _sound(line: Line) -> bool:
    return line.ok and all(_sound(child) for child in line.children)
