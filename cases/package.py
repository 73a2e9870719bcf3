"""The public package of a case, and the author's `case.toml` beside it.

    cases/bindery/
        case.toml          id = "bindery"
                           version = 1
                           track = "frozen-evidence/reconstruct"
                           title = "A bookbinder's page"
                           dimensions = ["global_visual", "functional", "policy"]
                           [limits]
                           seconds = 900
                           memory_mib = 2048
                           cpus = 2
                           pids = 512
                           workspace_mib = 512
        brief.md           what to build, in words
        contract.json      the viewport-state contract
        evidence/          what may be looked at
        starter/           where the Candidate begins

The **package tree** holds brief.md, contract.json, evidence/ and starter/, nothing else: it is what a Candidate can
see. No selector, weight or threshold belongs in this folder. Nothing is rendered or sealed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from cases.contract import Contract, Part
from cases.source import Investigation
from cases.toml import read_toml
from ledger.records import kinds
from store.digest import Digest
from store.directory import put_tree, save_tree
from store.errors import InputError, RblError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

__all__ = [
    "CASE_FILE",
    "DEFAULT_LIMITS",
    "EVIDENCE",
    "CaseFile",
    "LimitsTable",
    "Package",
    "PackageTrees",
    "check_id",
    "check_tree",
    "not_of_package",
    "put_package",
    "read_brief",
    "save_package",
]

CASE_FILE: Final = "case.toml"
BRIEF: Final = "brief.md"
CONTRACT: Final = "contract.json"
EVIDENCE: Final = "evidence"
STARTER: Final = "starter"

DEFAULT_LIMITS: Final = kinds.Limits(seconds=900, memory=2 << 30, cpus=2000, pids=512, workspace=512 << 20)
"""Fifteen minutes, 2 GiB, two CPUs, 512 processes, half a GiB of workspace."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MIB: Final = 1 << 20
_LONGEST_BRIEF: Final = 1 << 20
_LONGEST_TITLE: Final = 200


class LimitsTable(Part, frozen=True):
    """What an attempt may use, in an author's units.

    Attributes:
        seconds: wall time of the agent.
        memory_mib: memory and swap together, in MiB.
        cpus: CPUs; thousandths are kept.
        pids: processes and threads.
        workspace_mib: size of the workspace, in MiB.
    """

    seconds: int = DEFAULT_LIMITS.seconds
    memory_mib: int = DEFAULT_LIMITS.memory // _MIB
    cpus: int | float = DEFAULT_LIMITS.cpus // 1000
    pids: int = DEFAULT_LIMITS.pids
    workspace_mib: int = DEFAULT_LIMITS.workspace // _MIB

    def __post_init__(self) -> None:
        for name, value, most in (
            ("seconds", self.seconds, 7 * 86_400),
            ("memory_mib", self.memory_mib, 1 << 20),
            ("cpus", self.cpus, 1024),
            ("pids", self.pids, 1 << 20),
            ("workspace_mib", self.workspace_mib, 1 << 20),
        ):
            if not 0 < value <= most:
                raise ValueError(f"{name} is above 0 and at most {most}, not {value}")
        if abs(self.cpus * 1000 - round(self.cpus * 1000)) > 1e-6:  # noqa: PLR2004 - room for binary fractions
            raise ValueError(f"cpus has at most three decimals, not {self.cpus}")

    @classmethod
    def of(cls, limits: kinds.Limits) -> Self:
        """The table of a record's limits; parts of a MiB are dropped."""
        whole, thousandths = divmod(limits.cpus, 1000)
        return cls(
            seconds=limits.seconds,
            memory_mib=limits.memory // _MIB,
            cpus=limits.cpus / 1000 if thousandths else whole,
            pids=limits.pids,
            workspace_mib=limits.workspace // _MIB,
        )

    def limits(self) -> kinds.Limits:
        """In the units of records: bytes and thousandths."""
        return kinds.Limits(
            seconds=self.seconds,
            memory=self.memory_mib * _MIB,
            cpus=round(self.cpus * 1000),
            pids=self.pids,
            workspace=self.workspace_mib * _MIB,
        )


class CaseFile(Part, frozen=True):
    """`case.toml`.

    Attributes:
        id, version: name of the case version.
        track: family of cases.
        title: one line.
        dimensions: what it is judged in.
        limits: what an attempt may use.
        source: its provenance; a case without it cannot have an oracle.
        notes: the author's own.
    """

    id: str
    version: int
    track: kinds.Track
    title: str
    dimensions: tuple[kinds.Dimension, ...]
    limits: LimitsTable = LimitsTable()
    source: Investigation | None = None
    notes: str = ""

    def __post_init__(self) -> None:
        if _ID.fullmatch(self.id) is None:
            raise ValueError(f"{self.id!r} is not an id: lower-case letters, digits, `.`, `_` and `-`, at most 64")
        if self.version < 1:
            raise ValueError(f"version counts from 1, not {self.version}")
        if not self.title.strip() or "\n" in self.title or len(self.title) > _LONGEST_TITLE:
            raise ValueError(f"title is one line of 1 to {_LONGEST_TITLE} characters")
        if not self.dimensions or len(set(self.dimensions)) != len(self.dimensions):
            raise ValueError("dimensions are at least one, each once")

    def format(self) -> str:
        """The file's text, which `read_toml` reads as the same value."""
        lines = [
            f"id = {_quote(self.id)}",
            f"version = {self.version}",
            f"track = {_quote(self.track)}",
            f"title = {_quote(self.title)}",
            f"dimensions = [{', '.join(_quote(name) for name in self.dimensions)}]",
        ]
        if self.notes:
            lines.append(f"notes = {_quote(self.notes)}")
        lines += [
            "",
            "[limits]",
            f"seconds = {self.limits.seconds}",
            f"memory_mib = {self.limits.memory_mib}",
            f"cpus = {self.limits.cpus}",
            f"pids = {self.limits.pids}",
            f"workspace_mib = {self.limits.workspace_mib}",
        ]
        if self.source is not None:
            lines += [
                "",
                "[source]",
                f"lead = {_quote(self.source.lead)}",
                f"origin = {_quote(self.source.origin)}",
                f"permission = {_quote(self.source.permission)}",
                f"differences = [{', '.join(_quote(text) for text in self.source.differences)}]",
            ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class PackageTrees:
    """A package in the store.

    Attributes:
        package: tree of the whole, what a Candidate sees.
        evidence, starter: trees of the two folders.
        contract: the contract's own object.
    """

    package: Digest
    evidence: Digest
    starter: Digest
    contract: Digest


@dataclass(frozen=True, slots=True)
class Package:
    """A case's folder, read and checked.

    Attributes:
        root: the folder.
        case: its `case.toml`.
        contract: its `contract.json`.
        brief: text of its `brief.md`.
    """

    root: Path
    case: CaseFile
    contract: Contract
    brief: str

    @classmethod
    def load(cls, root: Path) -> Self:
        """Read a case's folder.

        Raises:
            InputError: something is missing, or says what it must not; file, line and key are named.
        """
        if not root.is_dir():
            raise InputError("there is no such case folder", where=str(root), fix="`rbl case list` shows the cases")
        case = read_toml(root / CASE_FILE, CaseFile)
        if case.id != root.name:
            raise InputError(
                f"the folder is called {root.name}, and its case {case.id}",
                where=str(root / CASE_FILE),
                fix="give both the same name",
            )
        for name in (EVIDENCE, STARTER):
            folder = root / name
            if folder.is_symlink() or not folder.is_dir():
                raise InputError(f"there is no folder {name}/", where=str(root), fix=f"add {name}/ to the package")
        return cls(root, case, _contract(root / CONTRACT), read_brief(root / BRIEF))


def put_package(store: ObjectStore, root: Path, md5: dict[Digest, str] | None = None) -> PackageTrees:
    """Store a case's public package: brief.md, contract.json, evidence/, starter/, and nothing else of the folder.

    Args:
        store: where to.
        root: the case's folder.
        md5: is given the MD5 of each file of evidence/, taken in the same read.

    Raises:
        InputError: the folder is not a case's, as `Package.load` says.
        TreeError: it holds what a tree may not hold.
    """
    Package.load(root)
    contract = store.put_file(root / CONTRACT)
    evidence = put_tree(store, root / EVIDENCE, md5=md5)
    starter = put_tree(store, root / STARTER)
    package = put_tree(store, root, exclude=not_of_package)
    return PackageTrees(package, evidence, starter, contract)


def not_of_package(path: str) -> bool:
    """Whether something in a case's folder is not for Candidates."""
    return path.split("/", 1)[0] not in {BRIEF, CONTRACT, EVIDENCE, STARTER}


def save_package(store: ObjectStore, *, brief: bytes, contract: bytes, evidence: Tree, starter: Tree) -> PackageTrees:
    """Store a package from its parts; the same parts in a folder give the same digests."""
    top = Tree.of(
        TreeEntry.file(name, store.put_bytes(data), len(data)) for name, data in ((BRIEF, brief), (CONTRACT, contract))
    )
    trees = {EVIDENCE: evidence, STARTER: starter}
    for name, tree in trees.items():
        top = top.merge(tree.under(name) if len(tree) else Tree.of([TreeEntry.directory(name)]))
    return PackageTrees(
        save_tree(store, top), save_tree(store, evidence), save_tree(store, starter), Digest.of(contract)
    )


def check_tree(tree: Tree) -> None:
    """Refuse a tree that is no package: something missing, or something that a Candidate must not be given.

    Raises:
        InputError: naming the path.
    """
    tops = {entry.path.split("/", 1)[0] for entry in tree}
    for name in (BRIEF, CONTRACT, EVIDENCE, STARTER):
        if name not in tops:
            raise InputError(f"a package without {name}", where=str(tree.digest), fix="freeze the case again")
    surplus = sorted(tops - {BRIEF, CONTRACT, EVIDENCE, STARTER})
    if surplus:
        raise InputError("a package holds something that is not for Candidates", where=surplus[0], fix="leave it out")
    for name in (BRIEF, CONTRACT):
        entry = tree.get(name)
        if entry is None or not entry.is_file:
            raise InputError(f"{name} is not a file of the package", where=str(tree.digest))


def check_id(case: str) -> str:
    """The id itself, when it is one.

    Raises:
        InputError: it is not.
    """
    if _ID.fullmatch(case) is None:
        raise InputError(
            f"not the id of a case: {case[:80]!r}", fix="use lower-case letters, digits, `.`, `_` and `-`, at most 64"
        )
    return case


def _contract(path: Path) -> Contract:
    try:
        return Contract.parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"there is no {CONTRACT}", where=str(path), fix="freeze the case, which writes it") from error
    except RblError as error:
        raise InputError(error.what, where=str(path), fix=error.fix) from error


def read_brief(path: Path) -> str:
    """The text of a `brief.md`.

    Raises:
        InputError: it is missing, empty, not UTF-8 or larger than 1 MiB.
    """
    try:
        if path.stat().st_size > _LONGEST_BRIEF:
            raise InputError(f"{BRIEF} is larger than 1 MiB", where=str(path), fix="move pictures into evidence/")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"there is no {BRIEF}", where=str(path), fix="say in words what is to be built") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{BRIEF} is not UTF-8", where=str(path)) from error
    if not text.strip():
        raise InputError(f"{BRIEF} is empty", where=str(path), fix="say in words what is to be built")
    return text


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def _quote(text: str) -> str:
    """A TOML basic string."""
    return (
        '"'
        + "".join(
            _ESCAPES.get(char, char if char >= " " and char != "\x7f" else f"\\u{ord(char):04x}") for char in text
        )
        + '"'
    )
