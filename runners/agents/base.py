"""What an adapter is: how one sort of agent is started, as plain values.

    Launch(argv=("python3", "/agent/fix.py"), env={"LANG": "C.UTF-8"})

An agent finds the workspace as its current directory, the task beside it and its own files, all three at the places
that `Places` names; the last two are read-only. An adapter starts nothing itself and sees no sealed material. What it
names as `preflight` runs before the agent: if that fails, the harness has failed; after it, every exit code is the
agent's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from ledger.records import kinds

__all__ = ["SANDBOX", "Adapter", "Launch", "Places"]


@dataclass(frozen=True, slots=True)
class Places:
    """Where an agent finds things.

    Attributes:
        workspace: what it works on, its current directory: the starter at first.
        task: `brief.md`, `contract.json`, `evidence/`.
        agent: the files that it brings.
    """

    workspace: str
    task: str
    agent: str

    def move(self, text: str) -> str:
        """An argument written for the sandbox, with its paths moved to these places."""
        for old, new in (("/workspace", self.workspace), ("/task", self.task), ("/agent", self.agent)):
            if text == old or text.startswith(f"{old}/"):
                return new + text[len(old) :]
        return text


SANDBOX: Final = Places(workspace="/workspace", task="/task", agent="/agent")
"""The places in every container."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start an agent.

    Attributes:
        argv: its command; looked up along the search path.
        env: what it needs beside `HOME`, `LANG` and `PATH`.
        preflight: a command that shows that it can start (`("claude", "--version")`); empty: it need only be found.
        needs_files: it is nothing without the files that it brings.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    preflight: tuple[str, ...] = ()
    needs_files: bool = False


class Adapter(Protocol):
    """One sort of agent."""

    def launch(self, agent: kinds.Agent, places: Places = SANDBOX) -> Launch:
        """How to start this one.

        Raises:
            InputError: the entry's description of it is not usable.
        """
        ...
