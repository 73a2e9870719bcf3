"""The store: putting a mixed tree, putting it again, checking it; beside openssl, cp and sync, and `dvc add | pull`."""

from __future__ import annotations

import importlib.util
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.measure import RUNS, Line, at_most, once, skipped
from store.directory import hash_tree, load_tree, put_tree
from store.dvc import begin, offer
from store.fsck import fsck
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["lines"]

_MEAN: Final = 174_000  # bytes a file: 906 MB in 5,201 files


def lines(place: Path, megabytes: int) -> Iterator[Line]:
    """Measure, one line after another.

    Args:
        place: an empty folder.
        megabytes: of the generated tree.
    """
    tree = place / "tree"
    count = _generate(tree, megabytes * 10**6)
    with_dvc = importlib.util.find_spec("dvc") is not None
    taken: dict[str, list[float]] = {
        name: [] for name in ("put", "copy", "again", "fsck", "hash", "dvc", "pull", "verify")
    }
    for number in range(RUNS):
        here = place / f"run-{number}"
        here.mkdir()
        taken["copy"].append(once(lambda here=here: _copy(tree, here)))
        store = ObjectStore.create(here / "store")
        taken["put"].append(once(lambda store=store: put_tree(store, tree)))
        names = dict.fromkeys(store.digests(), "the tree")
        taken["again"].append(once(lambda here=here: put_tree(ObjectStore.open(here / "store"), tree)))
        taken["hash"].append(once(lambda: _hash(tree)))
        taken["fsck"].append(once(lambda store=store, names=names: fsck(store, names)))
        if with_dvc:
            shutil.copytree(tree, here / "dvc" / "tree")
            _dvc(here / "dvc", "init", "--no-scm")
            taken["dvc"].append(once(lambda here=here: _dvc(here / "dvc", "add", "tree")))
            listing = load_tree(store, put_tree(store, tree))
            clone = _clone(store, listing, here)
            taken["pull"].append(once(lambda clone=clone: _dvc(clone, "pull")))
            same = partial(_check, clone, listing)
            taken["verify"].append(once(same))
        shutil.rmtree(here)
    put, copy, again, check, hashed = (
        statistics.median(taken[name]) for name in ("put", "copy", "again", "fsck", "hash")
    )
    what = f"{count:,} files, {megabytes} MB"
    yield at_most(f"durable put, {what}", put / copy, 0.5, f"× openssl dgst + cp -r + sync ({copy:.2f} s)")
    if with_dvc:
        add = statistics.median(taken["dvc"])
        yield at_most(f"durable put, {what}", put / add, None, f"× dvc add ({add:.2f} s)")
        yield at_most("put again, nothing changed", again / add, 0.1, "× dvc add")
        pull, verify = (statistics.median(taken[name]) for name in ("pull", "verify"))
        yield at_most(f"verify evidence after dvc pull, {what}", verify / pull, 0.15, f"× the pull ({pull:.2f} s)")
    else:
        for name in ("put again, nothing changed", "verify evidence after dvc pull"):
            yield skipped(name, "dvc is not installed")
    yield at_most("full fsck", check / hashed, 1.2, f"× openssl dgst -sha256 ({hashed:.2f} s)")


def _generate(tree: Path, size: int) -> int:
    """A tree of files of very different sizes, some of them alike; how many."""
    chance = random.Random(2)
    count = left = 0
    left = size
    while left > 0:
        length = min(int(chance.lognormvariate(0, 2) * _MEAN / 7.4) + 1, left, 20_000_000)
        path = tree / f"d{count % 37}" / f"e{count % 5}" / f"file-{count}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(length))
        left -= length
        count += 1
    return count


def _clone(store: ObjectStore, listing: Tree, here: Path) -> Path:
    """What a git clone has before `dvc pull`: the address of a store's folder for DVC, and the `.dvc` file."""
    clone = here / "clone"
    clone.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=clone, check=True)
    begin(clone, {"origin": str(store.root)})
    (clone / "tree.dvc").write_bytes(offer(store, listing, {}).format("tree"))
    return clone


def _check(clone: Path, listing: Tree) -> None:
    if hash_tree(clone / "tree").digest != listing.digest:
        raise AssertionError("dvc pull brought other bytes")


def _files(tree: Path) -> list[str]:
    return sorted(str(path) for path in tree.rglob("*") if path.is_file())


def _hash(tree: Path) -> None:
    subprocess.run(["openssl", "dgst", "-sha256", *_files(tree)], check=True, capture_output=True)


def _copy(tree: Path, here: Path) -> None:
    _hash(tree)
    subprocess.run(["cp", "-r", str(tree), str(here / "copy")], check=True)
    subprocess.run(["sync", "-f", str(here / "copy")], check=True)


def _dvc(place: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "dvc", *arguments], check=True, capture_output=True, cwd=place)
