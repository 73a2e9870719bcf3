"""What is served where nothing is built."""

from pathlib import Path

import pytest

from runners.build import plain, site
from store.directory import load_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def tree(store: ObjectStore, *paths: str) -> Tree:
    return Tree.of(TreeEntry.file(path, store.put_bytes(path.encode()), len(path)) for path in paths)


def test_workspace_is_the_site_without_git(store: ObjectStore) -> None:
    output = site(store, plain(tree(store, "index.html", "a/b.css", ".git/HEAD", "lib/.git/config"), "."))
    assert output is not None
    assert [entry.path for entry in load_tree(store, output)] == ["a/b.css", "index.html"]


def test_a_folder_of_the_workspace_can_be_the_site(store: ObjectStore) -> None:
    output = site(store, plain(tree(store, "index.html", "dist/index.html"), "dist"))
    assert output is not None
    assert [entry.path for entry in load_tree(store, output)] == ["index.html"]


def test_site_without_index_is_none(store: ObjectStore) -> None:
    assert site(store, plain(tree(store, "a.html"), ".")) is None
    assert site(store, plain(tree(store, "index.html"), "dist")) is None
    assert site(store, plain(tree(store, "index.html"), "index.html")) is None
    assert site(store, None) is None


def test_output_that_is_a_link_is_none(store: ObjectStore) -> None:
    both = tree(store, "real/index.html").merge(Tree.of([TreeEntry.link("dist", "real")]))
    assert plain(both, "dist") is None
