"""What changed between two releases, each change with the records that made it.

    compare(old, new) -> [
        Change("row", "imperfect", "score", 640_000, 655_000, because=("20261130T230501Z__…: withdrawn (sha256:…)",)),
        Change("attempt", "20261130T230501Z__…", "bucket", "scored", "withdrawn", because=("withdrawal sha256:…",)),
    ]

Pure over two result artifacts. A changed number of an entry is explained by the attempts of that entry, and by the
cases, that differ; a change that nothing explains is said to be so, since aggregation could then not be deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from store.canonical import Json

__all__ = ["Change", "compare"]

_ROW: Final = ("rank", "score", "interval", "worst", "before_withdrawals", "valid", "scheduled", "opened", "dimensions")
_ATTEMPT: Final = ("bucket", "reason", "total", "evaluation", "withdrawal")
_CASE: Final = ("version", "active", "withdrawal")


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs.

    Attributes:
        kind: what it belongs to.
        id: entry, attempt or case.
        field: of the result artifact; empty when the whole item appeared or went.
        old, new: JSON values; null where the item is absent.
        because: the records that made it so.
    """

    kind: Literal["row", "attempt", "case", "rules"]
    id: str
    field: str
    old: Json
    new: Json
    because: tuple[str, ...]


def compare(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[Change]:
    """Compare two result artifacts: rules first, then cases, attempts and rows."""
    rules = list(_rules(old, new))
    cases = list(_items("case", _keyed(old, "cases", "id"), _keyed(new, "cases", "id"), _CASE))
    attempts = list(_items("attempt", _keyed(old, "attempts", "id"), _keyed(new, "attempts", "id"), _ATTEMPT))
    return [*rules, *cases, *attempts, *_rows(old, new, [*rules, *cases], attempts)]


def _rules(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Change]:
    for name in ("split", "protocol", "schedule"):
        if old[name] != new[name]:
            record = f"{name} {new[name]['name']} ({new[name]['record']})"
            yield Change("rules", name, "", old[name], new[name], (record,))


def _items(
    kind: Literal["attempt", "case"], old: Mapping[str, Any], new: Mapping[str, Any], fields: tuple[str, ...]
) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            yield Change(kind, name, "", before, after, (_origin(kind, before or after or {}),))
            continue
        for field in fields:
            if before[field] != after[field]:
                yield Change(kind, name, field, before[field], after[field], (_cause(before, after),))


def _rows(
    old: Mapping[str, Json], new: Mapping[str, Json], common: list[Change], attempts: list[Change]
) -> Iterator[Change]:
    before, after = _keyed(old, "rows", "entry"), _keyed(new, "rows", "entry")
    entry_of = {item["id"]: item["entry"] for side in (old, new) for item in side["attempts"]}
    shared = [f"{change.kind} {change.id}: {cause}" for change in common for cause in change.because]
    for name in sorted(before.keys() | after.keys()):
        own = [
            f"{change.id}: {cause}"
            for change in attempts
            if entry_of.get(change.id) == name
            for cause in change.because
        ]
        because = tuple(dict.fromkeys([*own, *shared]))
        if name not in before or name not in after:
            yield Change("row", name, "", before.get(name), after.get(name), because or ("the schedule",))
            continue
        for field in _ROW:
            if before[name][field] != after[name][field]:
                others = ("the other entries' changes",) if field == "rank" else ("nothing: this must not happen",)
                yield Change("row", name, field, before[name][field], after[name][field], because or others)


def _keyed(document: Mapping[str, Json], list_name: str, key: str) -> dict[str, Any]:
    return {item[key]: item for item in document[list_name]}


def _origin(kind: str, item: Mapping[str, Any]) -> str:
    return f"opened ({item['opened']})" if kind == "attempt" else f"case ({item['record']})"


def _cause(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if after["withdrawal"] != before["withdrawal"]:
        if after["withdrawal"] is None:
            return f"reinstated, withdrawal {before['withdrawal']} lifted"
        return f"withdrawn ({after['withdrawal']})"
    if "evaluation" in after and after["evaluation"] != before["evaluation"]:
        return f"evaluation ({after['evaluation']})"
    if "bucket" in after and after["bucket"] == "harness-failure-retried":
        return "retried"
    return f"record ({after.get('record') or after.get('closed')})"
