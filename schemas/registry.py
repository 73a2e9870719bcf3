"""Loads the schemas and checks documents against them.

    check("split", predicate)          # None, or SchemaError("/cases/0/version: 0 is less than the minimum of 1")
    kinds()                            # ("artifacts", "attempt-closed", …), every kind of record
    schema("results")                  # the JSON Schema of a document, as a dict

`v1/<name>.json` is a JSON Schema (draft 2020-12) that stands alone: every definition it uses is in its own `$defs`. A
record's kind is told from a document by its `$id`: `urn:rbl:<kind>:v1` against `urn:rbl:document:<name>:v1`. Two
validators are used: `jsonschema-rs` accepts (a million checks a second), and what it refuses `jsonschema` explains.
Whether a document means anything sensible is not known here.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from store.canonical import Json
from store.errors import InputError, SchemaError

if TYPE_CHECKING:
    import jsonschema
    import jsonschema_rs

__all__ = ["accepts", "check", "documents", "kinds", "page", "schema"]

_VERSION: Final = "v1"
_SHOWN: Final = 200


def schema(name: str) -> dict[str, Any]:
    """The schema of a kind of record or of a document.

    Raises:
        InputError: there is none of that name.
    """
    found: dict[str, Any] = json.loads(_text(name))
    return found


def kinds() -> tuple[str, ...]:
    """Every kind of record that has a schema, sorted."""
    return tuple(name for name in _names() if schema(name)["$id"] == f"urn:rbl:{name}:{_VERSION}")


def documents() -> tuple[str, ...]:
    """Every other document that has a schema, sorted."""
    return tuple(name for name in _names() if schema(name)["$id"] == f"urn:rbl:document:{name}:{_VERSION}")


def page(name: str) -> str:
    """The text of the page that explains a schema.

    Raises:
        InputError: there is none of that name.
    """
    place = resources.files(__package__) / _VERSION / f"{name}.md"
    try:
        return place.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"no page explains {name!r}") from error


def check(name: str, document: Json) -> None:
    """Check a record's predicate, or a document.

    Raises:
        SchemaError: it does not match; says where (a JSON Pointer, RFC 6901) and what would be right.
        InputError: there is no schema of that name.
    """
    if not accepts(name, document):
        raise _explained(name, document)


def accepts(name: str, document: Json) -> bool:
    """Whether a record's predicate, or a document, matches; without saying why not.

    Raises:
        InputError: there is no schema of that name.
    """
    return bool(_fast(name).is_valid(document))


def _names() -> list[str]:
    folder = resources.files(__package__) / _VERSION
    return sorted(item.name.removesuffix(".json") for item in folder.iterdir() if item.name.endswith(".json"))


@cache
def _text(name: str) -> str:
    if name not in _names():
        raise InputError(f"no schema of the name {name!r}", fix=f"one of {', '.join(_names())}")
    return (resources.files(__package__) / _VERSION / f"{name}.json").read_text("utf-8")


@cache
def _fast(name: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # noqa: PLC0415 (only where something is checked)

    return jsonschema_rs.Draft202012Validator(schema(name))


@cache
def _explaining(name: str) -> jsonschema.Draft202012Validator:
    import jsonschema  # noqa: PLC0415 (slow to import, and needed for refusals alone)

    return jsonschema.Draft202012Validator(schema(name))


def _explained(name: str, document: Json) -> SchemaError:
    from jsonschema.exceptions import best_match  # noqa: PLC0415 (as above)

    error = best_match(_explaining(name).iter_errors(document))
    if error is None:  # the two disagree: refusing is safe, and the cause is told
        return SchemaError(f"{name} document: refused by jsonschema-rs alone", fix="report this")
    pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in error.absolute_path)
    message = error.message if len(error.message) <= _SHOWN else error.message[:_SHOWN] + "…"
    return SchemaError(
        f"{name} document: {message}", where=pointer or "/", fix=_advice(name, error.validator, error.validator_value)
    )


def _advice(name: str, rule: object, value: object) -> str:
    page = f"see schemas/{_VERSION}/{name}.md"
    if rule == "enum" and isinstance(value, list):
        return f"one of {', '.join(map(str, value))}; {page}"
    if rule == "pattern":
        return f"must match {value}; {page}"
    return page
