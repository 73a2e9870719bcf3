"""A published case as Git and DVC carry it, and what makes of a clone's folder the package that was signed.

    cases/bindery/
        record.dsse  record.tlog-proof    the signed record, and that the log has it
        package.json                      the package's tree, word for word: each path, mode, SHA-256, link
        evidence.dvc  .gitignore          what `dvc pull` reads; evidence/ itself is not in Git

Git brings brief, contract and starter, DVC the bytes of evidence/. Neither brings empty directories, DVC neither links
nor modes, and DVC believes whatever its remote gives. So every file is hashed and set beside `package.json`, which is
the tree that the record names; then links, modes and empty directories are restored. Nothing is mended that the hash
does not vouch for, and no byte is fetched here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from cases.package import EVIDENCE, check_id, not_of_package
from ledger.carried import carry, open_carried
from ledger.folder import Folder
from ledger.records import kinds
from ledger.records.record import Record
from store import disk, dvc
from store.digest import Digest
from store.directory import hash_tree
from store.errors import CanonicalError, CheckFailed, InputError, TreeError
from store.tree import Tree, TreeEntry

__all__ = [
    "DVC_FILE",
    "Fault",
    "Pulled",
    "carried_cases",
    "check_pulled",
    "lacks_files",
    "published",
    "write_published",
]

DVC_FILE: Final = f"{EVIDENCE}.dvc"
_RECORD: Final = "record.dsse"
_RECEIPT: Final = "record.tlog-proof"
_MANIFEST: Final = "package.json"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a case's folder that is not what was signed.

    Attributes:
        path: below the case's folder.
        what: `missing`, `changed` or `surplus`.
    """

    path: str
    what: str


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was found in a case's folder.

    Attributes:
        record: the case, verified.
        files, size: of the package, how many and bytes.
        faults: what is not as it was signed; empty if all is.
        restored: paths of links, modes and empty directories that were put right; none while there is a fault.
    """

    record: Record[kinds.Case]
    files: int
    size: int
    faults: tuple[Fault, ...]
    restored: tuple[str, ...]


def write_published(folder: Folder, record: Record[kinds.Case], output: dvc.Output) -> None:
    """Write what Git and DVC carry of a published case.

    Args:
        folder: the benchmark folder, a Git repository.
        record: the case, as its folder has it.
        output: its evidence, as it was offered to DVC.

    Raises:
        InputError: `.dvc/config` is none.
        HarnessError: the disk refused.
    """
    root = folder.cases / record.body.id
    dvc.begin(folder.root, folder.config.remotes)
    leaf, receipt = carry(folder, record)
    with disk.faults("cannot write the published case", root):
        if not (root / _RECEIPT).exists() or (root / _RECORD).read_bytes() != leaf:
            _replace(root / _RECORD, leaf)
            _replace(root / _RECEIPT, receipt)
        _replace(root / _MANIFEST, folder.store.get(record.body.package))
        _replace(root / DVC_FILE, output.format(EVIDENCE))
        ignored = root / ".gitignore"
        before = ignored.read_text("utf-8") if ignored.exists() else ""
        if f"/{EVIDENCE}" not in before.splitlines():
            _replace(ignored, f"{before}/{EVIDENCE}\n".encode())


def carried_cases(folder: Folder) -> list[str]:
    """The ids of the cases that were published into this folder, in order."""
    return sorted(
        path.parent.name for path in folder.cases.glob(f"*/{_RECORD}") if not path.parent.name.startswith(".")
    )


def published(folder: Folder, case_id: str, pinned: Digest) -> tuple[Record[kinds.Case], Tree]:
    """The record of a case that Git brought, verified, and the tree of its package.

    Args:
        folder: the benchmark folder; a clone without its log will do.
        case_id: the case.
        pinned: digest of the first trust root.

    Raises:
        InputError: no such case was published into this folder.
        LogInvalid, RecordRejected: the record does not verify.
        CheckFailed: the tree is not the one that the record names.
    """
    root = folder.cases / check_id(case_id)
    try:
        leaf, receipt, data = ((root / name).read_bytes() for name in (_RECORD, _RECEIPT, _MANIFEST))
    except OSError as error:
        known = ", ".join(carried_cases(folder)) or "none"
        fix = f"there are: {known}; whoever has the case publishes it: rbl case publish {case_id}"
        raise InputError("no such case was published into this folder", where=str(root), fix=fix) from error
    record = open_carried(folder, leaf, receipt, pinned)
    body = record.body
    if not isinstance(body, kinds.Case) or body.id != case_id:
        raise CheckFailed(f"the record is not of the case {case_id}", where=str(root / _RECORD), fix="clone again")
    where = str(root / _MANIFEST)
    if Digest.of(data) != body.package:
        raise CheckFailed("not the tree that the case's record names", where=where, fix="check it out of Git again")
    try:
        tree = Tree.parse(data)
    except (CanonicalError, TreeError) as error:
        raise CheckFailed(f"the signed package is no tree: {error.what}", where=where) from error
    return cast("Record[kinds.Case]", record), tree


def lacks_files(folder: Folder, case_id: str, tree: Tree) -> bool:
    """Whether a file of the evidence is not there at all; its bytes are not looked at."""
    root = folder.cases / case_id
    return any(not os.path.lexists(root / entry.path) for entry in tree if entry.is_file and _is_evidence(entry.path))


def check_pulled(folder: Folder, record: Record[kinds.Case], tree: Tree) -> Pulled:
    """Hash every file of a case's package, and restore what Git and DVC do not carry when all of them are right.

    Args:
        folder: the benchmark folder.
        record: the case.
        tree: its package.

    Raises:
        TreeError: there is something that no tree may hold, such as a link that leads out of it.
        HarnessError: the disk refused.
    """
    root = folder.cases / record.body.id
    found = hash_tree(root, exclude=not_of_package)
    faults = tuple(sorted(_faults(tree, found), key=lambda fault: fault.path))
    restored: tuple[str, ...] = ()
    if not faults:
        with disk.faults("cannot restore the package", root):
            restored = tuple(_restore(root, entry) for entry in tree if found.get(entry.path) != entry)
    files = [entry for entry in tree if entry.is_file]
    return Pulled(record, len(files), tree.size, faults, restored)


def _faults(wanted: Tree, found: Tree) -> Iterator[Fault]:
    for entry in wanted:
        there = found.get(entry.path)
        if entry.is_file and there is None:
            yield Fault(entry.path, "missing")
        elif there is not None and not _may_become(there, entry, wanted):
            yield Fault(entry.path, "changed")
    kept = {entry.path for entry in wanted}
    yield from (Fault(entry.path, "surplus") for entry in found if entry.path not in kept)


def _may_become(there: TreeEntry, entry: TreeEntry, wanted: Tree) -> bool:
    """Whether what is there is what was signed, but for what a transport cannot carry."""
    if entry.is_file:
        return there.digest == entry.digest
    if entry.target is not None and there.is_file:  # DVC follows links: a copy of what it leads to
        led = wanted.led_to(entry.path)
        return led is not None and led.digest == there.digest
    return there == entry


def _restore(root: Path, entry: TreeEntry) -> str:
    place = root / entry.path
    if entry.is_file:
        place.chmod(0o755 if entry.mode == "100755" else 0o644)
        return entry.path
    place.parent.mkdir(parents=True, exist_ok=True)
    if entry.target is None:
        place.mkdir()
    else:
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        beside.symlink_to(entry.target)
        beside.replace(place)
    return entry.path


def _is_evidence(path: str) -> bool:
    return path.startswith(EVIDENCE + "/")


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
