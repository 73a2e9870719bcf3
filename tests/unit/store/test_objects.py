import json
import os
import pickle
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE, Popen

import pytest

from store.digest import Digest
from store.errors import Conflict, HarnessError, InputError, ObjectCorrupt, ObjectMissing, TreeError
from store.fsck import fsck
from store.objects import CHUNK, ObjectStore


def _mode(store, digest):
    return stat.S_IMODE(store.path(digest).stat().st_mode)


def _damage(store, digest, data=b"evil"):
    path = store.path(digest)
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(0o444)


def _temporaries(store):
    return list((store.root / "tmp").iterdir())


def test_what_is_put_is_what_is_got(store, tmp_path):
    for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK):
        data = os.urandom(size)
        digest = Digest.of(data)
        source = tmp_path / f"{size}"
        source.write_bytes(data)
        assert store.put_file(source) == digest
        assert store.put_bytes(data) == digest
        assert store.put_stream(data[i : i + 999] for i in range(0, size, 999)) == (digest, size)
        assert store.get(digest) == data
        assert b"".join(store.stream(digest, 1000)) == data
        assert store.has(digest)
        assert store.size(digest) == size
    assert _temporaries(store) == []


def test_an_object_lies_where_the_layout_says(store):
    digest = store.put_bytes(b"foo")
    store.flush()
    assert store.path(digest) == store.root / "sha256" / digest.hex[:2] / digest.hex[2:]
    assert _mode(store, digest) == 0o444


def test_digests_lists_in_order_and_passes_over_strangers(store):
    digests = sorted(store.put_bytes(bytes([i])) for i in range(20))
    (store.root / "sha256" / "README").write_text("hello")
    (store.path(digests[0]).parent / "x").write_text("hello")
    assert list(store.digests()) == digests


def test_a_store_is_created_once_and_opened_only_where_it_is(tmp_path):
    made = ObjectStore.create(tmp_path / "a")
    with pytest.raises(Conflict):
        ObjectStore.create(tmp_path / "a")
    with pytest.raises(InputError):
        ObjectStore.open(tmp_path / "b")
    digest = made.put_bytes(b"foo")
    assert ObjectStore.open(tmp_path / "a").get(digest) == b"foo"
    (tmp_path / "a" / "layout.json").write_text('{"algorithm":"sha512","layout":"rbl/objects/v2"}')
    with pytest.raises(InputError, match="newer version"):
        ObjectStore.open(tmp_path / "a")


def test_missing_objects_are_said_to_be_missing(store):
    absent = Digest.of(b"absent")
    assert not store.has(absent)
    for read in (store.get, store.size, lambda d: list(store.stream(d))):
        with pytest.raises(ObjectMissing, match=str(absent)):
            read(absent)


@pytest.mark.parametrize("damaged", [b"", b"evil", b"goof", b"good and more"])
def test_a_corrupt_object_fails_the_read_and_goes_to_quarantine(store, damaged):
    digest = store.put_bytes(b"good")
    store.flush()
    _damage(store, digest, damaged)
    with pytest.raises(ObjectCorrupt, match=str(digest)):
        store.get(digest)
    assert not store.has(digest)
    aside, evidence = sorted((store.root / "quarantine").iterdir())
    assert json.loads(evidence.read_bytes())["found"] == str(Digest.of(damaged))
    assert aside.name.startswith(digest.hex)
    assert aside.read_bytes() == damaged
    with pytest.raises(ObjectMissing):
        store.get(digest)
    assert store.get(store.put_bytes(b"good")) == b"good"


def test_a_stream_of_a_corrupt_object_raises_at_its_end(store):
    digest = store.put_bytes(b"good")
    _damage(store, digest)
    pieces = store.stream(digest, 2)
    assert next(pieces) == b"ev"
    with pytest.raises(ObjectCorrupt):
        list(pieces)


def test_a_link_in_the_place_of_an_object_is_not_followed(store, tmp_path):
    digest = store.put_bytes(b"good")
    (tmp_path / "outside").write_bytes(b"good")
    store.path(digest).unlink()
    store.path(digest).symlink_to(tmp_path / "outside")
    assert not store.has(digest)
    with pytest.raises(HarnessError):
        store.get(digest)


def test_a_truncated_object_is_replaced_by_the_next_writer(store):
    digest = store.put_bytes(b"good")
    store.flush()
    _damage(store, digest, b"goo")
    store.put_bytes(b"good")
    assert store.get(digest) == b"good"
    assert len(list((store.root / "quarantine").iterdir())) == 1


def test_what_a_crash_left_unflushed_is_hashed_before_it_is_relied_upon(tmp_path):
    before = ObjectStore.create(tmp_path / "objects")
    digest = before.put_bytes(b"good")
    assert _mode(before, digest) == 0o400
    path = before.path(digest)
    path.chmod(0o600)
    path.write_bytes(bytes(4))  # blocks that were allocated and never written
    path.chmod(0o400)
    after = ObjectStore.open(tmp_path / "objects")
    assert after.put_bytes(b"good") == digest
    after.flush()
    assert after.get(digest) == b"good"
    assert _mode(after, digest) == 0o444


def test_another_writers_unflushed_object_is_flushed_by_whoever_relies_on_it(tmp_path):
    one = ObjectStore.create(tmp_path / "objects")
    two = ObjectStore.open(tmp_path / "objects")
    digest = one.put_bytes(b"shared")
    two.put_bytes(b"shared")
    two.flush()
    assert _mode(two, digest) == 0o444
    one.flush()


@pytest.mark.parametrize(("durability", "after_put", "after_flush"), [
    ("each", 0o444, 0o444), ("batch", 0o400, 0o444), ("none", 0o400, 0o400),
])  # fmt: skip
def test_the_mode_says_whether_an_object_is_on_the_disk(tmp_path, durability, after_put, after_flush):
    store = ObjectStore.create(tmp_path / "objects", durability)
    digest = store.put_bytes(b"foo")
    assert _mode(store, digest) == after_put
    store.flush()
    assert _mode(store, digest) == after_flush
    assert store.put_bytes(b"foo") == digest


def test_putting_an_object_again_renews_its_age_for_gc(store):
    digest = store.put_bytes(b"foo")
    store.flush()
    before = store.path(digest).stat()
    while store.path(digest).stat().st_ctime_ns == before.st_ctime_ns:
        store.put_bytes(b"foo")
    assert store.path(digest).stat().st_ino == before.st_ino


@pytest.fixture
def broken_fsync(monkeypatch):
    calls = []

    def fsync(_descriptor):
        calls.append(1)
        raise OSError(5, "Input/output error")

    yield lambda: (monkeypatch.setattr(os, "fsync", fsync), calls)[1]
    monkeypatch.undo()


def test_a_failed_fsync_is_fatal_and_not_tried_again(store, broken_fsync, monkeypatch):
    digest = store.put_bytes(b"foo")
    calls = broken_fsync()
    with pytest.raises(HarnessError, match="not on the disk"):
        store.flush()
    assert len(calls) == 1
    monkeypatch.undo()
    for again in (store.flush, lambda: store.put_bytes(b"bar")):
        with pytest.raises(HarnessError, match="earlier fsync failed"):
            again()
    assert not store.has(digest)
    fresh = ObjectStore.open(store.root)
    fresh.put_bytes(b"foo")
    fresh.flush()
    assert fresh.get(digest) == b"foo"


def test_an_iterable_that_raises_leaves_nothing(store):
    def chunks():
        yield b"half"
        raise TreeError("stop", rule="truncated")

    with pytest.raises(TreeError):
        store.put_stream(chunks())
    assert list(store.digests()) == []
    assert _temporaries(store) == []


@pytest.mark.parametrize("size", [10, 2 * CHUNK])
@pytest.mark.parametrize("change", ["append", "truncate", "rewrite"])
def test_a_source_that_changes_while_it_is_read_is_an_error(store, tmp_path, size, change):
    source = tmp_path / "source"
    source.write_bytes(bytes(size))
    read = os.read

    def meddle(descriptor, count):
        piece = read(descriptor, count)
        os.read = read
        with source.open("r+b") as file:
            if change == "truncate":
                file.truncate(size // 2)
            else:
                file.seek(0, 2 if change == "append" else 0)
                file.write(b"!")
        return piece

    os.utime(source, (0, 0))
    os.read = meddle
    try:
        with pytest.raises(TreeError) as caught:
            store.put_file(source)
    finally:
        os.read = read
    assert caught.value.rule == "changed"
    assert list(store.digests()) == []
    assert _temporaries(store) == []


def test_only_regular_files_are_stored(store, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    for name, rule in (("link", "link"), ("dangling", "link"), ("fifo", "device"), (".", "device")):
        with pytest.raises(TreeError) as caught:
            store.put_file(tmp_path / name)
        assert caught.value.rule == rule
    with pytest.raises(InputError):
        store.put_file(tmp_path / "absent")


def test_threads_that_put_the_same_bytes_make_one_object(store):
    data = [os.urandom(5000) for _ in range(20)]
    gate = threading.Barrier(8)

    def work(_):
        gate.wait()
        digests = [store.put_bytes(each) for each in data]
        store.flush()
        return digests

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert all(result == results[0] for result in results)
    assert sorted(results[0]) == list(store.digests())
    assert all(_mode(store, digest) == 0o444 for digest in results[0])
    assert _temporaries(store) == []


WRITER = """
import sys
from pathlib import Path
from store.objects import ObjectStore

store = ObjectStore.open(Path(sys.argv[1]))
sys.stdin.read()
print(*(store.put_stream([bytes([i]) * 10_000])[0] for i in range(50)))
store.flush()
"""


def test_processes_that_put_the_same_bytes_make_one_object(store):
    command = [sys.executable, "-c", WRITER, store.root]
    writers = [Popen(command, stdin=PIPE, stdout=PIPE, text=True) for _ in range(4)]
    for writer in writers:
        writer.stdin.close()
    results = [writer.stdout.read().split() for writer in writers]
    for writer in writers:
        writer.stdout.close()
        assert writer.wait() == 0
    assert all(result == results[0] for result in results)
    assert sorted(results[0]) == [str(digest) for digest in store.digests()]
    assert all(store.get(digest) and _mode(store, digest) == 0o444 for digest in store.digests())
    assert _temporaries(store) == []


KILLED = """
import sys
from pathlib import Path
from store.objects import ObjectStore

def chunks():
    yield b"half of it"
    print("half", flush=True)
    yield sys.stdin.buffer.read()

ObjectStore.open(Path(sys.argv[1])).put_stream(chunks())
"""


def test_a_writer_that_is_killed_leaves_no_object_and_one_stray_file(store):
    kept = store.put_bytes(b"kept")
    with Popen([sys.executable, "-c", KILLED, store.root], stdin=PIPE, stdout=PIPE) as writer:
        assert writer.stdout.readline() == b"half\n"
        writer.kill()
    report = fsck(store, {kept: "case a"})
    assert report.ok
    assert list(store.digests()) == [kept]
    assert [path.parent.name for path in report.stray] == ["tmp"]


def test_a_store_can_be_handed_to_another_process(store):
    digest = store.put_bytes(b"foo")
    assert pickle.loads(pickle.dumps(store)).get(digest) == b"foo"


def test_a_full_disk_is_an_error_that_names_it_and_leaves_nothing(store, monkeypatch):
    write = os.write

    def full(descriptor, data):
        if len(data) > 100:
            return write(descriptor, data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(HarnessError, match=r"No space left.*free space"):
        store.put_bytes(bytes(500))
    monkeypatch.undo()
    assert list(store.digests()) == []
    assert _temporaries(store) == []
