r"""The stream of an attached container: frames in, two capped outputs out.

Docker multiplexes standard output and error over one socket (Engine API, "Attach to a container", stream format): a
header of eight bytes, then the payload.

    01 00 00 00 00 00 00 03 68 69 0a        stdout, 3 bytes: "hi\n"

Everything is drained, whatever the cap, so that a chatty process never blocks on us; what lies beyond the cap is
dropped and said so. Nothing here knows Docker or time limits: `runners.container` decides when to stop reading.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterable
from typing import BinaryIO, Final, Self

from runners.backend import BackendFailure

__all__ = ["Capped", "Feeder", "Pump"]

_HEADER: Final = 8
_CHUNK: Final = 1 << 18
_STDOUT: Final = 1
_STDERR: Final = 2


class Capped:
    """Takes bytes up to a cap, into memory or into a file.

    Args:
        cap: bytes that are kept.
        into: where they go; a buffer of its own when null.
    """

    def __init__(self, cap: int, into: BinaryIO | None = None) -> None:
        self._room = cap
        self._into = into
        self._kept = bytearray()
        self.truncated = False

    def write(self, data: bytes | memoryview) -> None:
        """Keep what fits.

        Raises:
            BackendFailure: the file cannot be written (`disk`).
        """
        fits = data[: self._room]
        self.truncated = self.truncated or len(fits) < len(data)
        self._room -= len(fits)
        if self._into is None:
            self._kept += fits
            return
        try:
            self._into.write(fits)
        except OSError as error:
            raise BackendFailure("disk", f"standard output cannot be kept: {error}", fix="free some space") from error

    @property
    def kept(self) -> bytes:
        """What was kept in memory; empty when it went into a file."""
        return bytes(self._kept)


class Pump:
    """Reads frames from an attached socket into two outputs."""

    def __init__(self, sock: socket.socket, stdout: Capped, stderr: Capped) -> None:
        self._sock = sock
        self._outputs = {_STDOUT: stdout, _STDERR: stderr}
        self._buffer = bytearray()
        self._left = 0
        self._output = stdout
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._ended = False

    def read(self, until: float) -> bool:
        """Read until the stream ends or `until` (of `time.monotonic`) has come; true when it ended.

        Raises:
            BackendFailure: the stream breaks off or is not framed as Docker frames it (`engine`).
        """
        while not self._ended:
            wait = until - time.monotonic()
            if wait <= 0:
                return False
            if not self._poll.poll(max(1, round(min(wait, 3600.0) * 1000))):
                continue
            try:
                data = self._sock.recv(_CHUNK)
            except OSError as error:
                raise BackendFailure("engine", f"the attached stream broke off: {error}") from error
            if data:
                self._take(data)
            else:
                self._ended = True
        return True

    def _take(self, data: bytes) -> None:
        self._buffer += data
        at = 0
        with memoryview(bytes(self._buffer)) as view:
            while at < len(view):
                if self._left:
                    part = view[at : at + self._left]
                    self._output.write(part)
                    self._left -= len(part)
                    at += len(part)
                elif len(view) - at < _HEADER:
                    break
                else:
                    output = self._outputs.get(view[at])
                    if output is None:
                        raise BackendFailure("engine", f"frame of unknown stream {view[at]} in the attached stream")
                    self._output = output
                    self._left = int.from_bytes(view[at + 4 : at + _HEADER], "big")
                    at += _HEADER
        del self._buffer[:at]


class Feeder:
    """Writes a process's standard input from a thread of its own, then closes that half of the socket.

    A process may stop reading whenever it likes: that ends the feeding and is no error. An error of the source is kept,
    and raised when the block is left. Without a source it does nothing.

        with Feeder(sock, chunks) as feeder:
            feeder.start()
            ...
    """

    def __init__(self, sock: socket.socket, source: Iterable[bytes] | None) -> None:
        self._sock = sock
        self._source: Iterable[bytes] = () if source is None else source
        self._fed = source is not None
        self._error: Exception | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._feed, name="rbl-stdin", daemon=True)

    def __enter__(self) -> Self:
        return self

    def start(self) -> None:
        """Begin feeding."""
        if self._fed:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._sock.shutdown(
                socket.SHUT_RDWR
            )  # frees a thread that waits to send; the engine may have hung up first
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _feed(self) -> None:
        try:
            for chunk in self._source:
                if self._stop.is_set() or not self._send(chunk):
                    return
        except Exception as error:  # noqa: BLE001  kept, and raised in the caller's thread
            self._error = error
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)  # it may have hung up first

    def _send(self, chunk: bytes) -> bool:
        try:
            self._sock.sendall(chunk)
        except OSError:
            return False
        return True
