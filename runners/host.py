"""Processes of the host, for diagnosis: one run, its limits, and the end of everything that it started.

    run_here(HostSpec(argv=("python3", "fix.py"), cwd=Path("/tmp/w"), env={"PATH": "/usr/bin:/bin"}, seconds=60))

Limits on memory, file size, open files and core dumps are the shell's (`ulimit`), each for one process and not for all
together. A run is a session of its own and carries a random mark in its environment: at its end whatever belongs to
the session or carries the mark is killed. A process that leaves the session *and* clears its environment escapes:
only a container is a wall. Nothing here is used for a formal attempt.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Final

from runners.attach import Capped, Feeder
from runners.backend import BackendFailure
from runners.runspec import RunResult

__all__ = ["HostSpec", "run_here"]

_MARK: Final = "RBL_NATIVE_RUN"
_LIMITS: Final = 'ulimit -c 0; ulimit -n "$1"; ulimit -d "$2"; ulimit -f "$3"; shift 3; exec "$@"'
_SWEEPS: Final = 1000
_CHUNK: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class HostSpec:
    """One run. Sizes in bytes, times in seconds.

    Attributes:
        env: the whole environment.
        memory: data of one process; the memory that Chromium and V8 only reserve does not count.
        fsize: the largest file.
        cap_stdout, cap_stderr: bytes kept of each.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    memory: int = 4 << 30
    fsize: int = 1 << 30
    nofile: int = 1024
    cap_stdout: int = 8 << 20
    cap_stderr: int = 8 << 20
    seconds: float = 600
    grace: float = 5
    tags: Mapping[str, str] = field(default_factory=dict)


def run_here(
    spec: HostSpec,
    *,
    stdin: Iterable[bytes] | None = None,
    stdout: BinaryIO | None = None,
    started: Callable[[str], None] | None = None,
) -> RunResult:
    """Run to the end or the deadline; as `Engine.run`, on the host.

    Raises:
        BackendFailure: the process cannot be started, or something of it cannot be killed (`engine`); `disk`.
    """
    mark = secrets.token_hex(8)
    limits = (str(spec.nofile), str(spec.memory // 1024), str(spec.fsize // 512))  # units of dash's ulimit
    out, err = Capped(spec.cap_stdout, stdout), Capped(spec.cap_stderr)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            try:
                process = subprocess.Popen(
                    ["/bin/sh", "-c", _LIMITS, "sh", *limits, *spec.argv],
                    cwd=spec.cwd,
                    env={**spec.env, _MARK: mark},
                    stdin=subprocess.DEVNULL if stdin is None else theirs.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise BackendFailure("engine", f"a process cannot be started: {error}") from error
        with process, Feeder(ours, stdin) as feeder:
            begin = time.monotonic()
            try:
                if started is not None:
                    started(str(process.pid))
                feeder.start()
                timed_out = not _read(process, out, err, begin + spec.seconds)
                if timed_out:
                    for pid in list(_members(process.pid, mark)):
                        _kill(pid, signal.SIGTERM)
                    _read(process, out, err, time.monotonic() + spec.grace)
            finally:
                _end(process, mark)
            process.wait()
            milliseconds = round((time.monotonic() - begin) * 1000)
            _drain(process, out, err)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return RunResult(
        exit_code=None if timed_out else code,
        timed_out=timed_out,
        memory_killed=False,
        stdout=out.kept,
        stderr=err.kept,
        truncated=out.truncated or err.truncated,
        milliseconds=milliseconds,
    )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout, process.stderr


def _read(process: subprocess.Popen[bytes], out: Capped, err: Capped, until: float) -> bool:
    """Read both outputs until the main process has ended, or `until`; true when it ended."""
    poll = select.poll()
    pidfd = os.pidfd_open(process.pid)
    try:
        poll.register(pidfd, select.POLLIN)
        sinks = {pipe.fileno(): sink for pipe, sink in zip(_pipes(process), (out, err), strict=True)}
        for descriptor in sinks:
            poll.register(descriptor, select.POLLIN)
        while (wait := until - time.monotonic()) > 0:
            ready = [descriptor for descriptor, _ in poll.poll(max(1, round(min(wait, 3600.0) * 1000)))]
            for descriptor in ready:
                if descriptor != pidfd:
                    data = os.read(descriptor, _CHUNK)
                    sinks[descriptor].write(data)
                    if not data:
                        poll.unregister(descriptor)
            if ready == [pidfd]:
                return True
    finally:
        os.close(pidfd)
    return False


def _drain(process: subprocess.Popen[bytes], out: Capped, err: Capped) -> None:
    """What the dead have left in the pipes; a writer that escaped does not hold us up."""
    for pipe, sink in zip(_pipes(process), (out, err), strict=True):
        os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), _CHUNK):
                sink.write(data)


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill whatever is left, until a look finds nothing."""
    for _ in range(_SWEEPS):
        found = list(_members(process.pid, mark))
        if not found:
            return
        for pid in found:
            _kill(pid, signal.SIGKILL)
        process.poll()
    raise BackendFailure("engine", "processes of a run cannot be killed", where=f"session {process.pid}")


def _members(session: int, mark: str) -> Iterator[int]:
    """Living processes of a session, or with its mark."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                stat = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                marked = int(stat[3]) == session or wanted in Path(entry.path, "environ").read_bytes().split(b"\0")
            except (OSError, IndexError):
                continue  # it has ended meanwhile, or is another user's
            if marked and stat[0] not in {b"Z", b"X"}:
                yield int(entry.name)


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
