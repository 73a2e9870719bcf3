"""Canonical JSON: the strict subset of RFC 8785 in which every signed payload, tree and manifest is written.

    {"a":1,"b":["x",null,true]}

ASCII keys in code-unit order, no white space, integers below 2^53 in magnitude, **no floats**, no duplicate keys, no
lone surrogates. Inside the subset RFC 8785, `json.dumps(sort_keys=True, separators=(",", ":"))` and other
canonicalisers write the same bytes; outside it they differ, so what is outside is refused, on writing and on reading.
`loads` refuses bytes that `dumps` would not have written. Stored bytes are hashed as they are, never re-serialised.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from store.errors import CanonicalError

__all__ = ["INTEGER_LIMIT", "Json", "dumps", "loads"]

Json = Any
"""A JSON value of the subset: None, bool, int, str, list or dict with string keys."""

INTEGER_LIMIT = 2**53
"""Integers of this magnitude and above are not exact in an IEEE double (RFC 8785, section 3.2.2.3)."""

_DEEPEST = 64


def dumps(value: Json) -> bytes:
    """Write a value of the subset as its one canonical form.

    Raises:
        CanonicalError: the value is outside the subset; the message names the place as a JSON Pointer (RFC 6901).
    """
    _check(value, "", 0)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def loads(data: bytes) -> Json:
    """Read bytes that are exactly the canonical form of their value.

    Raises:
        CanonicalError: not UTF-8, not JSON, outside the subset, or not canonical.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
        raise CanonicalError(f"not JSON: {error}") from error
    if dumps(value) != data:
        raise CanonicalError("not in canonical form", fix="write sorted keys, no white space, shortest escapes")
    return value


def _check(value: Json, where: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise CanonicalError(f"nested deeper than {_DEEPEST} levels", where=where)
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if abs(value) >= INTEGER_LIMIT:
            raise CanonicalError(f"integer {value} is not below 2^53", where=where)
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, f"{where}/{index}", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                raise CanonicalError(f"key {key!r} is not an ASCII string", where=where)
            _check(item, f"{where}/{key}", depth + 1)
    else:
        raise CanonicalError(
            f"{type(value).__name__} has no canonical form", where=where, fix="use an integer or a string"
        )


def _check_text(value: str, where: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalError("a lone surrogate", where=where) from error


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CanonicalError("a key stands twice in one object")
    return found


def _refuse_number(text: str) -> NoReturn:
    raise CanonicalError(f"{text} is not an integer", fix="use integers; scores are millionths")
