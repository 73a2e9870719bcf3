"""What both backends say of a production run, and how an agent is started so that its exit codes are its own.

    sh -c '… && echo "rbl: agent starts" && exec python3 /agent/fix.py </dev/null'

A shell is the first process: it makes sure that the agent can start, writes a mark as the first line of its output, and
becomes the agent. What did not write the mark never ran agent code beyond its preflight, so the fault is the
harness's (`preflight`); after the mark every exit code is the agent's, 126 and 127 included.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from runners.agents.base import Launch
from runners.backend import BackendFailure, Job, Observe, Produced
from runners.harvest import Harvest
from runners.runspec import RunResult
from store.digest import Digest
from store.errors import RblError

__all__ = ["CAP", "GRACE", "agent_result", "faults", "finish", "guarded"]

CAP: Final = 8 << 20
"""Bytes kept of each output of an agent."""
GRACE: Final = 5
"""Seconds between SIGTERM and SIGKILL."""

_MARK: Final = "rbl: agent starts"
_REPORTED: Final = 100  # rejected entries that get an event of their own
_FOUND: Final = 'p=$(command -v {0}) && case $p in */*) [ -f "$p" ] && [ -x "$p" ] ;; esac'


def guarded(launch: Launch, job: Job) -> tuple[str, ...]:
    """The argument vector that starts an agent behind its preflight.

    Raises:
        BackendFailure: it needs files and brings none (`preflight`).
    """
    if launch.needs_files and job.files is None:
        raise BackendFailure(
            "preflight", f"the agent {job.agent.adapter} brings no files", fix="give the entry its files"
        )
    check = shlex.join(launch.preflight) if launch.preflight else _FOUND.format(shlex.quote(launch.argv[0]))
    return (
        "/bin/sh",
        "-c",
        f"{{ {check}; }} >/dev/null </dev/null && echo '{_MARK}' && exec {shlex.join(launch.argv)} </dev/null",
    )


def agent_result(result: RunResult, launch: Launch, observe: Observe) -> RunResult:
    """What the agent itself did, without the mark; reported as it ended.

    Raises:
        BackendFailure: it never started (`preflight`).
    """
    mark = f"{_MARK}\n".encode()
    if not result.stdout.startswith(mark):
        said = (result.stderr or result.stdout)[-500:].decode("utf-8", "replace").strip()
        raise BackendFailure(
            "preflight",
            f"the agent cannot start (exit code {result.exit_code}) {said}".strip(),
            where=shlex.join(launch.preflight or launch.argv),
            fix="see that the image or the agent's files hold what its argument vector names",
        )
    if result.timed_out:
        observe("limit.time", {"milliseconds": result.milliseconds})
    if result.memory_killed:
        observe("limit.memory", {})
    if result.truncated:
        observe("limit.output", {"bytes": CAP})
    observe("agent.exited", {"exit_code": result.exit_code, "milliseconds": result.milliseconds})
    observe("agent-exited", {})
    return replace(result, stdout=result.stdout[len(mark) :])


def finish(result: RunResult, taken: Harvest, tree: Digest | None, observe: Observe) -> Produced:
    """Report what was harvested, and say what became of the run."""
    for rejected in taken.rejected[:_REPORTED]:
        observe("harvest.rejected", {"path": rejected.path, "rule": rejected.rule})
    if taken.refused is not None:
        observe("harvest.refused", {"reason": taken.refused, "detail": taken.detail})
    observe("harvested", {})
    noticed = {
        "exit-nonzero": bool(result.exit_code),
        "memory-kill": result.memory_killed,
        "output-truncated": result.truncated,
        "harvest-rejected": bool(taken.rejected),
    }
    return Produced(
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        memory_killed=result.memory_killed,
        workspace=tree,
        refused=taken.refused,
        stdout=result.stdout,
        stderr=result.stderr,
        notes=tuple(code for code, seen in noticed.items() if seen),
        milliseconds=result.milliseconds,
    )


@contextmanager
def faults(reason: str) -> Iterator[None]:
    """Make every error of this project inside the block the harness's fault, with this reason.

    Raises:
        BackendFailure: in place of any other `RblError`.
    """
    try:
        yield
    except BackendFailure:
        raise
    except RblError as error:
        raise BackendFailure(reason, error.what, where=error.where, fix=error.fix) from error
