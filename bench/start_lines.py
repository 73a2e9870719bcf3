"""Starting: the wall time of `rbl --help` and of `rbl ledger status`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.generated import Generated
from bench.measure import Line, at_most, interleaved

__all__ = ["lines"]


def lines(place: Path) -> Iterator[Line]:
    """Measure, one line after another, in an empty folder."""
    made = Generated.make(place, 300)
    program = str(Path(sys.executable).parent / "rbl")

    def run(*arguments: str) -> None:
        subprocess.run([program, *arguments], check=True, capture_output=True, env=os.environ)

    seconds = interleaved(
        {
            "bare": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
            "help": lambda: run("--help"),
            "status": lambda: run("-C", str(made.folder.root), "ledger", "status"),
        },
        runs=9,
    )
    yield at_most("rbl --help", seconds["help"], 0.25, f"s; a bare interpreter takes {seconds['bare']:.3f}")
    yield at_most("rbl ledger status, 334 records", seconds["status"], 0.35, "s")
