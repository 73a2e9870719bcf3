"""Cases of our own making that come with the package: for the demo, the tests and as examples for authors.

    bundled/bindery/
        case.toml brief.md contract.json     the public half, but for the evidence, which freezing draws
        kit.toml                             what it is judged by; public here, because the demo is
        source/                              the authoritative workspace; `python3 build.py` makes its `dist/`
        starter/                             where a Candidate begins
        solution/                            `run.py`, a scripted agent that does most of it

Nothing here is frozen: `runners.curation.freeze_authored` makes a case of it in a benchmark folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from store.errors import InputError, Unavailable

__all__ = ["NAMES", "SCRIPT", "BundledCase", "bundled", "sketch"]

NAMES: Final = ("bindery",)
"""Every bundled case."""

SCRIPT: Final = ("python3", "/agent/run.py")
"""Argument vector of the scripted agent, whose files are `BundledCase.solution`."""


@dataclass(frozen=True, slots=True)
class BundledCase:
    """Where the parts of a bundled case lie. `root` holds the other files by their names."""

    root: Path

    @property
    def case(self) -> Path:
        """`case.toml`."""
        return self.root / "case.toml"

    @property
    def brief(self) -> Path:
        """`brief.md`."""
        return self.root / "brief.md"

    @property
    def contract(self) -> Path:
        """`contract.json`."""
        return self.root / "contract.json"

    @property
    def kit(self) -> Path:
        """`kit.toml`."""
        return self.root / "kit.toml"

    @property
    def source(self) -> Path:
        """The authoritative workspace."""
        return self.root / "source"

    @property
    def starter(self) -> Path:
        """Where a Candidate begins."""
        return self.root / "starter"

    @property
    def solution(self) -> Path:
        """Files of the scripted agent."""
        return self.root / "solution"


def bundled(name: str = NAMES[0]) -> BundledCase:
    """The bundled case of that name.

    Raises:
        InputError: there is none.
        Unavailable: the package was installed as an archive that is not unpacked.
    """
    if name not in NAMES:
        raise InputError(f"no bundled case is called {name!r}", fix=f"use one of {', '.join(NAMES)}")
    place = files(__name__) / name
    if not isinstance(place, Path):
        raise Unavailable(
            "the bundled cases are inside an archive", where=str(place), fix="install the package unpacked"
        )
    return BundledCase(place)


def sketch(name: str = NAMES[0]) -> Path:
    """Files of the scripted agent that does most of a bundled case, started by `SCRIPT`. Raises as `bundled`."""
    return bundled(name).solution
