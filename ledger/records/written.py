"""A body as the bytes it is signed as: written in one step, checked without making the body, read when it is wanted.

    predicate = write(body)             # b'{"after":{…},"cases":[…],…}', what `store.canonical` writes for it
    values("split", predicate)          # {"after": {…}, …}; or None where these are not bytes that `write` writes
    restore("split", predicate)         # the body, of bytes that have values

A shape of `ledger.records.kinds` has fixed ASCII names, no floats and no depth without end; that its integers and the
names in its maps stay inside the subset of `store.canonical` is in the schemas, which is why values that match their
schema are canonical when they are written as the same bytes again. Tests hold both to it. Where `values` answers None,
the longer way (`ledger.records.statement`) says what is wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final, Never

import msgspec

from ledger.records import kinds
from ledger.records.parts import decode
from schemas.registry import accepts
from store.digest import Digest

__all__ = ["restore", "values", "write"]


def _refuse(text: str) -> Never:
    """No record holds a float, and `1.0` would match a schema's integer."""
    raise ValueError(f"a float: {text}")


_write: Final = msgspec.json.Encoder(enc_hook=Digest.__str__, order="sorted").encode
_values: Final = msgspec.json.Decoder(dict[str, Any], float_hook=_refuse).decode
_decode: Final = lru_cache(4096)(decode)
"""Most digests in a log stand in many records: read once, and kept once in memory."""


def write(body: kinds.Body) -> bytes:
    """The canonical JSON of a body that matches its schema."""
    return _write(body)


def values(kind: str, predicate: bytes) -> dict[str, Any] | None:
    """What canonical bytes say; None unless that matches the schema and is written as these bytes.

    Args:
        kind: one of `kinds.KINDS`.
        predicate: the bytes.
    """
    try:
        found = _values(predicate)
        return found if accepts(kind, found) and _write(found) == predicate else None
    except (ValueError, RecursionError):  # of msgspec, of Unicode, of `_refuse`
        return None


def restore(kind: str, predicate: bytes) -> kinds.Body:
    """The body of bytes that have `values`, found in this process or another."""
    return _reader(kind).decode(predicate)


@cache
def _reader(kind: str) -> msgspec.json.Decoder[kinds.Body]:
    return msgspec.json.Decoder(kinds.KINDS[kind], dec_hook=_decode)
