import ctypes
import errno
import os

import pytest

from store import disk
from store.errors import HarnessError
from store.objects import ObjectStore

needs_syncfs = pytest.mark.skipif(disk._SYNCFS is None, reason="no syncfs that reports errors")


@needs_syncfs
def test_many_objects_go_down_with_one_sync_of_the_file_system(store, monkeypatch):
    synced, single = [], []
    real = disk._SYNCFS
    monkeypatch.setattr(disk, "_SYNCFS", lambda descriptor: (synced.append(descriptor), real(descriptor))[1])
    monkeypatch.setattr(os, "fsync", single.append)
    digests = [store.put_bytes(bytes([number])) for number in range(20)]
    store.flush()
    assert (len(synced), single) == (1, [])
    assert {store.path(digest).stat().st_mode & 0o777 for digest in digests} == {0o444}


@needs_syncfs
def test_a_failed_sync_of_the_file_system_makes_no_object_durable(store, monkeypatch):
    digests = [store.put_bytes(bytes([number])) for number in range(20)]

    def fail(_descriptor):
        ctypes.set_errno(errno.EIO)
        return -1

    monkeypatch.setattr(disk, "_SYNCFS", fail)
    with pytest.raises(HarnessError, match="not on the disk"):
        store.flush()
    monkeypatch.undo()
    assert not any(store.has(digest) for digest in digests)
    with pytest.raises(HarnessError, match="earlier fsync failed"):
        store.put_bytes(b"more")
    fresh = ObjectStore.open(store.root)
    assert [fresh.put_bytes(bytes([number])) for number in range(20)] == digests
    fresh.flush()


def test_few_objects_are_synced_one_by_one(store, monkeypatch):
    store.put_bytes(b"one")
    calls = []
    monkeypatch.setattr(disk, "_SYNCFS", calls.append)
    store.flush()
    assert calls == []
