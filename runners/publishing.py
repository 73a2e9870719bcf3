"""From a frozen and checked case to its records: the `source` behind it, then the `case` itself.

    record = publish_case(folder, "bindery")      # appends both, or returns the ones that are there
    body = case_body(folder, "bindery", source=…) # the same without appending

A case is published once it is as it was frozen and oracle and noop were run on exactly that. Publishing twice says
nothing new; other content under the same version is a conflict. Nothing is drawn or judged here.
"""

from __future__ import annotations

from cases.package import Package
from cases.published import write_published
from cases.reconstruct.folder import checks_of, load_frozen
from ledger.announce import Stamp, announce
from ledger.folder import Folder
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from store import dvc
from store.digest import Digest
from store.directory import load_tree
from store.errors import Conflict, InputError

__all__ = ["case_body", "publish_case", "source_body"]


def publish_case(folder: Folder, case_id: str) -> Record[kinds.Case]:
    """Announce a case and the source behind it, and write beside it what Git and DVC carry (`cases.published`).

    Raises:
        InputError: there is no such case, it was changed after it was frozen, or nothing is said of its source.
        CheckFailed: oracle and noop were not run on it.
        Conflict: this version, or a later one, is published with other content; or DVC would take one file of the
            evidence for another.
    """
    md5: dict[Digest, str] = {}
    frozen, _ = load_frozen(folder, case_id, md5)
    output = dvc.offer(folder.store, load_tree(folder.store, frozen.evidence), md5)  # refuses before anything is said
    record = _announced(folder, case_id)
    write_published(folder, record, output)
    return record


def _announced(folder: Folder, case_id: str) -> Record[kinds.Case]:
    """The record of a case: the one that is there, or a new one behind its source."""
    ledger = Ledger.open(folder)
    stamp = Stamp.now(folder)
    wanted = source_body(folder, case_id, stamp)
    source = next((item for item in ledger.of(kinds.Source) if _content(item.body) == _content(wanted)), None)
    known = [item for item in ledger.of(kinds.Case) if item.body.id == case_id]
    last = max(known, key=lambda item: item.body.version, default=None)
    frozen, _ = load_frozen(folder, case_id)
    if last is not None and last.body.version >= frozen.version:
        earlier = [item for item in known if item.body.version < frozen.version]
        supersedes = max(earlier, key=lambda item: item.body.version).digest if earlier else None
        again = case_body(
            folder, case_id, stamp, source=None if source is None else source.digest, supersedes=supersedes
        )
        same = [item for item in known if _content(item.body) == _content(again)]
        if same:
            return same[0]
        raise Conflict(
            f"version {last.body.version} of the case is published with other content",
            where=case_id,
            fix=f"freeze it as version {last.body.version + 1}",
        )
    case_body(folder, case_id, stamp, source=wanted.artifact)  # nothing is said while the case cannot be
    if source is None:
        source = announce(folder, "curator", lambda at: source_body(folder, case_id, at))
    behind = source.digest
    return announce(
        folder,
        "curator",
        lambda at: case_body(folder, case_id, at, source=behind, supersedes=None if last is None else last.digest),
    )


def source_body(folder: Folder, case_id: str, stamp: Stamp | None = None) -> kinds.Source:
    """The body of the `source` record of a frozen case.

    Raises:
        InputError: there is no such case, or its `case.toml` has no `[source]`.
    """
    frozen, _ = load_frozen(folder, case_id)
    known = Package.load(folder.cases / case_id).case.source
    if known is None:
        raise InputError(
            "nothing is said of the case's source",
            where=str(folder.cases / case_id / "case.toml"),
            fix="add a [source] table with lead, origin and permission",
        )
    at = stamp or Stamp.now(folder)
    return kinds.Source(
        ledger=at.ledger,
        after=at.after,
        issued_at=at.issued_at,
        id=case_id,
        lead=known.lead,
        origin=known.origin,
        artifact=frozen.source,
        differences=list(known.differences),
        permission=known.permission,
    )


def case_body(
    folder: Folder,
    case_id: str,
    stamp: Stamp | None = None,
    *,
    source: Digest | None = None,
    supersedes: Digest | None = None,
) -> kinds.Case:
    """The body of the `case` record of a frozen and checked case.

    Args:
        folder: the benchmark folder.
        case_id: a frozen case.
        stamp: after which head; the present one when null.
        source: leaf digest of its `source` record.
        supersedes: leaf digest of the version before it.

    Raises:
        InputError: there is no such case, or it was changed after it was frozen.
        CheckFailed: oracle and noop were not run on it.
    """
    frozen, _ = load_frozen(folder, case_id)
    at = stamp or Stamp.now(folder)
    return frozen.body(
        ledger=at.ledger,
        after=at.after,
        issued_at=at.issued_at,
        checks=list(checks_of(folder, frozen)),
        source=source,
        supersedes=supersedes,
    )


def _content(body: kinds.Body) -> dict[str, object]:
    return {key: value for key, value in kinds.to_json(body).items() if key not in {"after", "issued_at"}}
