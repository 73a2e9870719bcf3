"""What a container is to run, and what became of it: plain values, no Docker.

    RunSpec(
        image="sha256:5bd5…", argv=("python3", "/driver/render.py"), memory=2 << 30, cpus=2000, pids=512,
        mounts=(Mount(Path("/opt/rbl/driver"), "/driver"),), labels=labels("demo", "20261130T230501Z__…"),
    )
    RunResult(exit_code=0, timed_out=False, memory_killed=False, stdout=b"…", stderr=b"", …, milliseconds=912)

`runners.container` makes the one into the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from runners.owner import owner, started

__all__ = ["LABEL", "USER", "Mount", "RunResult", "RunSpec", "labels"]

LABEL: Final = "org.reconbench."
"""Prefix of every label."""
USER: Final = "10001:10001"
"""The uid and gid of everything that runs in a container."""

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Mount:
    """A file, socket or directory of the host, seen read-only at `target`."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run. Sizes in bytes, CPUs in thousandths, times in seconds.

    Attributes:
        image: a Docker image id (`sha256:…`), never a tag.
        argv: the main process; no shell looks it up.
        env: its whole environment, beside what the image sets.
        tmpfs: size of each in-memory directory, by path; world-writable.
        volumes: writable volumes, name to target.
        seccomp: a profile that replaces Docker's default one.
        cap_stdout, cap_stderr: bytes kept of each; the rest is drained and dropped.
        seconds, grace: until SIGTERM, and from there to SIGKILL.
        nofile: open files of a process.
        fsize: size of its largest file; unlimited when null.
    """

    image: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/tmp"  # noqa: S108  a path in the container
    user: str = USER
    memory: int = 1024 * _MIB
    cpus: int = 1000
    pids: int = 256
    tmpfs: Mapping[str, int] = field(default_factory=lambda: {"/tmp": 256 * _MIB, "/home": 64 * _MIB})  # noqa: S108
    mounts: tuple[Mount, ...] = ()
    volumes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    seccomp: Path | None = None
    shm: int = 64 * _MIB
    cap_stdout: int = 8 * _MIB
    cap_stderr: int = 8 * _MIB
    seconds: float = 600
    grace: float = 5
    nofile: int = 8192
    fsize: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run. Everything in it is dead.

    Attributes:
        exit_code: null when the deadline passed, whatever a TERM handler exited with.
        memory_killed: the kernel killed something in it for memory.
        stdout, stderr: up to their caps; `stdout` is empty when it went to a file.
        truncated: one of the two went beyond its cap.
        milliseconds: wall time from start to end.
    """

    exit_code: int | None
    timed_out: bool
    memory_killed: bool
    stdout: bytes
    stderr: bytes
    truncated: bool
    milliseconds: int


def labels(folder: str, attempt: str) -> dict[str, str]:
    """The labels of what belongs to an attempt of a benchmark folder, and to this process."""
    return {
        f"{LABEL}folder": folder,
        f"{LABEL}attempt": attempt,
        f"{LABEL}owner": owner(),
        f"{LABEL}started": started(),
    }
