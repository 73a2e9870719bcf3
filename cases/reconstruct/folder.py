"""A frozen case's place in a benchmark folder: written whole or not at all, and read only if nobody changed it since.

    cases/bindery/    case.toml brief.md contract.json evidence/ starter/ frozen.json checks.json
    kits/bindery.age  the sealed kit

What Candidates see is hashed again at each reading and must be what `frozen.json` names. Kits are not opened here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from cases.contract import Contract
from cases.package import CASE_FILE, CaseFile, Package, check_id, put_package
from cases.reconstruct.frozen import CHECKS_FILE, FROZEN_FILE, Checks, FrozenCase
from ledger.folder import Folder
from ledger.records import kinds
from store.digest import Digest
from store.directory import check_out
from store.errors import CheckFailed, Conflict, InputError

__all__ = ["check_new", "checks_of", "load_frozen", "write_checks", "write_frozen"]

_CHECKED: Final = {"oracle": kinds.FULL, "noop": 0}


def load_frozen(folder: Folder, case_id: str, md5: dict[Digest, str] | None = None) -> tuple[FrozenCase, Contract]:
    """A frozen case and its contract, once its folder was found to be as it was frozen.

    Args:
        folder: the benchmark folder.
        case_id: the case.
        md5: is given the MD5 of each file of its evidence, taken in the same read.

    Raises:
        InputError: there is no such case, it is not frozen, or it was changed since.
    """
    root = folder.cases / check_id(case_id)
    loaded = Package.load(root)
    path = root / FROZEN_FILE
    try:
        frozen = FrozenCase.parse(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError("the case is not frozen", where=str(root), fix="run `rbl case freeze`") from error
    now = put_package(folder.store, root, md5)
    for name in ("contract", "starter", "evidence", "package"):
        if getattr(now, name) != getattr(frozen, name):
            raise InputError(
                f"the {name} was changed after the case was frozen", where=str(root), fix="freeze a new version of it"
            )
    if (loaded.case.version, loaded.case.dimensions) != (frozen.version, frozen.dimensions):
        raise InputError("case.toml was changed after the case was frozen", where=str(root), fix="freeze it again")
    return frozen, loaded.contract


def check_new(folder: Folder, case_id: str, version: int) -> None:
    """Refuse to freeze what is frozen.

    Raises:
        Conflict: the case is frozen at this version or a later one, or something else is in its place.
    """
    root = folder.cases / case_id
    if not root.exists():
        return
    path = root / FROZEN_FILE
    if not path.exists():
        raise Conflict("the case's folder is there already", where=str(root), fix="move it away, or choose another id")
    frozen = FrozenCase.parse(path.read_bytes())
    if frozen.version >= version:
        raise Conflict(
            f"the case is frozen already, as version {frozen.version}",
            where=str(root),
            fix=f"freeze it as version {frozen.version + 1}",
        )


def checks_of(folder: Folder, frozen: FrozenCase) -> tuple[kinds.Check, ...]:
    """The checks of exactly this frozen case.

    Raises:
        CheckFailed: there are none, or they do not show that all is everything and nothing is nothing.
    """
    path = folder.cases / frozen.id / CHECKS_FILE
    fix = f"run `rbl case verify {frozen.id}`"
    try:
        found = Checks.parse(path.read_bytes())
    except FileNotFoundError as error:
        raise CheckFailed("the case was not verified", where=str(path), fix=fix) from error
    if found.frozen != frozen.digest:
        raise CheckFailed("the case was verified before it was frozen again", where=str(path), fix=fix)
    wrong = [check for check in found.checks if check.score != _CHECKED.get(check.agent)]
    if wrong or {check.agent for check in found.checks} != _CHECKED.keys():
        raise CheckFailed("the checks do not hold", where=str(path), fix=fix)
    return found.checks


def write_frozen(folder: Folder, case: CaseFile, frozen: FrozenCase) -> None:
    """Write the case's folder beside its place, then move it there; the kit goes first."""
    stage = folder.cases / f".{case.id}.partial"
    shutil.rmtree(stage, ignore_errors=True)
    check_out(folder.store, frozen.package, stage)
    (stage / CASE_FILE).write_text(case.format(), encoding="utf-8")
    (stage / FROZEN_FILE).write_bytes(frozen.format())
    _replace_file(folder.kits / f"{case.id}.age", folder.store.get(frozen.kit))
    place = folder.cases / case.id
    old = folder.cases / f".{case.id}.old"
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    stage.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def write_checks(folder: Folder, checks: Checks, case_id: str) -> None:
    """Keep what oracle and noop scored."""
    _replace_file(folder.cases / case_id / CHECKS_FILE, checks.format())


def _replace_file(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
