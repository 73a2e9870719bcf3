import mmap
import os
import stat
import threading
from pathlib import Path

import pytest

from store.digest import Digest
from store.errors import InputError, TreeError


@pytest.fixture
def staged(tmp_path):
    path = tmp_path / "staged"
    path.write_bytes(b"pixels")
    return path


DIGEST = Digest.of(b"pixels")


def _check(store, staged, inode, *, adopted):
    assert store.adopt(staged) == (DIGEST, 6)
    store.flush()
    assert not staged.exists()
    assert store.get(DIGEST) == b"pixels"
    found = store.path(DIGEST).stat()
    assert (found.st_ino == inode) is adopted
    assert stat.S_IMODE(found.st_mode) == 0o444
    assert list((store.root / "tmp").iterdir()) == []


def test_a_finished_file_becomes_the_object_itself(store, staged):
    _check(store, staged, staged.stat().st_ino, adopted=True)


def test_a_file_that_is_open_for_writing_is_copied(store, staged):
    inode = staged.stat().st_ino
    with staged.open("r+b") as writer:
        _check(store, staged, inode, adopted=False)
        writer.write(b"LATER!")
    assert store.get(DIGEST) == b"pixels"


def test_a_file_that_is_mapped_for_writing_is_copied(store, staged):
    inode = staged.stat().st_ino
    with staged.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    _check(store, staged, inode, adopted=False)
    memory[:3] = b"xxx"
    assert store.get(DIGEST) == b"pixels"


def test_a_file_with_another_name_is_copied(store, staged, tmp_path):
    os.link(staged, tmp_path / "other")
    _check(store, staged, staged.stat().st_ino, adopted=False)
    (tmp_path / "other").write_bytes(b"LATER!")
    assert store.get(DIGEST) == b"pixels"


def test_a_file_of_another_file_system_is_copied(store):
    elsewhere = Path("/dev/shm") / f"rbl-adopt-{os.getpid()}"
    if not elsewhere.parent.is_dir() or elsewhere.parent.stat().st_dev == store.root.stat().st_dev:
        pytest.skip("no second file system")
    elsewhere.write_bytes(b"pixels")
    try:
        _check(store, elsewhere, -1, adopted=False)
    finally:
        elsewhere.unlink(missing_ok=True)


def test_what_would_run_as_another_user_is_copied(store, staged):
    staged.chmod(0o4755)
    _check(store, staged, staged.stat().st_ino, adopted=False)


def test_an_object_that_is_there_stays_the_one_it_is(store, staged):
    store.put_bytes(b"pixels")
    inode = store.path(DIGEST).stat().st_ino
    _check(store, staged, inode, adopted=True)


def test_who_opens_the_file_while_it_is_hashed_waits_and_finds_it_read_only(store, staged, monkeypatch):
    tried = []

    def write():
        try:
            os.close(os.open(staged, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            tried.append(error)
        else:
            tried.append(None)

    read = os.read

    def meddle(*words):
        if not tried:
            writer = threading.Thread(target=write)
            writer.start()
            writer.join()
        return read(*words)

    monkeypatch.setattr(os, "read", meddle)
    assert store.adopt(staged) == (DIGEST, 6)
    assert isinstance(tried[0], BlockingIOError | PermissionError)


def test_what_is_no_file_is_refused_and_stays(store, tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    for name, error in (("link", TreeError), ("fifo", TreeError), ("absent", InputError)):
        with pytest.raises(error):
            store.adopt(tmp_path / name)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "fifo").exists()
    assert list((store.root / "tmp").iterdir()) == []
