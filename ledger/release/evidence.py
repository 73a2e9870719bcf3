"""The objects that a release rests on, and whether their bytes are what their names say.

    needed(cut, scope, release)   {Digest("2c26…"): Named("case pricing: evidence", tree=True), …}
    check(store, named)           Checked(objects=412, bytes=…, findings=())

Packages, evidence, plans and sealed kits of the cases; files of the agents; workspaces, builds, artifacts, captures,
events and (encrypted) verdict details of the attempts; the result artifact and the list of leaves. Trees are followed
to their files. Every object is read and hashed, but for those whose bytes an `erasure` record took away: these are
told. Nothing is moved or repaired: an auditor's folder stays as it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ledger import reach
from ledger.records import kinds
from ledger.release.cutoff import Cut, Scope
from ledger.release.finding import Finding
from store.digest import Digest
from store.errors import InputError
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Checked", "Named", "check", "needed"]

_MISSING: Final = "the object is missing"


@dataclass(frozen=True, slots=True)
class Named:
    """What an object is to the release, and whether it is a tree."""

    what: str
    tree: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """How many objects and bytes were hashed, what is wrong, and what is gone and explained by a record."""

    objects: int
    bytes: int
    findings: tuple[Finding, ...]
    erased: tuple[str, ...] = ()


def needed(cut: Cut, scope: Scope, release: kinds.Release) -> dict[Digest, Named]:
    """The objects that the release's own records name; what trees hold is not among them.

    Args:
        cut: the records below the cutoff.
        scope: the schedule and what it names.
        release: the release record's body.
    """
    found: dict[Digest, Named] = {}
    for digest, name in _all(cut, scope, release):
        if digest not in found or (name.tree and not found[digest].tree):
            found[digest] = name
    return found


def check(
    store: ObjectStore,
    named: Mapping[Digest, Named],
    erased: Mapping[Digest, str] = MappingProxyType({}),
    *,
    processes: int | None = None,
) -> Checked:
    """Hash every object, following trees.

    Args:
        store: where the objects are.
        named: what to start from.
        erased: why some objects need not be there (`ledger.erasure`).
        processes: threads that hash; the number of processors when null. Changes no result.
    """
    findings: list[Finding] = []
    sizes: dict[Digest, int] = {}
    gone: list[str] = []
    asked: set[Digest] = set()
    pending = dict(named)
    with ThreadPoolExecutor(processes or os.cpu_count() or 1) as pool:
        while pending:
            batch = sorted(pending.items(), key=lambda item: item[0])
            asked.update(pending)
            pending = {}
            for (digest, name), (size, fault) in zip(
                batch, pool.map(lambda item: _hash(store, item[0]), batch), strict=True
            ):
                if fault == _MISSING and digest in erased:
                    gone.append(f"{digest} ({name.what}) {erased[digest]}")
                    continue
                sizes[digest] = size
                if fault:
                    consequence = "the release rests on evidence that is not here"
                    findings.append(Finding("object", f"{digest} ({name.what})", fault, consequence))
                elif name.tree:
                    try:
                        tree = Tree.parse(store.path(digest).read_bytes())
                    except (InputError, OSError) as error:
                        what = f"not a tree: {error}"
                        findings.append(Finding("object", f"{digest} ({name.what})", what, "its files are unknown"))
                        continue
                    for entry in tree.entries:
                        if entry.digest is not None and entry.digest not in asked:
                            pending[entry.digest] = Named(f"{name.what}: {entry.path}")
    return Checked(len(sizes), sum(sizes.values()), tuple(sorted(findings)), tuple(gone))


def _hash(store: ObjectStore, digest: Digest) -> tuple[int, str]:
    """Size of an object's bytes, and what is wrong with them."""
    try:
        with store.path(digest).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except FileNotFoundError:
        return 0, _MISSING
    except OSError as error:
        return 0, f"the object cannot be read: {error.strerror}"
    return size, "" if found == digest.hex else f"its bytes hash to sha256:{found}"


def _all(cut: Cut, scope: Scope, release: kinds.Release) -> Iterator[tuple[Digest, Named]]:
    yield from _named("release", release)
    for case in scope.cases.values():
        yield from _named(f"case {case.body.id}", case.body)
    for entry in scope.entries.values():
        yield from _named(f"entry {entry.body.id}", entry.body)
    for attempt in scope.attempts(cut):
        for record in attempt.records:
            yield from _named(attempt.id, record.body)


def _named(who: str, body: kinds.Body) -> Iterator[tuple[Digest, Named]]:
    for place, digest, tree in reach.named(body):
        if digest is not None:
            yield digest, Named(f"{who}: {place}", tree=tree)
