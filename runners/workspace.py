"""What a Candidate starts from: a workspace with one commit, and the public material beside it.

    /workspace/          the starter, with .git: one root commit on branch main, no reflog, tags or remotes
    /task/brief.md       read-only, as are
    /task/contract.json
    /task/evidence/
    /agent/              the agent's own files, read-only; empty when it brings none

The commit's author and time are fixed, so one starter gives one tree, git's folder included. The public material is
checked out below a folder that names its owner, so that what a killed harness left can be told from what is in use.
Nothing but these paths of the public package is ever looked at; sealed material has no way in.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runners.owner import alive, owner, started
from store.digest import Digest
from store.directory import load_tree, read_tree, write_out
from store.errors import Conflict, InputError
from store.objects import ObjectStore
from store.tree import Tree

if TYPE_CHECKING:
    import pygit2

__all__ = ["Stage", "reap", "staged", "with_history"]

_EPOCH: Final = 1_704_067_200  # 2024-01-01T00:00:00Z, in the commit
_CONFIG: Final = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
[user]
\tname = candidate
\temail = candidate@localhost
"""
_MODES: Final = {"100644": 0o100644, "100755": 0o100755, "120000": 0o120000}
_SHOWN: Final = frozenset({"brief.md", "contract.json", "evidence"})


@dataclass(frozen=True, slots=True)
class Stage:
    """Directories of the host that an agent sees read-only."""

    task: Path
    agent: Path


def with_history(store: ObjectStore, starter: Tree) -> Tree:
    """The starter with git's folder, whose one commit holds exactly it; the new files are in the store, not flushed.

    Raises:
        InputError: the starter brings a git folder of its own.
        ObjectMissing, ObjectCorrupt, HarnessError: as the store.
    """
    import pygit2

    if any(entry.path.split("/")[0].lower() == ".git" for entry in starter):
        raise InputError("the starter holds a .git folder", fix="leave it out of the starter; the harness makes one")
    with tempfile.TemporaryDirectory(prefix="rbl-git-") as temporary:
        folder = Path(temporary)
        repository = pygit2.init_repository(folder / ".git", bare=True)
        try:
            _commit(repository, store, starter)
        finally:
            repository.free()
        (folder / ".git/config").write_bytes(_CONFIG)
        return read_tree(store, folder, exclude=_surplus).merge(starter)


def _commit(repository: pygit2.Repository, store: ObjectStore, starter: Tree) -> None:
    import pygit2

    index = pygit2.Index(str(Path(repository.path) / "index"))
    for entry in starter:
        if entry.mode != "040000":
            data = store.get(entry.digest) if entry.digest is not None else (entry.target or "").encode()
            index.add(
                pygit2.IndexEntry(entry.path, repository.create_blob(data), pygit2.enums.FileMode(_MODES[entry.mode]))
            )
    index.write()
    author = pygit2.Signature("rbl", "rbl@localhost", _EPOCH, 0)
    tree = index.write_tree(repository)
    repository.create_commit("refs/heads/main", author, author, "Starter\n", tree, [])
    repository.set_head("refs/heads/main")


def _surplus(path: str) -> bool:
    """Parts of a new git folder that only say what could stand there, or what was done."""
    return path in {".git/hooks", ".git/description", ".git/info", ".git/logs"}


@contextmanager
def staged(store: ObjectStore, folder: str, attempt: str, package: Tree, files: Digest | None) -> Iterator[Stage]:
    """Check out what one attempt's agent sees, for as long as the block runs.

    Args:
        store: holds both trees.
        folder: label of the benchmark folder.
        attempt: its id.
        package: the public package.
        files: tree of the agent's files.

    Raises:
        Conflict: this attempt is staged already.
        ObjectMissing, ObjectCorrupt, HarnessError: as the store.
    """
    place = _place(folder, attempt)
    try:
        (place / "owner").write_text(f"{owner()} {started()}\n", encoding="utf-8")
        stage = Stage(task=place / "task", agent=place / "agent")
        shown = Tree.of(entry for entry in package if entry.path.split("/")[0] in _SHOWN)
        write_out(store, shown, stage.task)
        (stage.task / "evidence").mkdir(exist_ok=True)
        write_out(store, Tree(()) if files is None else load_tree(store, files), stage.agent)
        for path in (stage.task, stage.agent):
            path.chmod(0o755)
        yield stage
    finally:
        shutil.rmtree(place)
        _leave(place.parent)


def reap(folder: str, attempts: frozenset[str] | None = None) -> list[str]:
    """Remove what dead harnesses left staged; with `attempts`, theirs, whoever owns them. Returns what was removed."""
    removed = []
    for place in sorted(_home(folder).iterdir()):
        if place.name in attempts if attempts is not None else _abandoned(place):
            shutil.rmtree(place)
            removed.append(f"stage {place.name}")
    _leave(_home(folder))
    return removed


def _place(folder: str, attempt: str) -> Path:
    """Make the folder of one attempt's stage."""
    while True:
        place = _home(folder) / attempt
        try:
            place.mkdir(mode=0o700)
        except FileNotFoundError:  # another attempt has just left the home, empty
            continue
        except FileExistsError as error:
            fix = "run `rbl attempt recover`"
            raise Conflict("the attempt is staged already", where=str(place), fix=fix) from error
        return place


def _leave(home: Path) -> None:
    """Remove the home of stages when nothing is staged in it."""
    try:
        home.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT}:
            raise


def _abandoned(place: Path) -> bool:
    try:
        name, _, since = (place / "owner").read_text(encoding="utf-8").strip().partition(" ")
    except FileNotFoundError:
        return False  # being made at this moment
    return not alive(name, since)


def _home(folder: str) -> Path:
    """This user's own folder for stages of one benchmark folder."""
    home = Path(tempfile.gettempdir()) / f"rbl-{os.getuid()}-{Digest.of(folder.encode()).hex[:12]}"
    home.mkdir(mode=0o700, exist_ok=True)
    found = home.lstat()
    if home.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise Conflict("a folder for stages is not ours alone", where=str(home), fix="remove it, or set TMPDIR")
    return home
