"""The unified diff between two trees, as git writes it, for people to read.

    diff --git a/index.html b/index.html
    index 3b18e51..ce01362 100644
    --- a/index.html
    +++ b/index.html
    @@ -1 +1 @@
    -<h1>starter</h1>
    +<h1>done</h1>

Only entries that differ are looked at. Files above a size, and names that git refuses, are listed in one line each at
the end, because their bytes are in the store anyway. Nothing is judged by it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

if TYPE_CHECKING:
    import pygit2

__all__ = ["difference"]

LARGE: Final = 1 << 20
"""Files beyond this many bytes are only listed."""
LONGEST: Final = 16 << 20
"""Where the text ends, in bytes, whatever is left."""

_MODES: Final = {"100644": 0o100644, "100755": 0o100755, "120000": 0o120000}


def difference(store: ObjectStore, before: Tree, after: Tree) -> bytes:
    """What changed from one tree to another; empty when nothing did.

    Raises:
        ObjectMissing, ObjectCorrupt, HarnessError: as the store.
    """
    import pygit2

    old = {entry.path: entry for entry in before if entry.mode != "040000"}
    new = {entry.path: entry for entry in after if entry.mode != "040000"}
    changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    large = {path for path in changed for side in (old, new) if path in side and side[path].size > LARGE}
    with tempfile.TemporaryDirectory(prefix="rbl-diff-") as folder:
        repository = pygit2.init_repository(folder, bare=True)
        try:
            first, refused = _tree(repository, store, (old[path] for path in sorted(changed - large) if path in old))
            second, too = _tree(repository, store, (new[path] for path in sorted(changed - large) if path in new))
            text = b"".join(_patches(first.diff_to_tree(second)))
        finally:
            repository.free()
    notes = [f"# not shown, {'large' if path in large else 'name'}: {path}\n" for path in sorted(large | refused | too)]
    return (text + "".join(notes).encode())[:LONGEST]


def _tree(
    repository: pygit2.Repository, store: ObjectStore, entries: Iterable[TreeEntry]
) -> tuple[pygit2.Tree, set[str]]:
    """A git tree of these entries, and the names that git refuses."""
    import pygit2

    index = pygit2.Index()
    refused = set()
    for entry in entries:
        data = store.get(entry.digest) if entry.digest is not None else (entry.target or "").encode()
        mode = pygit2.enums.FileMode(_MODES[entry.mode])
        try:
            index.add(pygit2.IndexEntry(entry.path, repository.create_blob(data), mode))
        except (pygit2.GitError, ValueError):
            refused.add(entry.path)
    tree = repository[index.write_tree(repository)]
    assert isinstance(tree, pygit2.Tree)
    return tree, refused


def _patches(diff: pygit2.Diff) -> Iterable[bytes]:
    left = LONGEST
    for patch in diff:
        if patch is not None and left > 0:
            data = patch.data
            left -= len(data)
            yield data
