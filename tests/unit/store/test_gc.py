"""gc's steps: only what is old goes aside, what is kept comes back, and DVC's names go with their objects."""

from __future__ import annotations

import json

import pytest

from store import dvc, gc
from store.digest import Digest
from store.directory import load_tree, put_tree
from store.fsck import fsck
from tests.unit.store.moments import moment


@pytest.fixture
def old(store):
    """Three objects, and a time after them."""
    found = [store.put_bytes(data) for data in (b"one", b"two", b"three")]
    store.flush()
    return found, moment(store)


def test_what_was_put_again_stays(store, old):
    (one, two, three), before = old
    assert {digest: taken.size for digest, taken in gc.taken(store).items()} == {one: 3, two: 3, three: 5}
    store.put_bytes(b"two")
    assert set(gc.set_aside(store, [one, two, three], before)) == {one, three}
    assert set(store.digests()) == {two}
    assert fsck(store, {}).stray[0].parts[0] == gc.FOLDER
    assert gc.remove(store, {three}) == {one: 3}
    assert gc.put_back(store, {three}) == [three]
    assert store.get(three) == b"three"
    assert not gc.waiting(store)


def test_what_a_writer_has_put_meanwhile_is_not_disturbed(store, old):
    (one, *_), before = old
    gc.set_aside(store, [one], before)
    assert store.put_bytes(b"one") == one
    inode = store.path(one).stat().st_ino
    assert gc.put_back(store, {one}) == [one]
    assert store.path(one).stat().st_ino == inode
    gc.set_aside(store, [one], moment(store))
    store.put_bytes(b"one")
    assert gc.remove(store, set()) == {one: 3}
    assert store.get(one) == b"one"


def test_an_object_that_is_gone_is_no_fault_and_other_files_are_left_alone(store, old):
    _, before = old
    assert gc.set_aside(store, [Digest.of(b"never")], before) == []
    (store.root / gc.FOLDER / "notes.txt").write_text("mine")
    assert gc.remove(store, set()) == {}
    assert (store.root / gc.FOLDER / "notes.txt").exists()


@pytest.fixture
def offered(store, tmp_path):
    """Two offered trees that share a file, the listings of each, and what the second has alone."""
    listings = []
    for name, files in (("first", ("shared", "kept")), ("second", ("shared", "alone"))):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text(file)
        tree = load_tree(store, put_tree(store, tmp_path / name))
        listings.append(dvc.offer(store, tree, {}).md5 + ".dir")
    return listings, Digest.of(b"alone")


def dvc_names(store):
    return {path.parent.name + path.name for path in (store.root / "dvc").glob("files/md5/*/*")}


def test_dvcs_name_of_a_removed_object_and_its_listing_go_too(store, offered):
    (first, second), alone = offered
    before = dvc_names(store)
    gc.set_aside(store, [alone], moment(store))
    assert gc.remove(store, set()) == {alone: 5}
    gone = before - dvc_names(store)
    assert second in gone
    assert first not in gone
    assert len(gone) == 2
    listed = json.loads((store.root / "dvc" / dvc.md5_path(first)).read_bytes())
    assert {row["md5"] for row in listed} <= dvc_names(store)


def test_a_name_that_was_offered_again_stays(store, offered, tmp_path):
    _, alone = offered
    before = dvc_names(store)
    gc.set_aside(store, [alone], moment(store))
    tree = load_tree(store, put_tree(store, tmp_path / "second"))
    dvc.offer(store, tree, {})
    assert gc.remove(store, set()) == {alone: 5}
    assert dvc_names(store) == before
    assert store.get(alone) == b"alone"


def test_what_dead_writers_left_is_swept_by_age(store):
    left = store.root / "tmp" / "77.dead"
    left.write_text("half")
    before = moment(store)
    (store.root / "tmp" / "78.alive").write_text("half")
    assert gc.sweep(store, before, remove=False) == [left]
    assert left.exists()
    assert gc.sweep(store, before, remove=True) == [left]
    assert [path.name for path in (store.root / "tmp").iterdir()] == ["78.alive"]
