"""The boundary between an attempt's lifecycle and the place it runs in.

A backend makes a workspace (`produce`), builds it (`build`) and draws it (`render`); it puts what it makes into the
store and reports in plain values. It knows nothing of records, outcomes or the sealed kit. Two exist: `runners.sandbox`
(containers, the only path to a formal score) and `runners.native` (the host, for diagnosis).

    produced = backend.produce(job, observe)     # prepared, started, agent-exited, harvested
    built = backend.build(produced.workspace, contract.build, job)
    rendered = backend.render(built.output, plan, job)

Faults of the harness itself are raised as `HarnessError`; whatever a Candidate can provoke is a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cases.contract import BuildRecipe
from cases.plan import Plan
from ledger.records import kinds
from store.digest import Digest
from store.errors import HarnessError

Observe = Callable[[str, dict[str, Any]], None]
"""Called with the name of an event and its fields, as it happens."""


class BackendFailure(HarnessError):  # noqa: N818 - named for what happened, like its base
    """A fault on the harness's side. `reason` is a reason code of the outcome harness-failure."""

    def __init__(self, reason: str, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Job:
    """What one production run needs.

    Attributes:
        attempt: the attempt's id; every container, volume and process is labelled with it.
        package: tree of the public package (`brief.md`, `contract.json`, `evidence/`, `starter/`).
        agent: what acts.
        files: tree of the agent's own files, mounted read-only beside the workspace; null if it brings none.
        limits: what it may use; sizes in bytes, CPUs in thousandths, time in seconds.
    """

    attempt: str
    package: Digest
    agent: kinds.Agent
    files: Digest | None
    limits: kinds.Limits


@dataclass(frozen=True, slots=True)
class Produced:
    """What became of the Candidate's run. Every process of it is dead.

    Attributes:
        exit_code: of the agent; null when it was killed at the deadline.
        timed_out: the deadline passed, whatever a TERM handler exited with.
        memory_killed: the kernel killed something for memory.
        workspace: tree of the harvested workspace; null when `refused` says why not.
        refused: reason of a harvest that broke a cap (`harvest-limit`) or found nothing (`no-output`).
        stdout, stderr: of the agent, capped.
        notes: codes of what was noticed on the way.
        milliseconds: wall time of the agent.
    """

    exit_code: int | None
    timed_out: bool
    memory_killed: bool
    workspace: Digest | None
    refused: str | None
    stdout: bytes
    stderr: bytes
    notes: tuple[str, ...]
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Built:
    """The build's output tree, or the reason there is none (`build-failed`, `no-output`, `harvest-limit`)."""

    output: Digest | None
    reason: str | None
    log: bytes
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """The captures: one `kinds.Shot` for each shot of the plan, in its order, and the sweep's result object.

    `failed` is a reason (`render-failed`) when the render run as a whole gave nothing.
    """

    shots: tuple[kinds.Shot, ...]
    sweep: Digest
    failed: str | None
    log: bytes
    milliseconds: int


class Backend(Protocol):
    """A place where attempts run."""

    @property
    def name(self) -> kinds.Backend:
        """`docker` or `native`."""
        ...

    def environment(self) -> kinds.RenderEnvironment:
        """What draws pages here, by digest."""
        ...

    def produce(self, job: Job, observe: Observe) -> Produced:
        """Run the agent on the starter. Observes `prepared`, `started`, `agent-exited`, `harvested`."""
        ...

    def build(self, workspace: Digest, recipe: BuildRecipe, job: Job) -> Built:
        """Build a harvested workspace without network."""
        ...

    def render(self, build: Digest, plan: Plan, job: Job) -> Rendered:
        """Serve a build to the browser and capture every shot of the plan."""
        ...

    def reap(self, attempts: frozenset[str] | None = None) -> list[str]:
        """Remove what dead harnesses left behind (all, or of these attempts); returns what was removed."""
        ...
