"""The event log of one attempt: JSON lines, each chained to the one before by its hash.

    {"ev":"run.started","mono_ms":0,"prev":null,"seq":0,"ts":"2026-11-30T23:05:01.123Z"}
    {"ev":"container.created","id":"9f…","mono_ms":812,"prev":"sha256:…","seq":1,"ts":"…"}

`prev` is the SHA-256 of the whole line before, without its newline. Each line is on the disk before `write` returns, so
that the last step of a killed harness can be read from it. A torn last line is what a crash leaves; `read` drops it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from store import canonical
from store.digest import Digest
from store.errors import CanonicalError, CheckFailed

__all__ = ["EventLog", "last_step", "read"]

STEP = "step"
"""Name of the event that ends a step of the lifecycle; its field `name` says which."""


class EventLog:
    """Appends to one `events.jsonl`."""

    def __init__(self, path: Path) -> None:
        """Open or continue a log.

        Args:
            path: the file; made if it is not there. A torn last line is cut off first.
        """
        self.path = path
        whole = list(read(path)) if path.exists() else []
        self._seq = len(whole)
        self._prev = Digest.of(canonical.dumps(whole[-1])) if whole else None
        self._start = time.monotonic()
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        self._file.truncate(sum(len(canonical.dumps(event)) + 1 for event in whole))
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, event: str, fields: dict[str, Any] | None = None) -> None:
        """Append one event and wait until it is on the disk.

        Args:
            event: its name, such as `agent.started`.
            fields: more fields, values of the canonical subset.
        """
        line = canonical.dumps(
            {
                **(fields or {}),
                "ev": event,
                "mono_ms": int((time.monotonic() - self._start) * 1000),
                "prev": None if self._prev is None else str(self._prev),
                "seq": self._seq,
                "ts": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
        )
        self._file.write(line + b"\n")
        os.fdatasync(self._file.fileno())
        self._seq += 1
        self._prev = Digest.of(line)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a log, in order, without a torn last line.

    Raises:
        CheckFailed: a line is not canonical, or does not follow from the one before it.
    """
    prev: str | None = None
    for seq, line in enumerate(path.read_bytes().split(b"\n")[:-1]):
        try:
            event: dict[str, Any] = canonical.loads(line)
        except CanonicalError as error:
            raise CheckFailed(f"event {seq} is not canonical JSON", where=str(path)) from error
        if event.get("seq") != seq or event.get("prev") != prev:
            raise CheckFailed(f"event {seq} does not follow from the one before it", where=str(path))
        prev = str(Digest.of(line))
        yield event


def last_step(path: Path) -> str:
    """The last step of the lifecycle that a log says is done; `reserved` when it says nothing."""
    if not path.exists():
        return "reserved"
    done = [str(event["name"]) for event in read(path) if event["ev"] == STEP]
    return done[-1] if done else "reserved"
