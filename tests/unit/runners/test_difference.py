"""The diff between two trees."""

from pathlib import Path

import pytest

from runners.difference import LARGE, difference
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def tree(store: ObjectStore, files: dict[str, bytes]) -> Tree:
    return Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())


def test_equal_trees_have_no_difference(store: ObjectStore) -> None:
    files = tree(store, {"a": b"1\n"})
    assert difference(store, files, files) == b""


def test_changes_additions_and_removals_read_as_git_writes_them(store: ObjectStore) -> None:
    before = tree(store, {"a/same": b"1\n", "changed": b"old\n", "gone": b"x\n"})
    after = tree(store, {"a/same": b"1\n", "changed": b"new\n", "made/deep": b"y\n"})
    text = difference(store, before, after).decode()
    assert "-old\n+new\n" in text
    assert "deleted file mode 100644" in text
    assert "+++ b/made/deep" in text
    assert "same" not in text


def test_modes_and_links_show(store: ObjectStore) -> None:
    digest = store.put_bytes(b"x\n")
    before = Tree.of([TreeEntry.file("run", digest, 2), TreeEntry.link("l", "run")])
    after = Tree.of(
        [TreeEntry.file("run", digest, 2, executable=True), TreeEntry.link("l", "walk"), TreeEntry.directory("d")]
    )
    text = difference(store, before, after).decode()
    assert "old mode 100644\nnew mode 100755\n" in text
    assert "-run" in text
    assert "+walk" in text


def test_large_files_and_names_that_git_refuses_are_listed(store: ObjectStore) -> None:
    after = tree(store, {"big": b"x" * (LARGE + 1), "git~1": b"x", "sub/.git/config": b"x", "ok": b"x\n"})
    text = difference(store, Tree(()), after).decode()
    assert "# not shown, large: big\n" in text
    assert "# not shown, name: sub/.git/config\n" in text
    assert "+++ b/ok" in text


def test_binary_files_are_named_only(store: ObjectStore) -> None:
    text = difference(store, Tree(()), tree(store, {"a.png": b"\x89PNG\0\xff"}))
    assert b"Binary files /dev/null and b/a.png differ" in text
