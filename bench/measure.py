"""Measures things side by side: every subject once, then every subject again, five times or more; medians are compared.

    seconds = interleaved({"ours": put, "theirs": copy})      # {"ours": 0.21, "theirs": 0.55}
    line = at_most("store put", seconds["ours"] / seconds["theirs"], 0.5, "× openssl dgst + cp -r + sync")
    print(line)       # store put      0.38   goal ≤ 0.5   met       × openssl dgst + cp -r + sync

Wall time, unless a line says otherwise. Nothing is asserted: a line says what was measured, the goal, and whether it
was met on this machine.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["RUNS", "Line", "at_least", "at_most", "interleaved", "machine", "once", "skipped"]

RUNS: Final = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement beside its goal.

    Attributes:
        name: what was measured.
        value: the measurement; None where it could not be made.
        goal: what it should be; None where there is no goal.
        above: whether the goal is a least value, not a greatest.
        unit: of value and goal, and what they are set against.
    """

    name: str
    value: float | None
    goal: float | None
    above: bool
    unit: str

    @property
    def met(self) -> bool | None:
        """Whether the goal was met; None where nothing can be said."""
        if self.value is None or self.goal is None:
            return None
        return self.value >= self.goal if self.above else self.value <= self.goal

    def __str__(self) -> str:
        value = "-" if self.value is None else f"{self.value:,.4g}" if self.value < 1000 else f"{self.value:,.0f}"  # noqa: PLR2004
        goal = "" if self.goal is None else f"goal {'≥' if self.above else '≤'} {self.goal:,g}"
        verdict = {True: "met", False: "not met", None: ""}[self.met]
        return f"{self.name:<44} {value:>10}   {goal:<16} {verdict:<8} {self.unit}"

    def document(self) -> dict[str, Any]:
        """The line for the JSON file."""
        return {"name": self.name, "value": self.value, "goal": self.goal, "unit": self.unit, "met": self.met}


def at_most(name: str, value: float, goal: float | None, unit: str) -> Line:
    """A line whose goal is a greatest value."""
    return Line(name, value, goal, above=False, unit=unit)


def at_least(name: str, value: float, goal: float | None, unit: str) -> Line:
    """A line whose goal is a least value."""
    return Line(name, value, goal, above=True, unit=unit)


def skipped(name: str, why: str) -> Line:
    """A line that says why there is no measurement."""
    return Line(name, None, None, above=False, unit=why)


def interleaved(
    subjects: Mapping[str, Callable[[], object]], runs: int = RUNS, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median seconds of each subject.

    Args:
        subjects: what is called, by name; what a call needs is made beforehand.
        runs: how often each is called.
        clock: wall time, or `time.process_time`.
    """
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(runs):
        for name, call in subjects.items():
            start = clock()
            call()
            taken[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def once(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds of one call."""
    start = clock()
    call()
    return clock() - start


def machine() -> dict[str, Any]:
    """What it was measured on."""
    model = platform.processor() or "unknown"
    info = Path("/proc/cpuinfo")
    if info.is_file():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }
