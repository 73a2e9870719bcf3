"""One attempt, from its reservation in the log to its closing.

    reserved → prepared → started → agent-exited → harvested → built → rendered
             → archived → logged → evaluated → closed → cleaned

`reserved` means that the `attempt-opened` record stands in a signed checkpoint: nothing starts before. Captures are in
the log before the evaluator is asked, so nobody can see a score and then lose the run. Any fault has a place in this
line: what a Candidate can provoke becomes `timeout`, `ungradeable` or a score; only harness-side evidence becomes
`harness-failure`, and only that may be retried, as a new attempt. A harness killed between any two steps leaves either
a whole archive, which `runners.recovery` logs and has evaluated, or none, which it closes.
"""

from __future__ import annotations

import errno
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final

from cases.contract import Contract
from cases.plan import Plan
from ledger.announce import announce
from ledger.folder import Folder
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from runners import events
from runners.archive import Archive, Manifest
from runners.backend import Backend, BackendFailure, Built, Job, Produced, Rendered
from runners.control import control_fails
from runners.difference import difference
from runners.grading import close, grade, log_archive
from runners.outcome import decide
from store.digest import Digest
from store.directory import load_tree
from store.errors import HarnessError, InputError, RblError, Unavailable

__all__ = ["STEPS", "Slot", "attempt_id", "close_failed", "finish_attempt", "run_attempt"]

STEPS: Final = (
    "reserved",
    "prepared",
    "started",
    "agent-exited",
    "harvested",
    "built",
    "rendered",
    "archived",
    "logged",
    "evaluated",
    "closed",
    "cleaned",
)
"""The steps of an attempt, in order."""

Watch = Callable[[str, str], None]
"""Called with an attempt's id and the step that it has just done."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One attempt to be made.

    Attributes:
        schedule: the record it belongs to; null for a diagnostic attempt outside any.
        entry, case: what runs on what.
        repeat: from 1.
        number: which try of this repeat, from 1.
        retry_of: id of the attempt that this one retries.
        purpose: only `formal` attempts count.
        limits: what it may use.
    """

    schedule: Record[kinds.Schedule] | None
    entry: Record[kinds.Entry]
    case: Record[kinds.Case]
    repeat: int
    number: int
    retry_of: str | None
    purpose: kinds.Purpose
    limits: kinds.Limits


def attempt_id(slot: Slot) -> str:
    """A new id: `20261130T230501Z__<case>__<entry>__r03__<8 hex>`."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{now}__{slot.case.body.id}__{slot.entry.body.id}__r{slot.repeat:02}__{secrets.token_hex(4)}"


def run_attempt(folder: Folder, backend: Backend, slot: Slot, watch: Watch = lambda _attempt, _step: None) -> str:
    """Make one attempt and leave it closed.

    Args:
        folder: the benchmark folder, with the runner's, the log's and the evaluator's keys at hand.
        backend: where it runs.
        slot: what to run.
        watch: told each step once it is done.

    Returns:
        The attempt's id; its closing is in the log.

    Raises:
        RblError: it could not be opened at all. Once it is open, faults become its outcome.
    """
    attempt = attempt_id(slot)
    archive = Archive(folder.attempts, attempt)
    environment = backend.environment()
    opened = announce(
        folder,
        "runner",
        lambda stamp: kinds.AttemptOpened(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            chain=kinds.Chain(attempt=attempt, seq=0, prev=None),
            schedule=None if slot.schedule is None else slot.schedule.digest,
            entry=kinds.Ref(id=slot.entry.body.id, record=slot.entry.digest),
            case=kinds.CaseRef(id=slot.case.body.id, version=slot.case.body.version, record=slot.case.digest),
            repeat=slot.repeat,
            try_=slot.number,
            retry_of=slot.retry_of,
            purpose=slot.purpose,
            backend=backend.name,
            limits=slot.limits,
            environment=environment,
            harness=f"rbl {metadata.version('reconbench-ledger')}",
        ),
    )
    archive.begin()
    with events.EventLog(archive.events) as log:

        def done(step: str) -> None:
            log.write(events.STEP, {"name": step})
            watch(attempt, step)

        log.write("run.started", {"attempt": attempt, "record": str(opened.digest)})
        done("reserved")
        try:
            manifest = _make(folder, backend, slot, attempt, log, done)
            archive.finish(manifest)
            done("archived")
            finish_attempt(folder, opened, archive, log, done)
        except (RblError, OSError) as failure:
            close_failed(folder, opened, archive, failure)
            done("closed")
    backend.reap(frozenset({attempt}))
    watch(attempt, "cleaned")
    return attempt


def finish_attempt(
    folder: Folder,
    opened: Record[kinds.AttemptOpened],
    archive: Archive,
    log: events.EventLog,
    done: Callable[[str], None],
) -> None:
    """From a whole archive to a closing: log it, have it judged, close. Continues where an earlier run stopped."""
    manifest = archive.manifest()
    log_archive(folder, opened, manifest)
    done("logged")
    evaluation = None
    outcome, reason, detail = manifest.decision.outcome, manifest.decision.reason, ""
    if outcome is None:
        log.write("verify.started")
        evaluation = grade(folder, opened)
        log.write("verify.finished", {"record": str(evaluation.digest)})
        if isinstance(evaluation.body, kinds.EvaluationFailed):
            outcome, reason, detail = "harness-failure", "evaluator", evaluation.body.detail
        else:
            outcome = "scored"
        done("evaluated")
    log.write("run.finished", {"outcome": outcome})
    close(
        folder,
        opened,
        outcome,
        reason,
        detail=detail,
        archive=archive,
        evaluation=evaluation.digest if outcome == "scored" and evaluation is not None else None,
    )
    done("closed")


def close_failed(
    folder: Folder, opened: Record[kinds.AttemptOpened], archive: Archive, failure: RblError | OSError
) -> None:
    """Close an attempt as a harness failure, on harness-side evidence.

    Raises:
        HarnessError: its captures are in the log, so that only the evaluator's own word can end it; it stays open.
    """
    if Ledger.open(folder).attempt(opened.body.chain.attempt).captures is not None:
        raise HarnessError(
            f"the captures are logged and there is no verdict: {failure}",
            where=opened.body.chain.attempt,
            fix="mend that, then `rbl attempt recover` has it judged",
        ) from failure
    reason, detail = _fault(failure)
    close(folder, opened, "harness-failure", reason, detail=detail, archive=archive)


def _make(
    folder: Folder, backend: Backend, slot: Slot, attempt: str, log: events.EventLog, done: Callable[[str], None]
) -> Manifest:
    """Produce, build and render; everything made is in the store, durable, when this returns."""
    began = time.monotonic()
    case = slot.case.body
    job = Job(attempt, case.package, slot.entry.body.agent, _agent_files(folder, slot), slot.limits)
    store = folder.store

    def observe(name: str, fields: dict[str, Any]) -> None:
        if name in STEPS:
            done(name)
        else:
            log.write(name, fields)

    produced = backend.produce(job, observe)
    contract = Contract.parse(store.get(case.contract))
    built: Built | None = None
    rendered: Rendered | None = None
    if produced.workspace is not None and not produced.timed_out:
        built = backend.build(produced.workspace, contract.build, job)
        log.write("build.finished", {"reason": built.reason})
        done("built")
    if built is not None and built.output is not None:
        rendered = backend.render(built.output, Plan.parse(store.get(case.plan)), job)
        if rendered.failed is not None and control_fails(store, backend, job):
            raise BackendFailure("render-control", "the render room failed on a control page too")
        log.write("render.finished", {"failed": rendered.failed, "shots": len(rendered.shots)})
        done("rendered")
    artifacts = _artifacts(folder, case, produced, built, rendered)
    store.flush()
    return Manifest(
        attempt=attempt,
        decision=decide(produced, built, rendered),
        workspace=produced.workspace,
        build=None if built is None else built.output,
        shots=() if rendered is None else rendered.shots,
        sweep=None if rendered is None else rendered.sweep,
        artifacts=artifacts,
        milliseconds=int((time.monotonic() - began) * 1000),
    )


def _agent_files(folder: Folder, slot: Slot) -> Digest | None:
    """The files an agent brings. The oracle brings the authoritative material, which only curators hold."""
    agent = slot.entry.body.agent
    if agent.adapter not in {"oracle", "mock-fix"}:
        return agent.files
    if slot.case.body.source is None:
        raise InputError("the oracle needs a source record", where=slot.case.body.id, fix="publish the case's source")
    source = Ledger.open(folder).get(slot.case.body.source)
    assert isinstance(source.body, kinds.Source)
    return source.body.artifact


def _artifacts(
    folder: Folder, case: kinds.Case, produced: Produced, built: Built | None, rendered: Rendered | None
) -> tuple[kinds.Artifact, ...]:
    store = folder.store
    items: list[kinds.Artifact] = []

    def keep(name: str, class_: kinds.ArtifactClass, media_type: str, digest: Digest) -> None:
        items.append(
            kinds.Artifact(name=name, class_=class_, media_type=media_type, digest=digest, size=store.size(digest))
        )

    tree = "application/vnd.rbl.tree.v1+json"
    if produced.workspace is not None:
        keep("workspace", "workspace", tree, produced.workspace)
        changes = difference(store, load_tree(store, case.starter), load_tree(store, produced.workspace))
        keep("changes.diff", "diff", "text/x-diff", store.put_bytes(changes))
    keep("agent.stdout", "log", "text/plain", store.put_bytes(produced.stdout))
    keep("agent.stderr", "log", "text/plain", store.put_bytes(produced.stderr))
    if built is not None:
        keep("build.log", "log", "text/plain", store.put_bytes(built.log))
        if built.output is not None:
            keep("build", "build-output", tree, built.output)
    if rendered is not None:
        keep("render.log", "log", "text/plain", store.put_bytes(rendered.log))
    return tuple(items)


def _fault(failure: RblError | OSError) -> tuple[str, str]:
    """Reason code and detail of a fault on the harness's side."""
    if isinstance(failure, BackendFailure):
        return failure.reason, str(failure)
    if isinstance(failure, OSError) and failure.errno in {errno.ENOSPC, errno.EIO, errno.EDQUOT}:
        return "disk", str(failure)
    return ("preflight" if isinstance(failure, InputError | Unavailable) else "engine"), str(failure)
