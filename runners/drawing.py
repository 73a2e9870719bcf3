r"""One room for one case: builds a workspace offline, draws it by the case's plan, and reads the captures back.

    room = Room(store, backend, contract, plan, limits, "bindery")
    drawing = room.draw("reference", workspace, package)        # a curator's own material
    drawing = room.attempt("oracle", source, package)           # what an agent makes of the starter
    drawing.drawn.shots["home.desktop.initial"]["full.png"]     # b"\x89PNG…"

It is for curators: nothing is opened in the log, archived or retried, and what cannot be drawn is an error.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cases.capture import FILES
from cases.contract import Contract
from cases.plan import Plan
from cases.reconstruct.freeze import Drawn
from ledger.folder import Folder
from ledger.records import kinds
from runners.backend import Backend, Job, Rendered
from store.digest import Digest
from store.directory import load_tree
from store.errors import CheckFailed, InputError
from store.objects import ObjectStore

__all__ = ["NOWHERE", "NO_TIME", "Drawing", "Room"]

NOOP: Final = kinds.Agent(adapter="noop", version="1", argv=[], files=None)

_NO_DAY: Final = "20000101T000000Z"
NO_TIME: Final = "2000-01-01T00:00:00Z"
NOWHERE: Final = kinds.Head(size=1, root=Digest.of(b""))
"""Drafts are judged and thrown away: what they say of place and time is a constant."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A build, drawn."""

    output: Digest
    rendered: Rendered
    drawn: Drawn


@dataclass(frozen=True, slots=True)
class Room:
    """Builds and draws for one case."""

    store: ObjectStore
    backend: Backend
    contract: Contract
    plan: Plan
    limits: kinds.Limits
    case: str

    def draw(self, what: str, workspace: Digest, package: Digest) -> Drawing:
        """Build and draw a workspace.

        Raises:
            InputError: it does not build, or has no `index.html`.
            CheckFailed: it cannot be drawn at all.
        """
        return self._finish(what, workspace, self._job(what, package, NOOP))

    def attempt(self, agent: str, files: Digest | None, package: Digest) -> Drawing:
        """Have an agent make a workspace, then build and draw it. Raises as `draw`."""
        job = self._job(agent, package, kinds.Agent(adapter=agent, version="1", argv=[], files=files))
        produced = self.backend.produce(job, lambda _name, _fields: None)
        if produced.workspace is None or produced.timed_out:
            reason = "it ran out of time" if produced.timed_out else produced.refused
            raise CheckFailed(f"the {agent} made no workspace: {reason}", where=self.case)
        return self._finish(agent, produced.workspace, job)

    def _finish(self, what: str, workspace: Digest, job: Job) -> Drawing:
        built = self.backend.build(workspace, self.contract.build, job)
        if built.output is None:
            said = built.log[-1000:].decode("utf-8", "replace").strip()
            raise InputError(
                f"the {what} does not build ({built.reason}): {said}", where=self.case, fix="mend its build"
            )
        if load_tree(self.store, built.output).get("index.html") is None:
            raise InputError(f"no index.html in the {what}'s site", where=self.case, fix="add index.html")
        rendered = self.backend.render(built.output, self.plan, job)
        if rendered.failed is not None:
            said = rendered.log[-1000:].decode("utf-8", "replace").strip()
            raise CheckFailed(f"the {what} cannot be drawn ({rendered.failed}): {said}", where=self.case)
        shots = {shot.id: _capture_files(self.store, shot.tree) for shot in rendered.shots if shot.tree is not None}
        return Drawing(built.output, rendered, Drawn(shots, self.store.get(rendered.sweep)))

    def captures(self, folder: Folder, drawing: Drawing) -> kinds.Captures:
        """A draft of the record that would announce a drawing."""
        return kinds.Captures(
            ledger=folder.config.origin,
            after=NOWHERE,
            issued_at=NO_TIME,
            chain=kinds.Chain(attempt=f"{_NO_DAY}__{self.case}__check__r01__00000000", seq=2, prev=drawing.output),
            build=drawing.output,
            plan=Digest.of(self.plan.format()),
            environment=self.backend.environment(),
            shots=list(drawing.rendered.shots),
            sweep=drawing.rendered.sweep,
        )

    def _job(self, what: str, package: Digest, agent: kinds.Agent) -> Job:
        name = f"{_NO_DAY}__{self.case}__{what}__r01__{secrets.token_hex(4)}"
        return Job(name, package, agent, agent.files, self.limits)


def _capture_files(store: ObjectStore, tree: Digest) -> Mapping[str, bytes]:
    entries = {entry.path: entry.digest for entry in load_tree(store, tree)}
    return {name: store.get(digest) for name, digest in entries.items() if name in FILES and digest is not None}
