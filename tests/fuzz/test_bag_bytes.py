"""Mutated bags: whatever the bytes, only our own errors come out, and a refusal leaves nothing behind."""

import io
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from store.archive import Caps
from store.bagit import Bag, Source, write
from store.errors import RblError, TreeError
from store.extract import extract

CAPS = Caps(entries=50, total_bytes=1 << 16, file_bytes=1 << 14, path_bytes=300)
FILES = {"a": b"1" * 700, "b/" + "c" * 130: b"", "d": b"2"}
WHOLE = b"".join(write("bag", {path: Source.of(data) for path, data in FILES.items()}, [("Label", "value")]))
HEADERS = st.sampled_from(range(0, len(WHOLE), 512)).flatmap(lambda at: st.integers(at, at + 511))

changes = st.lists(st.tuples(HEADERS, st.integers(0, 255)), min_size=1, max_size=4)
moves = st.tuples(*[st.integers(0, len(WHOLE) // 512)] * 3)


def resummed(data: bytearray) -> bytes:
    """With the checksum of each block made right where it looks like a header, so that mutants get past it."""
    for at in range(0, len(data) - 511, 512):
        block = data[at : at + 512]
        if block[257:262] == b"ustar":
            total = sum(block) - sum(block[148:156]) + 8 * 32
            data[at + 148 : at + 156] = f"{total:06o}".encode() + b"\0 "
    return bytes(data)


def only_our_errors(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        refused = None
        try:
            extract(io.BytesIO(data), Path(place, "out"), CAPS)
        except TreeError as error:
            refused = error
        assert refused is None or (refused.where and not list(Path(place).iterdir()))
        with suppress(RblError):
            Bag.open(io.BytesIO(data), Path(place, "bag"), CAPS)


@settings(deadline=None, max_examples=300)
@given(changes, st.booleans())
def test_changed_bytes(changed, mend):
    data = bytearray(WHOLE)
    for at, value in changed:
        data[at] = value
    only_our_errors(resummed(data) if mend else bytes(data))


@settings(deadline=None, max_examples=100)
@given(moves)
def test_blocks_cut_out_doubled_and_moved(places):
    first, second, to = (place * 512 for place in places)
    piece = WHOLE[min(first, second) : max(first, second)]
    only_our_errors(WHOLE[:to] + piece + WHOLE[to:])
    only_our_errors(WHOLE.replace(piece, b"", 1) if piece else WHOLE[:to])


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=1500))
def test_any_bytes(data):
    only_our_errors(data)
