"""What `rbl attempt` does between parsing and printing: plans a run, works it off, and puts attempts into rows.

A row is what `--json` promises: `{id, case, entry, repeat, try, outcome, reason, score, seconds, record}`, the score in
integer millionths or null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ledger.folder import Folder
from ledger.reader import AttemptRecords, Ledger
from ledger.records import kinds
from runners.backend import Backend
from runners.evaluator_process import Request, evaluator_digest, verdict
from runners.grading import weights_of
from runners.harness import working
from runners.lifecycle import Slot
from runners.pool import Selection, missing, work_off
from store.errors import Conflict, InputError, Unavailable

__all__ = ["PlannedRun", "details", "plan_run", "regrade", "row", "run_all"]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """Attempts to be made, and how often one may be tried."""

    slots: list[Slot]
    max_tries: int

    def exhausted(self, rows: list[dict[str, Any]]) -> bool:
        """The last try of a repeat ended as a harness failure."""
        last: dict[tuple[Any, ...], dict[str, Any]] = {}
        for item in rows:
            last[item["case"], item["entry"], item["repeat"]] = item
        return any(item["outcome"] == "harness-failure" for item in last.values())


def plan_run(
    folder: Folder, backend: Backend, *, schedule: str | None, entry: str | None, case: str | None, repeats: int
) -> PlannedRun:
    """Plan what `rbl attempt run` was asked for.

    Raises:
        InputError: names are missing or unknown; a schedule is asked for on a backend that cannot make formal attempts.
        Conflict: this machine's environment is not the one that the protocol froze.
    """
    ledger = Ledger.open(folder)
    if schedule is not None:
        record = ledger.schedule(schedule)
        protocol = ledger.get_as(record.body.protocol, kinds.Protocol).body
        if backend.name != protocol.environment.backend:
            raise InputError(
                f"the protocol was frozen for {protocol.environment.backend}, not {backend.name}",
                where=protocol.name,
                fix="use the backend of the protocol; only docker makes formal attempts",
            )
        if backend.environment() != protocol.environment:
            raise Conflict(
                "this machine draws pages with another environment than the protocol's",
                where=protocol.name,
                fix="run `rbl image build` with the protocol's image, or freeze a new protocol",
            )
        if evaluator_digest() != protocol.evaluator:
            raise Conflict(
                f"the evaluator here is {evaluator_digest().short}, the protocol's is {protocol.evaluator.short}",
                where=protocol.name,
                fix="install the version of rbl that the protocol was frozen with, or freeze a new protocol",
            )
        return PlannedRun(missing(ledger, Selection(schedule, entry, case)), protocol.max_tries)
    if entry is None or case is None:
        raise InputError("say what to run", fix="give --schedule, or --entry and --case for a diagnostic attempt")
    found, on = ledger.entry(entry), ledger.case(case)
    slots = [Slot(None, found, on, repeat, 1, None, "diagnostic", on.body.limits) for repeat in range(1, repeats + 1)]
    return PlannedRun(slots, 1)


def run_all(
    folder: Folder,
    backend: Backend,
    planned: PlannedRun,
    *,
    workers: int,
    say: Callable[[str], None],
    watch: Callable[[str, str], None] = lambda _attempt, _step: None,
) -> list[dict[str, Any]]:
    """Work a plan off; a line for each attempt as it closes.

    Returns:
        A row for each attempt, in the order they closed.
    """
    rows: list[dict[str, Any]] = []
    total = len(planned.slots)
    with working(folder):
        lost = [records.id for records in Ledger.open(folder).attempts() if records.closed is None]
        if lost:
            say(f"{len(lost)} attempts were left open by a dead harness: rbl attempt recover")
        if not total:
            say("nothing left to run")
        made = work_off(folder, backend, planned.slots, max_tries=planned.max_tries, workers=workers, watch=watch)
        for records in made:
            item = row(records)
            rows.append(item)
            score = "–" if item["score"] is None else f"{item['score'] / kinds.FULL:.6f}"
            say(f"[{len(rows)}/{max(total, len(rows))}] {item['id']}  {item['outcome']}  {score}  {item['seconds']} s")
            if item["outcome"] == "harness-failure" and item["detail"]:
                say(f"    {item['detail']}")
    return rows


def row(records: AttemptRecords) -> dict[str, Any]:
    """One attempt as the row that lists and runs print."""
    opened = records.opened.body
    closed = None if records.closed is None else records.closed.body
    scored = closed is not None and closed.outcome == "scored" and records.evaluation is not None
    return {
        "id": records.id,
        "case": opened.case.id,
        "entry": opened.entry.id,
        "repeat": opened.repeat,
        "try": opened.try_,
        "purpose": opened.purpose,
        "backend": opened.backend,
        "outcome": "withdrawn"
        if records.standing_withdrawal is not None
        else None
        if closed is None
        else closed.outcome,
        "reason": None if closed is None else closed.reason,
        "detail": None if closed is None else closed.detail,
        "score": records.evaluation.body.verdict.total if scored and records.evaluation is not None else None,
        "seconds": None if closed is None else round(closed.milliseconds / 1000, 1),
        "record": None if records.closed is None else str(records.closed.digest),
    }


def details(records: AttemptRecords) -> dict[str, Any]:
    """One attempt in full: its row, its dimensions, its artifacts, its records."""
    dimensions = {} if records.evaluation is None else records.evaluation.body.verdict.dimensions
    return {
        **row(records),
        "dimensions": {name: msgspec.to_builtins(tally) for name, tally in dimensions.items()},
        "artifacts": [
            {"class": item.class_, "name": item.name, "digest": str(item.digest), "size": item.size}
            for record in records.artifacts
            for item in record.body.items
        ],
        "records": [
            {"index": record.index, "kind": record.kind, "digest": str(record.digest)} for record in records.all()
        ],
    }


def regrade(folder: Folder, attempt: str) -> dict[str, Any]:
    """Grade an attempt's logged captures again and compare with the recorded verdict, byte for byte.

    Raises:
        InputError: the attempt has no verdict.
        Unavailable: its kit is not revealed, and the identity that opens it is not at hand.
    """
    ledger = Ledger.open(folder)
    records = ledger.attempt(attempt)
    if records.evaluation is None or records.captures is None:
        raise InputError("the attempt has no verdict to compare with", where=records.id)
    identity = folder.keys.identity_path
    kit = ledger.get_as(records.opened.body.case.record, kinds.Case).body.sealed.commitment
    revealed = any(record.body.kit == kit for record in ledger.of(kinds.Reveal))
    if not identity.is_file() and not revealed:
        raise Unavailable(
            "the identity that opens sealed kits is not at hand, and this kit is not revealed",
            where=str(identity),
            fix="run on the evaluator's machine, or copy it there with mode 600",
        )
    request = Request(
        attempt=records.id,
        case_leaf=ledger.leaf(ledger.get(records.opened.body.case.record).index),
        captures_leaf=ledger.leaf(records.captures.index),
        weights=weights_of(ledger, records.opened),
        after=ledger.head,
        issued_at=records.evaluation.body.issued_at,
        revealed=not identity.is_file(),
    )
    recorded = msgspec.to_builtins(records.evaluation.body.verdict, enc_hook=str)
    computed = verdict(folder, request)
    return {
        "id": records.id,
        "same": recorded == computed,
        "kit": "in clear" if request.revealed else "sealed",
        "recorded": recorded["total"],
        "computed": computed["total"],
        "recorded_evaluator": str(records.evaluation.body.evaluator),
        "evaluator": str(evaluator_digest()),
    }
