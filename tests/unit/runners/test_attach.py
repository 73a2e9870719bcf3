"""Frames of an attached container, from a socket of our own."""

import io
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from runners.attach import Capped, Feeder, Pump
from runners.backend import BackendFailure
from store.errors import ObjectMissing


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def soon() -> float:
    return time.monotonic() + 10


def test_frames_are_told_apart_however_they_are_cut(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    stream = frame(1, b"one") + frame(2, b"") + frame(2, b"two") + frame(1, b"three" * 1000)
    out, err = Capped(1 << 20), Capped(1 << 20)
    pump = Pump(ours, out, err)

    def send() -> None:
        for at in range(0, len(stream), 7):
            theirs.sendall(stream[at : at + 7])
        theirs.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    assert pump.read(soon())
    sender.join()
    assert (out.kept, err.kept) == (b"one" + b"three" * 1000, b"two")


def test_deadline_ends_the_reading_and_it_can_go_on(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    out = Capped(100)
    pump = Pump(ours, out, Capped(100))
    theirs.sendall(frame(1, b"abcdef")[:11])
    assert not pump.read(time.monotonic() + 0.05)
    theirs.sendall(b"def")
    theirs.shutdown(socket.SHUT_WR)
    assert pump.read(soon())
    assert out.kept == b"abcdef"


def test_unknown_stream_is_the_engine_s_fault(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(frame(7, b"x"))
    with pytest.raises(BackendFailure) as caught:
        Pump(ours, Capped(1), Capped(1)).read(soon())
    assert caught.value.reason == "engine"


def test_what_lies_beyond_the_cap_is_dropped_and_said_so() -> None:
    capped = Capped(4)
    capped.write(b"abc")
    assert not capped.truncated
    capped.write(b"def")
    assert (capped.kept, capped.truncated) == (b"abcd", True)


def test_output_goes_into_a_file_up_to_the_cap() -> None:
    file = io.BytesIO()
    capped = Capped(4, file)
    capped.write(b"abcdef")
    assert (file.getvalue(), capped.kept, capped.truncated) == (b"abcd", b"", True)


class Full(io.BytesIO):
    def write(self, _data: object) -> int:
        raise OSError(28, "No space left on device")


def test_full_disk_is_named_as_such() -> None:
    with pytest.raises(BackendFailure) as caught:
        Capped(4, Full()).write(b"x")
    assert caught.value.reason == "disk"


def test_feeder_sends_all_and_closes_its_half(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with Feeder(ours, [b"ab", b"cd"]) as feeder:
        feeder.start()
        got = b""
        while piece := theirs.recv(100):
            got += piece
    assert got == b"abcd"


def test_feeder_does_not_mind_a_reader_that_stops(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with Feeder(ours, (b"x" * (1 << 20) for _ in range(100))) as feeder:
        feeder.start()
        theirs.recv(10)


def test_feeder_raises_what_its_source_raised(pair: tuple[socket.socket, socket.socket]) -> None:
    def source() -> Iterator[bytes]:
        yield b"ab"
        raise ObjectMissing("gone")

    def feed() -> None:
        ours, theirs = pair
        with Feeder(ours, source()) as feeder:
            feeder.start()
            while theirs.recv(100):
                pass

    with pytest.raises(ObjectMissing):
        feed()
