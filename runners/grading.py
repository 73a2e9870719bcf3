"""From an attempt's archive to its records: `artifacts`, `captures`, the evaluator's verdict, the closing.

Each function first looks in the ledger for what it would append and returns that: recovery can call them again at any
point and makes no second record. Runner's records of one attempt form a chain (`seq`, `prev`).
"""

from __future__ import annotations

from ledger.announce import Stamp, announce, append
from ledger.folder import Folder
from ledger.reader import AttemptRecords, Ledger
from ledger.records import kinds
from ledger.records.record import Record
from runners import evaluator_process
from runners.archive import Archive, Manifest
from runners.events import last_step
from store.digest import Digest
from store.errors import HarnessError

__all__ = ["close", "grade", "log_archive", "weights_of"]


def log_archive(folder: Folder, opened: Record[kinds.AttemptOpened], manifest: Manifest) -> None:
    """Append what an attempt made and, where it was rendered, what it looked like. Nothing twice."""
    known = _records(folder, opened)
    if not known.artifacts:
        items = [*manifest.artifacts, _manifest_artifact(folder, manifest)]
        announce(
            folder,
            "runner",
            lambda stamp: kinds.Artifacts(
                ledger=stamp.ledger,
                after=stamp.after,
                issued_at=stamp.issued_at,
                chain=_next(known),
                workspace=manifest.workspace,
                build=manifest.build,
                items=items,
            ),
        )
        known = _records(folder, opened)
    if manifest.decision.outcome is None and known.captures is None:
        case = Ledger.open(folder).get(opened.body.case.record)
        assert isinstance(case.body, kinds.Case)
        plan = case.body.plan
        build, sweep = manifest.build, manifest.sweep
        assert build is not None
        assert sweep is not None
        announce(
            folder,
            "runner",
            lambda stamp: kinds.Captures(
                ledger=stamp.ledger,
                after=stamp.after,
                issued_at=stamp.issued_at,
                chain=_next(known),
                build=build,
                plan=plan,
                environment=opened.body.environment,
                shots=list(manifest.shots),
                sweep=sweep,
            ),
        )


def grade(
    folder: Folder, opened: Record[kinds.AttemptOpened]
) -> Record[kinds.Evaluation] | Record[kinds.EvaluationFailed]:
    """Have the logged captures judged; the evaluator's own record is appended and returned.

    Raises:
        BackendFailure: reason `evaluator`, when there is no record.
    """
    known = _records(folder, opened)
    if known.evaluation is not None:
        return known.evaluation
    if known.failures:
        return known.failures[-1]
    assert known.captures is not None
    ledger = Ledger.open(folder)
    request = evaluator_process.Request(
        attempt=opened.body.chain.attempt,
        case_leaf=ledger.leaf(ledger.get(opened.body.case.record).index),
        captures_leaf=ledger.leaf(known.captures.index),
        weights=weights_of(ledger, opened),
        after=ledger.head,
        issued_at=Stamp.now(folder).issued_at,
    )
    record = append(folder, evaluator_process.evaluate(folder, request))
    if not isinstance(record.body, kinds.Evaluation | kinds.EvaluationFailed):
        raise HarnessError("the evaluator signed something that is no verdict", where=str(record.digest))
    return record


def close(
    folder: Folder,
    opened: Record[kinds.AttemptOpened],
    outcome: kinds.Outcome,
    reason: str,
    *,
    detail: str,
    archive: Archive,
    evaluation: Digest | None = None,
) -> Record[kinds.AttemptClosed]:
    """Append the one closing of an attempt, or return the one there is."""
    known = _records(folder, opened)
    if known.closed is not None:
        return known.closed
    manifest = archive.manifest() if archive.whole else None
    events = folder.store.put_file(archive.events) if archive.events.exists() else None
    folder.store.flush()
    step = last_step(archive.events)
    return announce(
        folder,
        "runner",
        lambda stamp: kinds.AttemptClosed(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            chain=_next(known),
            outcome=outcome,
            reason=reason,
            detail=detail[:4000],
            last_step=step,
            notes=[] if manifest is None else list(manifest.decision.notes),
            evaluation=evaluation,
            milliseconds=0 if manifest is None else manifest.milliseconds,
            events=events,
        ),
    )


def weights_of(ledger: Ledger, opened: Record[kinds.AttemptOpened]) -> dict[str, int]:
    """The public dimension weights of an attempt: its protocol's, equal ones outside any schedule."""
    if opened.body.schedule is None:
        case = ledger.get(opened.body.case.record)
        assert isinstance(case.body, kinds.Case)
        return {dimension: 1 for dimension in case.body.dimensions if dimension != "policy"}
    schedule = ledger.get(opened.body.schedule)
    assert isinstance(schedule.body, kinds.Schedule)
    protocol = ledger.get(schedule.body.protocol)
    assert isinstance(protocol.body, kinds.Protocol)
    return protocol.body.weights


def _records(folder: Folder, opened: Record[kinds.AttemptOpened]) -> AttemptRecords:
    return Ledger.open(folder).attempt(opened.body.chain.attempt)


def _next(known: AttemptRecords) -> kinds.Chain:
    last = max(
        (record for record in (known.opened, *known.artifacts, known.captures, known.closed) if record is not None),
        key=lambda record: record.body.chain.seq,
    )
    return kinds.Chain(attempt=known.id, seq=last.body.chain.seq + 1, prev=last.digest)


def _manifest_artifact(folder: Folder, manifest: Manifest) -> kinds.Artifact:
    data = manifest.format()
    digest = folder.store.put_bytes(data)
    folder.store.flush()
    return kinds.Artifact(
        name="manifest.json",
        class_="manifest",
        media_type="application/vnd.rbl.attempt-manifest.v1+json",
        digest=digest,
        size=len(data),
    )
