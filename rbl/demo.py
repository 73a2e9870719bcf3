"""The demonstration: the whole loop on the bundled case, each step by the same function that its own verb calls.

Three entries run once: `oracle` (the page itself), `noop` (the starter handed back) and `sketch` (a scripted solution
that drops a section and gets a colour wrong). With the native backend everything runs on the host, for diagnosis:
attempts are recorded as such, and no release is cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from cases.bundled import SCRIPT, bundled
from cases.package import CaseFile
from cases.source import Investigation
from cases.toml import read_toml
from ledger.declarations import freeze_entry, freeze_protocol, freeze_schedule, freeze_split
from ledger.folder import Folder
from ledger.records import kinds
from ledger.release.freeze import freeze
from ledger.release.verify import verify
from rbl.runs import PlannedRun, plan_run, run_all
from rbl.workspace import create, open_backend, require_backend
from runners import curation
from runners.backend import Backend
from runners.evaluator_process import evaluator_digest
from runners.judge import EvaluatorJudge, recipient
from runners.publishing import publish_case
from store.directory import put_tree
from store.errors import CheckFailed, InputError

__all__ = ["run_demo"]

_NAME: Final = "demo"
_MIB: Final = 1024 * 1024
_LIMITS: Final = kinds.Limits(seconds=120, memory=1024 * _MIB, cpus=2000, pids=256, workspace=128 * _MIB)


def run_demo(directory: Path, backend_name: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Make a folder, a case, three attempts, a release, and verify it.

    Args:
        directory: where; must not exist, or be empty.
        backend_name: `docker` or `native`.
        say: told each step.

    Returns:
        `{workspace, release, digest, attempts, seconds}`; release and digest are null on the native backend.

    Raises:
        CheckFailed: the release does not verify, or the oracle and the starter do not score full and nothing.
    """
    began = time.monotonic()
    require_backend(backend_name)
    if backend_name == "native":
        say("native backend: everything runs on this host, for diagnosis; nothing of it is formal")
    if backend_name not in {"docker", "native"}:
        raise InputError(f"no backend {backend_name!r}", fix="use docker, or native for diagnosis")
    say(f"making a benchmark folder in {directory}")
    folder = create(directory, None)
    backend = open_backend(folder, backend_name)
    say("freezing the bundled case: capturing the page, sealing the kit")
    case = _freeze(folder, backend)
    say("verifying the case: the oracle must get everything, the starter nothing, three times")
    curation.verify_case(folder, backend, EvaluatorJudge(folder), case)
    publish_case(folder, case)
    slots = _declare(folder, backend, case)
    say("running three entries")
    rows = run_all(folder, backend, slots, workers=1, say=say)
    digest, verified = None, False
    if backend_name == "docker":
        say("cutting a release and verifying it")
        digest, verified = _release(folder)
    look = ("attempt list", f"report {_NAME}", f"release verify {_NAME}") if digest else ("attempt list",)
    say("look around: " + ", ".join(f"rbl -C {directory} {words}" for words in look))
    return {
        "workspace": str(directory),
        "release": None if digest is None else _NAME,
        "digest": digest,
        "verified": verified,
        "attempts": rows,
        "seconds": round(time.monotonic() - began, 1),
    }


def _freeze(folder: Folder, backend: Backend) -> str:
    parts = bundled()
    told = read_toml(parts.case, CaseFile)
    frozen = curation.freeze(
        folder,
        backend,
        EvaluatorJudge(folder),
        parts.source,
        told.id,
        recipient=recipient(folder),
        title=told.title,
        limits=_LIMITS,
        declared=curation.Declared(
            contract=parts.contract,
            kit=parts.kit,
            brief=parts.brief,
            starter=parts.starter,
            investigation=told.source or Investigation(lead="bundled", origin="bundled", permission="Apache-2.0"),
            notes=told.notes,
        ),
    )
    return frozen.id


def _declare(folder: Folder, backend: Backend, case: str) -> PlannedRun:
    freeze_split(folder, _NAME, [case])
    script = put_tree(folder.store, bundled().solution)
    folder.store.flush()
    agents = {
        "oracle": kinds.Agent(adapter="oracle", version="1", argv=[], files=None),
        "noop": kinds.Agent(adapter="noop", version="1", argv=[], files=None),
        "sketch": kinds.Agent(adapter="command", version="1", argv=list(SCRIPT), files=script),
    }
    for entry, agent in agents.items():
        freeze_entry(folder, entry, agent=agent)
    if backend.name == "native":
        plans = [plan_run(folder, backend, schedule=None, entry=entry, case=case, repeats=1) for entry in agents]
        return PlannedRun([slot for plan in plans for slot in plan.slots], 1)
    freeze_protocol(
        folder,
        _NAME,
        limits=_LIMITS,
        repeats=1,
        max_tries=2,
        environment=backend.environment(),
        evaluator=evaluator_digest(),
        weights={dimension: 1 for dimension in kinds.DIMENSIONS if dimension != "policy"},
    )
    freeze_schedule(folder, _NAME, split=_NAME, protocol=_NAME, entries=list(agents))
    return plan_run(folder, backend, schedule=_NAME, entry=None, case=None, repeats=1)


def _release(folder: Folder) -> tuple[str, bool]:
    """The digest of a release that was cut now, and whether it verifies.

    Raises:
        CheckFailed: it does not.
    """
    freeze(folder, _NAME, _NAME)
    found = verify(folder, _NAME)
    if not found.ok:
        raise CheckFailed("the demo's release does not verify", where="; ".join(f.rule for f in found.findings))
    return str(found.digest), found.ok
