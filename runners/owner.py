"""Which process owns a container: its host, id and start time, and whether it still lives.

    owner()      "worker-3:4711"          host name, process id
    started()    "0b1c54d2.8891204"       boot id (8 digits), clock ticks from boot to start (proc(5), stat field 22)

Process ids are used again, start times within a boot are not; both together name one process. Of a process on another
host nothing can be said here, so it counts as alive.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

__all__ = ["alive", "owner", "started"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def owner(pid: int | None = None) -> str:
    """Name of a process of this host; of this one when null."""
    return f"{socket.gethostname()}:{os.getpid() if pid is None else pid}"


def started(pid: int | None = None) -> str:
    """When a process of this host started; empty when it does not live (a zombie does not)."""
    try:
        stat = Path(f"/proc/{'self' if pid is None else pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = _BOOT.read_text(encoding="ascii")[:8]
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()  # the command in brackets may hold spaces and brackets
    return "" if state in "ZX" else f"{boot}.{rest[18]}"


def alive(name: str, since: str) -> bool:
    """Whether the process that wrote this owner and start time still lives."""
    host, _, pid = name.rpartition(":")
    if host != socket.gethostname() or not pid.isdecimal():
        return bool(host)
    return bool(since) and started(int(pid)) == since
