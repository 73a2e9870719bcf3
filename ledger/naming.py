"""What a person calls things by: whole names, or enough of them; and the errors that say which there are.

    choose_attempt("9f03ab12", ids)               # the one id that begins or ends so
    choose_named("protocol", "form", names)       # the one name that begins so

Pure. Where the names come from, a view of the whole log or an index, is for callers.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

from ledger.records import kinds
from store.errors import InputError

__all__ = ["case_version", "choose_attempt", "choose_named", "name_of", "suggest"]

_CLOSE: Final = 3
"""How many near names an error lists."""

_DIGITS: Final = 9
"""Of a version."""

_LISTED: Final = 12
"""How many of all names."""


def case_version(name: str) -> tuple[str, int | None]:
    """Id and version of `id@version`; an id alone means the newest, which is None.

    Raises:
        InputError: what stands behind the @ is no number.
    """
    case, _, version = name.partition("@")
    if version and not (version.isascii() and version.isdigit() and len(version) <= _DIGITS):
        raise InputError(f"not a case version: {name!r}", fix="write id@1")
    return case, int(version) if version else None


def choose_attempt(name: str, ids: Sequence[str]) -> str:
    """The id that a text names: itself, or the one that begins or ends with it.

    Args:
        name: what was typed.
        ids: of attempts; those that neither begin nor end with it may be left out.

    Raises:
        InputError: it names none, or several.
    """
    if name in ids:
        return name
    found = [attempt for attempt in ids if name and (attempt.startswith(name) or attempt.endswith(name))]
    if not found:
        raise InputError(f"no attempt is called {name!r}", fix="`rbl attempt list` shows them")
    if len(found) > 1:
        few = ", ".join(found[:_CLOSE])
        raise InputError(f"{len(found)} attempts are called {name!r}", fix=f"give more of one id: {few}")
    return found[0]


def choose_named(kind: str, name: str, names: Sequence[str]) -> str:
    """The name of a declaration or release that a text names: itself, or the one that begins with it.

    Raises:
        InputError: it names none, or several.
    """
    if name in names:
        return name
    near = [other for other in names if name and other.startswith(name)]
    if len(near) != 1:
        raise InputError(f"no {kind} {name!r}", fix=suggest("frozen here", name, sorted(names)))
    return near[0]


def name_of(body: kinds.Body) -> str:
    """The name or id of a declaration or release; empty where it has none."""
    return str(getattr(body, "name", None) or getattr(body, "id", ""))


def suggest(what: str, name: str, known: Sequence[str]) -> str:
    """What to try in place of an unknown name: the nearest, then some of those that are known."""
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"{meant}{what}: {', '.join(known[:_LISTED]) or 'none'}{more}"
