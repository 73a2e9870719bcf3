"""What to do about attempts that a dead harness left open.

A whole archive is logged, judged and closed as if nothing had happened; an attempt without one is closed as
`harness-failure`, reason `lost`, naming the last step that its event log shows. Then everything of it that still lives
(containers, volumes, processes) is removed. An agent is never resumed. Run twice, it does nothing the second time.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from ledger.folder import Folder
from ledger.reader import Ledger
from runners import events
from runners.archive import Archive
from runners.backend import Backend, BackendFailure
from runners.grading import close
from runners.harness import working
from runners.lifecycle import close_failed, finish_attempt

__all__ = ["Recovered", "recover"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """One attempt that was open.

    Attributes:
        attempt: its id.
        outcome: what it was closed with.
        reason: the reason code.
        last_step: the last step that was done before its harness died.
    """

    attempt: str
    outcome: str
    reason: str
    last_step: str


def recover(folder: Folder, backend: Backend) -> tuple[list[Recovered], list[str]]:
    """Close every open attempt of a folder and remove what its harness left behind.

    Returns:
        The attempts that were open, and the names of the leftovers that were removed.

    Raises:
        Conflict: a harness works on the folder: its attempts are not lost.
    """
    with working(folder):
        return _recover(folder, backend)


def _recover(folder: Folder, backend: Backend) -> tuple[list[Recovered], list[str]]:
    open_attempts = [attempt for attempt in Ledger.open(folder).attempts() if attempt.closed is None]
    removed = backend.reap(None)
    found = []
    for records in open_attempts:
        archive = Archive(folder.attempts, records.id)
        step = events.last_step(archive.events)
        if archive.whole:
            with events.EventLog(archive.events) as log:
                log.write("recovered")
                try:
                    finish_attempt(
                        folder, records.opened, archive, log, lambda name: log.write(events.STEP, {"name": name})
                    )
                except BackendFailure as failure:
                    close_failed(folder, records.opened, archive, failure)
        else:
            detail = f"the harness died after the step {step}"
            close(folder, records.opened, "harness-failure", "lost", detail=detail, archive=archive)
        closed = Ledger.open(folder).attempt(records.id).closed
        assert closed is not None
        found.append(Recovered(records.id, closed.body.outcome, closed.body.reason, step))
    for partial in folder.attempts.glob(".*.partial"):
        shutil.move(partial, folder.attempts / partial.name.removeprefix(".").replace(".partial", ".lost"))
    return found, removed
