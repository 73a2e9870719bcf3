"""A body as the bytes it is signed as: read and written in one step, without the values in between.

    predicate = write(body)             # b'{"after":{…},"cases":[…],…}', what `store.canonical` writes for it
    read("split", predicate)            # the body; or None where these are not bytes that `write` writes

A shape of `ledger.records.kinds` has fixed ASCII names, no floats and no depth without end; that its integers and the
names in its maps stay inside the subset of `store.canonical` is in the schemas, which is why a body that matches its
schema is canonical when `write` gives the same bytes again. Tests hold both to it. Where `read` answers None, the
longer way (`ledger.records.statement`) says what is wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

import msgspec

from ledger.records import kinds
from ledger.records.parts import decode
from schemas.registry import accepts
from store.digest import Digest
from store.errors import InputError, SchemaError

__all__ = ["read", "restore", "write"]

_write: Final = msgspec.json.Encoder(enc_hook=Digest.__str__, order="sorted").encode
_decode: Final = lru_cache(4096)(decode)
"""Most digests in a log stand in many records: read once, and kept once in memory."""

_values: Final = msgspec.json.Decoder().decode


def write(body: kinds.Body) -> bytes:
    """The canonical JSON of a body that matches its schema."""
    return _write(body)


def read(kind: str, predicate: bytes) -> kinds.Body | None:
    """The body that canonical bytes stand for; None unless they match the schema and are those that it is written as.

    Args:
        kind: one of `kinds.KINDS`.
        predicate: the bytes.
    """
    try:
        body = _reader(kind).decode(predicate)
        if not accepts(kind, _values(predicate)) or _write(body) != predicate:
            return None
    except (msgspec.DecodeError, UnicodeError, InputError, SchemaError, RecursionError):
        return None
    return body


def restore(kind: str, predicate: bytes) -> kinds.Body:
    """The body of bytes that `read` has read before, in this process or another."""
    return _reader(kind).decode(predicate)


@cache
def _reader(kind: str) -> msgspec.json.Decoder[kinds.Body]:
    return msgspec.json.Decoder(kinds.KINDS[kind], dec_hook=_decode)
