import os
import time

import pytest

from store.digest import Digest
from store.directory import load_tree, put_tree
from store.statcache import SETTLED, StatCache


@pytest.fixture
def site(tmp_path):
    root = tmp_path / "site"
    root.mkdir()
    (root / "a").write_bytes(b"one")
    (root / "b").write_bytes(b"two")
    return root


@pytest.fixture
def later(monkeypatch):
    """The clock of the reader goes ahead of the files', so that what was just written counts as settled."""
    clock = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 2 * SETTLED)


@pytest.fixture
def reads(monkeypatch):
    """How many pieces of files were read."""
    calls = []
    read = os.read
    monkeypatch.setattr(os, "read", lambda *words: (calls.append(words), read(*words))[1])
    return calls


def _put(store, root):
    return put_tree(store, root, cache=StatCache.open(store.root / "index", root))


def test_what_did_not_change_is_not_read_again(store, site, later, reads):
    digest = _put(store, site)
    assert reads
    reads.clear()
    assert _put(store, site) == digest
    assert not reads
    assert digest == put_tree(store, site)


def test_a_file_as_young_as_the_clock_is_exact_is_read_again(store, site, reads):
    _put(store, site)
    reads.clear()
    _put(store, site)
    assert reads


def test_an_edit_that_keeps_size_and_modification_time_is_seen(store, site, later):
    _put(store, site)
    before = (site / "a").stat()
    while (site / "a").stat().st_ctime_ns == before.st_ctime_ns:
        (site / "a").write_bytes(b"eno")
        os.utime(site / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (site / "a").stat().st_mtime_ns == before.st_mtime_ns
    assert load_tree(store, _put(store, site)).get("a").digest == Digest.of(b"eno")


def test_an_edit_within_the_tick_in_which_the_file_was_hashed_is_seen(store, site):
    """The racy case: nothing that stat(2) tells differs, for all the cache knows."""
    _put(store, site)
    (site / "a").write_bytes(b"eno")
    cache = StatCache.open(store.root / "index", site)
    assert cache.get("a", (site / "a").stat()) is None
    assert load_tree(store, _put(store, site)).get("a").digest == Digest.of(b"eno")


def test_another_file_in_the_place_of_a_known_one_is_read(store, site, later):
    _put(store, site)
    old = (site / "a").stat()
    (site / "new").write_bytes(b"eno")
    os.utime(site / "new", ns=(old.st_atime_ns, old.st_mtime_ns))
    (site / "new").rename(site / "a")
    assert load_tree(store, _put(store, site)).get("a").digest == Digest.of(b"eno")


def test_an_object_that_is_gone_is_stored_again(store, site, later):
    _put(store, site)
    gone = Digest.of(b"one")
    store.path(gone).unlink()
    _put(store, site)
    assert store.get(gone) == b"one"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version":2}', b'{"version":1,"files":{"a":[1]}}', b"\xff"])
def test_a_damaged_cache_counts_as_empty(store, site, later, damage):
    digest = _put(store, site)
    (kept,) = (store.root / "index").iterdir()
    kept.write_bytes(damage)
    assert _put(store, site) == digest
    assert kept.read_bytes() != damage
