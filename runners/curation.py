"""What a case needs a container for: drawing the source page, sealing what it is judged by, checking oracle and noop.

    frozen = freeze(folder, backend, judge, Path("site"), "bindery", recipient=age, title="A bookbinder's page")
    checks = verify_case(folder, backend, judge, "bindery", runs=3)      # oracle 1,000,000 and noop 0, or an error

    cases/bindery/      case.toml brief.md contract.json evidence/ starter/ frozen.json, later checks.json
    kits/bindery.age    the sealed kit, which the store holds too

The reference and the starter go through the same rooms as any Candidate's work: built offline, drawn by the same
driver. What an author declared must hold on the reference and fail on the starter, or nothing is frozen; what was
proposed automatically and does not is left out. Records are written in `runners.publishing`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from cases.age import seal
from cases.contract import Contract
from cases.kit import Kit, commitment
from cases.package import CASE_FILE, CaseFile, LimitsTable, check_id, read_brief, save_package
from cases.plan import Plan, derive
from cases.reconstruct import freeze as page
from cases.reconstruct.author import AuthorKit
from cases.reconstruct.folder import check_new, load_frozen, write_checks, write_frozen
from cases.reconstruct.frozen import Checks, FrozenCase
from cases.source import Investigation
from cases.toml import read_toml
from ledger.folder import Folder
from ledger.records import kinds
from runners.backend import Backend
from runners.confirmation import Court, check_score, confirm
from runners.drawing import Room
from runners.judge import Judge, Judgement
from store.digest import Digest
from store.directory import read_tree, save_tree
from store.errors import InputError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

__all__ = ["Declared", "freeze", "freeze_authored", "verify_case"]

_UNSTATED: Final = Investigation(lead="given by the author", origin="a local folder", permission="not stated")


@dataclass(frozen=True, slots=True)
class Declared:
    """What an author gives beside the page; null where the default will do.

    Attributes:
        contract: `contract.json` in any layout; one page, two viewports, one state otherwise.
        kit: `kit.toml`; regions and assertions are read off the page otherwise.
        brief: `brief.md`; written from the contract otherwise.
        starter: folder a Candidate begins from; an empty page otherwise, which a contract with a build step excludes.
        investigation: provenance, for the `source` record.
        notes: the author's own, kept in `case.toml`.
    """

    contract: Path | None = None
    kit: Path | None = None
    brief: Path | None = None
    starter: Path | None = None
    investigation: Investigation = _UNSTATED
    notes: str = ""


def freeze(
    folder: Folder,
    backend: Backend,
    judge: Judge,
    source: Path,
    case_id: str,
    *,
    recipient: str,
    title: str,
    version: int = 1,
    limits: kinds.Limits | None = None,
    declared: Declared | None = None,
) -> FrozenCase:
    """Freeze a page into a case: evidence, starter, contract and sealed kit.

    Args:
        folder: the benchmark folder.
        backend: where pages are built and drawn.
        judge: who confirms what the kit says.
        source: folder of the authoritative page: a workspace where the contract has a build step, else the site.
        case_id: id of the case, and name of its folder.
        recipient: age recipient of the evaluator (`age1…`).
        title: one line.
        version: above the frozen one's, where the case is frozen already.
        limits: what an attempt may use.
        declared: what else the author gives.

    Raises:
        InputError: no `index.html`, a declaration that does not hold, or other bad input.
        CheckFailed: the reference cannot be drawn, or does not hold still.
        Conflict: the case is frozen already at this version or a later one.
    """
    declared = declared or Declared()
    check_new(folder, check_id(case_id), version)
    author = AuthorKit() if declared.kit is None else read_toml(declared.kit, AuthorKit)
    contract = _contract(declared.contract)
    store = folder.store
    draft = _draft_file(case_id, version, title, limits, declared)
    room = Room(store, backend, contract, derive(contract), draft.limits.limits(), case_id)
    source_tree = _source(store, source, contract)
    starter_tree = _starter(store, declared.starter, contract, title)
    text = page.brief(title, contract) if declared.brief is None else read_brief(declared.brief)
    keep = partial(save_package, store, brief=text.encode(), contract=contract.format(), starter=starter_tree)
    before = keep(evidence=Tree.of([]))
    reference = room.draw("reference", save_tree(store, source_tree), before.package)
    page.check_reference(list(reference.rendered.shots), reference.drawn)
    starter = room.draw("starter", before.starter, before.package)
    trees = keep(evidence=_files(store, page.evidence(reference.drawn)))

    proposal = page.propose((case_id, version), contract, reference.drawn, starter.drawn, author)
    shape = partial(
        FrozenCase,
        id=case_id,
        version=version,
        track=draft.track,
        title=title,
        package=trees.package,
        evidence=trees.evidence,
        starter=trees.starter,
        contract=trees.contract,
        plan=store.put_bytes(room.plan.format()),
        source=source_tree.digest,
        limits=room.limits,
        environment=backend.environment(),
    )
    salt = secrets.token_bytes(32)

    def sealed(kit: Kit) -> FrozenCase:
        data = kit.pack(salt, reference.drawn.shots, starter.drawn.shots, reference.drawn.sweep)
        object_ = store.put_bytes(seal(data, recipient))
        return shape(commitment=commitment(data), kit=object_, dimensions=page.dimensions_of(kit, contract))

    court = Court(folder, judge)
    kit = confirm(
        proposal,
        lambda kit: court.ask(sealed(kit), room.captures(folder, reference)),
        lambda kit: court.ask(sealed(kit), room.captures(folder, starter)),
    )
    frozen = sealed(kit)
    store.flush()
    write_frozen(folder, msgspec.structs.replace(draft, dimensions=frozen.dimensions), frozen)
    return frozen


def freeze_authored(folder: Folder, backend: Backend, judge: Judge, root: Path, *, recipient: str) -> FrozenCase:
    """Freeze what an author laid out in one folder: case.toml, source/ and, where given, the other files of `Declared`.

    Args:
        folder: the benchmark folder.
        backend: where pages are built and drawn.
        judge: who confirms what the kit says.
        root: holds `case.toml` and `source/`; `contract.json`, `kit.toml`, `brief.md` and `starter/` may be there.
        recipient: age recipient of the evaluator.

    Raises:
        RblError: as `freeze`.
    """
    case = read_toml(root / CASE_FILE, CaseFile)
    given = {
        name: path if path.exists() else None
        for name, path in (
            ("contract", root / "contract.json"),
            ("kit", root / "kit.toml"),
            ("brief", root / "brief.md"),
            ("starter", root / "starter"),
        )
    }
    return freeze(
        folder,
        backend,
        judge,
        root / "source",
        case.id,
        recipient=recipient,
        title=case.title,
        version=case.version,
        limits=case.limits.limits(),
        declared=Declared(**given, investigation=case.source or _UNSTATED, notes=case.notes),
    )


def verify_case(folder: Folder, backend: Backend, judge: Judge, case_id: str, runs: int = 3) -> list[kinds.Check]:
    """Run the oracle and the noop on a frozen case: exactly everything and exactly nothing, every time.

    Args:
        folder: the benchmark folder.
        backend: where attempts run.
        judge: who opens the kit.
        case_id: a frozen case.
        runs: of each of the two.

    Returns:
        The checks, which also stand in the case's `checks.json`.

    Raises:
        InputError: there is no such case, or it was changed after it was frozen.
        CheckFailed: a run has another score; the checkpoints that differ are named.
    """
    frozen, contract = load_frozen(folder, case_id)
    store = folder.store
    room = Room(store, backend, contract, Plan.parse(store.get(frozen.plan)), frozen.limits, case_id)
    court = Court(folder, judge)
    known: dict[tuple[tuple[kinds.Shot, ...], Digest], Judgement] = {}  # a verdict is a function of digests
    checks = []
    for agent, files, expected in (("oracle", frozen.source, kinds.FULL), ("noop", None, 0)):
        for run in range(1, runs + 1):
            drawing = room.attempt(agent, files, frozen.package)
            seen = (drawing.rendered.shots, drawing.rendered.sweep)
            if seen not in known:
                known[seen] = court.ask(frozen, room.captures(folder, drawing))
            judgement = known[seen]
            check_score(judgement, agent, run, expected)
            checks.append(kinds.Check(agent=agent, run=run, score=judgement.verdict.total))
    write_checks(folder, Checks(frozen.digest, tuple(checks)), case_id)
    return checks


def _contract(path: Path | None) -> Contract:
    if path is None:
        return page.default_contract()
    try:
        return page.read_contract(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"cannot read the contract: {error.strerror}", where=str(path)) from error


def _draft_file(case_id: str, version: int, title: str, limits: kinds.Limits | None, declared: Declared) -> CaseFile:
    """The case's `case.toml`, its dimensions still to be found."""
    try:
        table = LimitsTable() if limits is None else LimitsTable.of(limits)
        track: kinds.Track = "frozen-evidence/reconstruct"
        return CaseFile(case_id, version, track, title, ("policy",), table, declared.investigation, declared.notes)
    except ValueError as error:
        raise InputError(str(error), where=case_id) from error


def _source(store: ObjectStore, source: Path, contract: Contract) -> Tree:
    """The source's tree, without what its build makes and without version control."""
    if not source.is_dir():
        raise InputError("there is no such folder", where=str(source), fix="name the folder that holds index.html")
    recipe = contract.build
    if not recipe.argv:
        place = source if recipe.output == "." else source / recipe.output
        if not (place / "index.html").is_file():
            raise InputError("no index.html in the source folder", where=str(place), fix="add index.html")
    tree = read_tree(store, source, exclude=_left_out(contract))
    save_tree(store, tree)
    return tree


def _starter(store: ObjectStore, starter: Path | None, contract: Contract, title: str) -> Tree:
    if starter is not None:
        return read_tree(store, starter, exclude=_left_out(contract))
    if contract.build.argv:
        raise InputError("a case with a build step needs a starter that builds", fix="give one with --starter")
    return _files(store, page.starter_files(title)).under(contract.build.output)


def _left_out(contract: Contract) -> Callable[[str], bool]:
    """Whether a path is what a build made, or a tool's own, and no part of a workspace."""
    recipe = contract.build
    made = {".git", recipe.output} if recipe.argv else {".git"}
    return lambda path: path in made or path.rpartition("/")[2] == "__pycache__"


def _files(store: ObjectStore, files: Mapping[str, bytes]) -> Tree:
    return Tree.of(TreeEntry.file(name, store.put_bytes(data), len(data)) for name, data in files.items())
