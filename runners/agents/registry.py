"""The adapters by name.

adapter("command")       # runners.agents.command.Command
names()                  # ("command", "mock-fix", "noop", "oracle")
"""

from __future__ import annotations

from typing import Final

from runners.agents.base import Adapter
from runners.agents.command import Command
from runners.agents.noop import Noop
from runners.agents.oracle import Oracle
from store.errors import InputError

__all__ = ["adapter", "names"]

_ADAPTERS: Final[dict[str, Adapter]] = {
    "command": Command(),
    "mock-fix": Oracle(),
    "noop": Noop(),
    "oracle": Oracle(),
}


def adapter(name: str) -> Adapter:
    """The adapter of that name.

    Raises:
        InputError: there is none.
    """
    try:
        return _ADAPTERS[name]
    except KeyError as error:
        raise InputError(f"no adapter is called {name!r}", fix=f"use one of {', '.join(names())}") from error


def names() -> tuple[str, ...]:
    """Every name, sorted."""
    return tuple(sorted(_ADAPTERS))
