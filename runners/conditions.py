"""What a machine must have before an attempt may start on it: an attempt that got less would not be the same attempt.

    check(limits, Machine(cpus=2000, memory=24 << 30, disk=80 << 30))      # raises BackendFailure("preflight") if short

Limits are the case's own, capped by the protocol's and the entry's (`runners.pool`). A shortage is the harness's fault,
found before anything runs. Memory is checked for one attempt; how many fit side by side is the operator's business.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.records import kinds
from runners.backend import BackendFailure

__all__ = ["Machine", "check", "free_disk"]

DISK: Final = 1 << 30
"""Bytes that must be free for captures, archives and temporary files beside the workspace's own."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is: CPUs in thousandths, memory and free disk in bytes."""

    cpus: int
    memory: int
    disk: int


def free_disk(*folders: Path) -> int:
    """Free bytes where it is tightest: these folders and that of temporary files."""
    return min(shutil.disk_usage(folder).free for folder in (*folders, Path(tempfile.gettempdir())))


def check(limits: kinds.Limits, machine: Machine) -> None:
    """Refuse to start what the machine cannot give.

    Raises:
        BackendFailure: not enough CPUs or memory (`preflight`), or disk (`disk`).
    """
    for name, wanted, given in (("CPUs", limits.cpus, machine.cpus), ("memory", limits.memory, machine.memory)):
        if wanted > given:
            raise BackendFailure(
                "preflight",
                f"the limits give an attempt more {name} ({wanted}) than the machine has ({given})",
                fix="run it on a larger machine, or lower the protocol's limits",
            )
    if machine.disk < DISK + limits.workspace:
        raise BackendFailure("disk", f"only {machine.disk} bytes are free on the disk", fix="free some space")
