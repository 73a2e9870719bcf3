"""The leaves of a release, and their root: the release digest.

    {"leaves":[{"digest":"sha256:…","type":"results"},{"id":"…","type":"attempt",…},…],"schema":"rbl/leaves/v1"}

A leaf is the canonical JSON of one item: each trust root below the cutoff, the split, its cases, the protocol, the
entries, the schedule, the digest of the results, and every attempt with outcome, reason and evaluation digest. Leaves
are sorted by their bytes and hashed as an RFC 6962 tree (section 2.1), so one attempt can be proven to be counted, or
excluded, without showing the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ledger.log import merkle
from ledger.release.cutoff import Cut, Scope
from ledger.release.outcome import Standing
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError

__all__ = ["format_leaves", "leaves", "parse_leaves", "root"]

_SCHEMA: Final = "rbl/leaves/v1"


def leaves(cut: Cut, scope: Scope, found: Sequence[Standing], results: Digest) -> list[bytes]:
    """The sorted leaves of a release.

    Args:
        cut: the records below the cutoff.
        scope: the schedule and what it names.
        found: where each attempt stands.
        results: digest of the result artifact.
    """
    items: list[dict[str, Json]] = [
        {"type": "trust-root", "version": record.body.version, "record": str(record.digest)}
        for record in cut.trust_roots
    ]
    items.append({"type": "split", "name": scope.split.body.name, "record": str(scope.split.digest)})
    items += [
        {"type": "case", "id": case.body.id, "version": case.body.version, "record": str(case.digest)}
        for case in scope.cases.values()
    ]
    protocol = scope.protocol.body
    items.append(
        {
            "type": "protocol",
            "name": protocol.name,
            "aggregation": protocol.aggregation,
            "record": str(scope.protocol.digest),
        }
    )
    items += [{"type": "entry", "id": entry.body.id, "record": str(entry.digest)} for entry in scope.entries.values()]
    items.append({"type": "schedule", "name": scope.schedule.body.name, "record": str(scope.schedule.digest)})
    items.append({"type": "results", "digest": str(results)})
    items += [_attempt(standing) for standing in found]
    return sorted(canonical.dumps(item) for item in items)


def root(items: Sequence[bytes]) -> Digest:
    """The RFC 6962 root over the leaves, in their order."""
    return Digest.from_raw(merkle.root([merkle.leaf_hash(item) for item in items]))


def format_leaves(items: Sequence[bytes]) -> bytes:
    """The object that lists the leaves: canonical, because each leaf is."""
    return b'{"leaves":[' + b",".join(items) + b'],"schema":"' + _SCHEMA.encode() + b'"}'


def parse_leaves(data: bytes) -> list[bytes]:
    """Read the object that lists the leaves.

    Raises:
        InputError: it is not one, or the leaves are not sorted and distinct.
    """
    document: Any = canonical.loads(data)
    if not isinstance(document, dict) or document.keys() != {"schema", "leaves"} or document["schema"] != _SCHEMA:
        raise InputError("not a list of release leaves", fix=f"expected a document of schema {_SCHEMA}")
    items = [canonical.dumps(item) for item in document["leaves"]]
    if items != sorted(set(items)):
        raise InputError("the leaves of a release are not sorted, or one stands twice")
    return items


def _attempt(standing: Standing) -> dict[str, Json]:
    attempt = standing.attempt
    return {
        "type": "attempt",
        "id": attempt.id,
        "outcome": standing.bucket,
        "reason": standing.reason,
        "opened": str(attempt.opened.digest),
        "closed": None if attempt.closed is None else str(attempt.closed.digest),
        "evaluation": None if standing.verdict is None else str(standing.verdict.digest),
        "total": standing.total,
        "withdrawal": None if standing.withdrawal is None else str(standing.withdrawal.digest),
    }
