"""Works off a schedule: every attempt it promises and does not have yet, with the retries its protocol allows.

What is missing is read from the ledger, not from folders, so running it again continues where it stopped. Only a
`harness-failure` is tried again, as a new attempt that names the one it retries, until the protocol's `max_tries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from ledger.folder import Folder
from ledger.reader import AttemptRecords, Ledger
from ledger.records import kinds
from ledger.records.record import Record
from runners.backend import Backend
from runners.lifecycle import Slot, run_attempt
from store.digest import Digest
from store.errors import InputError

__all__ = ["Selection", "missing", "work_off"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of a schedule to work off: all of it, or one entry, one case."""

    schedule: str
    entry: str | None = None
    case: str | None = None


def missing(ledger: Ledger, selection: Selection) -> list[Slot]:
    """The slots of a schedule that have no final attempt yet, each with the try that is due.

    Raises:
        InputError: the schedule, entry or case is unknown.
    """
    schedule = ledger.schedule(selection.schedule)
    split = _body(ledger, schedule.body.split, kinds.Split)
    protocol = _body(ledger, schedule.body.protocol, kinds.Protocol).body
    entries = [_body(ledger, ref.record, kinds.Entry) for ref in schedule.body.entries]
    cases = [_body(ledger, ref.record, kinds.Case) for ref in split.body.cases]
    if selection.entry is not None and selection.entry not in {entry.body.id for entry in entries}:
        raise InputError(f"no entry {selection.entry!r} in schedule {selection.schedule}")
    if selection.case is not None and selection.case not in {case.body.id for case in cases}:
        raise InputError(f"no case {selection.case!r} in schedule {selection.schedule}")
    made = _by_slot(ledger, schedule)
    slots = []
    for repeat in range(1, schedule.body.repeats + 1):
        for case in cases:
            for entry in entries:
                if selection.entry not in {None, entry.body.id} or selection.case not in {None, case.body.id}:
                    continue
                slot = Slot(
                    schedule=schedule,
                    entry=entry,
                    case=case,
                    repeat=repeat,
                    number=1,
                    retry_of=None,
                    purpose="formal",
                    limits=_limits(case.body.limits, protocol.limits, entry.body.limits),
                )
                due = _due(slot, made.get((entry.digest.hex, case.digest.hex, repeat), []), protocol.max_tries)
                if due is not None:
                    slots.append(due)
    return slots


def work_off(
    folder: Folder,
    backend: Backend,
    slots: list[Slot],
    *,
    max_tries: int,
    workers: int = 1,
    watch: Callable[[str, str], None] = lambda _attempt, _step: None,
) -> Iterator[AttemptRecords]:
    """Run slots, retrying harness failures, and give each attempt as it closes.

    Args:
        folder: the benchmark folder.
        backend: where attempts run.
        slots: what to run, in order.
        max_tries: how often one repeat may be tried.
        workers: how many attempts at once.
        watch: told each step of each attempt.

    Raises:
        RblError: an attempt could not be opened, or stays open; those that run are waited for.
        KeyboardInterrupt: they are not; `runners.recovery` finishes them once this process is gone.
    """
    waiting = list(slots)
    running: dict[Future[str], Slot] = {}
    executor = ThreadPoolExecutor(max_workers=workers)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                slot = waiting.pop(0)
                running[executor.submit(run_attempt, folder, backend, slot, watch)] = slot
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                slot = running.pop(future)
                records = Ledger.open(folder).attempt(future.result())
                yield records
                assert records.closed is not None
                if records.closed.body.outcome == "harness-failure" and slot.number < max_tries:
                    waiting.insert(0, replace(slot, number=slot.number + 1, retry_of=records.id))
    except (KeyboardInterrupt, GeneratorExit):
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def _due(slot: Slot, made: list[AttemptRecords], max_tries: int) -> Slot | None:
    if not made:
        return slot
    last = max(made, key=lambda records: records.opened.body.try_)
    if last.closed is None or last.closed.body.outcome != "harness-failure":
        return None
    number = last.opened.body.try_ + 1
    return None if number > max_tries else replace(slot, number=number, retry_of=last.id)


def _by_slot(ledger: Ledger, schedule: Record[kinds.Schedule]) -> dict[tuple[str, str, int], list[AttemptRecords]]:
    found: dict[tuple[str, str, int], list[AttemptRecords]] = {}
    for records in ledger.attempts():
        opened = records.opened.body
        if opened.schedule == schedule.digest:
            found.setdefault((opened.entry.record.hex, opened.case.record.hex, opened.repeat), []).append(records)
    return found


def _limits(case: kinds.Limits, protocol: kinds.Limits, entry: kinds.Limits | None) -> kinds.Limits:
    given = [limits for limits in (case, protocol, entry) if limits is not None]
    return kinds.Limits(
        seconds=min(limits.seconds for limits in given),
        memory=min(limits.memory for limits in given),
        cpus=min(limits.cpus for limits in given),
        pids=min(limits.pids for limits in given),
        workspace=min(limits.workspace for limits in given),
    )


def _body(ledger: Ledger, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
    return ledger.get_as(digest, wanted)
