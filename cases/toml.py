"""What an author writes by hand, as types: TOML whose errors name file, line and key.

    cases/bindery/case.toml, line 4: `minutes` is not a key here

The shapes are `cases.contract.Part` structures, which refuse what they do not name. Nothing is written here: TOML is
for people, and what the machine writes is canonical JSON.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from store.errors import InputError

__all__ = ["decode", "line_of", "read_toml"]

T = TypeVar("T")

_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_PLACE = re.compile(r"at `(?:key in )?\$([^`]*)`")
_HEADER = re.compile(r"\s*\[(\[)?\s*([A-Za-z0-9_.\"' -]+?)\s*\]?\]\s*(?:#.*)?$")


def read_toml(path: Path, shape: type[T]) -> T:
    """The typed form of a file.

    Raises:
        InputError: no such file, not TOML, or another shape; `where` is the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"there is no {path.name}", where=str(path), fix="write it, or name another folder") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path.name}: {error}", where=str(path)) from error
    return decode(text, shape, str(path))


def decode(text: str, shape: type[T], where: str) -> T:
    """The typed form of TOML text; `where` names it in errors.

    Raises:
        InputError: not TOML, or another shape.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=where) from error
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        message = str(error)
        unknown = _UNKNOWN.search(message)
        found = _PLACE.search(message)
        place = found[1] if found else ""
        if unknown:
            line = line_of(text, f"{place}.{unknown[1]}")
            known = ", ".join(_keys(shape, place))
            fix = f"the keys are {known}" if known else "remove it"
            raise InputError(f"`{unknown[1]}` is not a key here", where=f"{where}, line {line}", fix=fix) from error
        key = place.lstrip(".") or "the document"
        what = message.split(" - at ", maxsplit=1)[0]
        raise InputError(f"{key}: {what}", where=f"{where}, line {line_of(text, place)}") from error


def line_of(text: str, place: str) -> int:
    """The line, from 1, on which a key stands; the last one found on the way to it where it does not.

    Args:
        text: the TOML.
        place: such as `.limits.seconds` or `.regions[1].rect`.
    """
    parts = [part for part in re.split(r"\.|(\[\d+\])", place) if part]
    lines = text.splitlines()
    at = 0
    for number, part in enumerate(parts):
        if part.startswith("["):
            continue
        nth = int(parts[number + 1][1:-1]) if number + 1 < len(parts) and parts[number + 1].startswith("[") else 0
        inside = at if number else 0
        at = _find(lines, part, nth, inside) or at
    return max(at, 1)


def _find(lines: list[str], key: str, nth: int, after: int) -> int | None:
    """Line of the nth header or of the first assignment of a key, below a line (from 1; 0 is the top)."""
    headers = [number for number, line in enumerate(lines, 1) if _header(line) == key]
    if len(headers) > nth:
        return headers[nth]
    assignment = re.compile(rf"(?:^|[{{,])\s*[\"']?{re.escape(key)}[\"']?\s*=")
    for number, line in enumerate(lines[max(after - 1, 0) :], max(after, 1)):
        if number > after and after and _header(line) is not None:
            break
        if assignment.search(line):
            return number
    return None


def _header(line: str) -> str | None:
    match = _HEADER.match(line)
    return match[2].rpartition(".")[2] if match else None


def _keys(shape: object, place: str) -> list[str]:
    if place or not isinstance(shape, type) or not issubclass(shape, msgspec.Struct):
        return []
    return [field.encode_name for field in msgspec.structs.fields(shape)]
