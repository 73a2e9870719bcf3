import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from store.digest import Digest
from store.directory import check_out, load_tree, put_tree, read_tree, save_tree, write_out
from store.errors import Conflict, HarnessError, InputError, ObjectCorrupt, ObjectMissing, TreeError
from store.tree import Tree, TreeEntry


@pytest.fixture
def site(tmp_path):
    root = tmp_path / "site"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "empty" / "er").mkdir(parents=True)
    (root / "index.html").write_text("<p>é</p>")
    (root / "src" / "run").write_text("#!/bin/sh\n")
    (root / "src" / "run").chmod(0o755)
    (root / "src" / "deep" / "big").write_bytes(os.urandom(3_000_000))
    (root / "src" / "latest").symlink_to("deep/big")
    (root / "src" / "up").symlink_to("../index.html")
    (root / "src" / "dangling").symlink_to("none")
    return root


def _rule(store, root, **options):
    with pytest.raises(TreeError) as caught:
        put_tree(store, root, **options)
    return caught.value.rule


def _listing(root):
    found = {}
    for path in sorted(root.rglob("*")):
        kind = path.lstat()
        what = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (stat.S_IFMT(kind.st_mode), bool(kind.st_mode & 0o100), what)
    return found


def test_a_directory_comes_back_with_links_bits_and_empty_directories(store, site, tmp_path):
    digest = put_tree(store, site)
    check_out(store, digest, tmp_path / "out")
    assert _listing(tmp_path / "out") == _listing(site)
    assert put_tree(store, tmp_path / "out") == digest
    assert load_tree(store, digest).digest == digest


def test_everything_is_on_the_disk_when_put_tree_returns(store, site):
    digest = put_tree(store, site)
    for each in store.digests():
        assert stat.S_IMODE(store.path(each).stat().st_mode) == 0o444
    assert store.has(digest)


def test_modes_do_not_depend_on_the_umask(store, site, tmp_path):
    digest = put_tree(store, site)
    old = os.umask(0o077)
    try:
        check_out(store, digest, tmp_path / "out")
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(p.lstat().st_mode) for p in (tmp_path / "out").rglob("*") if not p.is_symlink()}
    assert modes == {0o644, 0o755}


def test_times_owners_and_other_bits_do_not_change_the_digest(store, site):
    digest = put_tree(store, site)
    os.utime(site / "index.html", (1, 1))
    (site / "index.html").chmod(0o606)
    (site / "src").chmod(0o700)
    assert put_tree(store, site) == digest


def test_set_user_id_is_dropped(store, site, tmp_path):
    (site / "src" / "run").chmod(0o6755)
    (site / "src").chmod(0o3777)
    check_out(store, put_tree(store, site), tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out" / "src" / "run").stat().st_mode) == 0o755


def test_what_is_excluded_is_not_read(store, site):
    os.mkfifo(site / "src" / "fifo")
    tree = read_tree(store, site, exclude=lambda path: path in {"src/fifo", "src/deep", "empty/er"})
    paths = [entry.path for entry in tree]
    assert paths == ["empty", "index.html", "src/dangling", "src/latest", "src/run", "src/up"]
    assert list(store.digests()) == sorted({e.digest for e in tree if e.digest})


def test_special_files_are_refused(store, site):
    os.mkfifo(site / "fifo")
    assert _rule(store, site) == "device"
    (site / "fifo").unlink()
    here = Path.cwd()
    os.chdir(site)
    try:
        with socket.socket(socket.AF_UNIX) as plug:
            plug.bind("plug")
            assert _rule(store, site) == "device"
    finally:
        os.chdir(here)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_device_nodes_are_refused(store, site):
    os.mknod(site / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    assert _rule(store, site) == "device"


@pytest.mark.parametrize("name", [b"\xff", b"a\\b"])
def test_names_that_a_tree_may_not_hold_are_refused(store, site, name):
    (site / os.fsdecode(name)).touch()
    assert _rule(store, site) == "path"


@pytest.mark.parametrize("pair", [("a", "A"), ("é", "e\u0301")])
def test_names_equal_but_for_case_or_form_are_refused(store, site, pair):
    for name in pair:
        (site / name).write_text(name)
    assert _rule(store, site) == "duplicate"


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "src/../../outside"])
def test_links_that_lead_out_are_refused(store, site, target):
    (site / "escape").symlink_to(target)
    assert _rule(store, site) == "link"


def test_a_directory_that_becomes_a_link_while_it_is_read_leads_nowhere(store, site, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_bytes(b"secret")
    (site / "zz").touch()

    def swap(path):
        if path == "zz":  # by now `src` was seen to be a directory
            shutil.move(site / "src", tmp_path / "moved")
            (site / "src").symlink_to(tmp_path / "secret")
        return False

    assert _rule(store, site, exclude=swap) == "changed"
    assert not store.has(Digest.of(b"secret"))


def test_a_name_that_goes_away_is_an_error(store, site):
    def remove(path):
        if path == "index.html":
            (site / path).unlink()
        return False

    assert _rule(store, site, exclude=remove) == "changed"


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(store, site, tmp_path, monkeypatch):
    (tmp_path / "secret").write_bytes(b"secret")
    look = os.stat

    def swap(name, **options):
        found = look(name, **options)
        if name == "index.html":
            (site / name).unlink()
            (site / name).symlink_to(tmp_path / "secret")
        return found

    monkeypatch.setattr(os, "stat", swap)
    assert _rule(store, site) == "changed"
    assert not store.has(Digest.of(b"secret"))


def test_a_fifo_that_takes_the_place_of_a_file_does_not_hang_the_reader(store, site, monkeypatch):
    look = os.stat

    def swap(name, **options):
        found = look(name, **options)
        if name == "index.html":
            (site / name).unlink()
            os.mkfifo(site / name)
        return found

    monkeypatch.setattr(os, "stat", swap)
    assert _rule(store, site) == "device"


@pytest.fixture
def deep(tmp_path, monkeypatch):
    """A directory deeper than Python recurses; taken away again, since `shutil.rmtree` could not."""
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    for _ in range(1100):
        Path("d").mkdir()
        os.chdir("d")
    yield tmp_path / "deep"
    os.chdir(tmp_path / "deep" / "/".join(["d"] * 1100))
    for _ in range(1100):
        os.chdir("..")
        Path("d").rmdir()


def test_very_deep_directories_are_read(store, deep):
    assert [entry.path for entry in read_tree(store, deep)] == ["/".join(["d"] * 1100)]


def test_no_descriptor_is_left_open(store, site):
    before = len(list(Path("/proc/self/fd").iterdir()))
    put_tree(store, site)
    os.mkfifo(site / "zz")
    _rule(store, site)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_directory_that_is_not_there_is_bad_input(store, tmp_path):
    with pytest.raises(InputError):
        put_tree(store, tmp_path / "absent")


def test_an_entry_that_lies_about_size_is_not_written_out(store, tmp_path):
    digest = store.put_bytes(b"foo")
    lie = save_tree(store, Tree.of([TreeEntry.file("a", digest, 4)]))
    with pytest.raises(TreeError) as caught:
        check_out(store, lie, tmp_path / "out")
    assert caught.value.rule == "size"


def test_what_is_missing_or_corrupt_is_not_written_out(store, site, tmp_path):
    digest = put_tree(store, site)
    entry = load_tree(store, digest).get("index.html")
    path = store.path(entry.digest)
    path.chmod(0o644)
    path.write_bytes(b"x" * entry.size)
    with pytest.raises(ObjectCorrupt):
        check_out(store, digest, tmp_path / "one")
    with pytest.raises(ObjectMissing):
        check_out(store, digest, tmp_path / "two")


def test_nothing_is_written_over(store, site, tmp_path):
    digest = put_tree(store, site)
    (tmp_path / "empty").mkdir()
    check_out(store, digest, tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "elsewhere").mkdir()
    for target in (tmp_path / "empty", site / "index.html", tmp_path / "link"):
        with pytest.raises(Conflict):
            check_out(store, digest, target)


def test_an_object_that_is_no_tree_is_said_to_be_none(store):
    for data in (b"foo", b"{}", Tree.of([]).format().replace(b"v1", b"v2")):
        with pytest.raises(TreeError, match="sha256:"):
            load_tree(store, store.put_bytes(data))


def test_the_source_is_never_written(store, site):
    before = {p: p.lstat().st_mtime_ns for p in site.rglob("*")}
    put_tree(store, site)
    assert {p: p.lstat().st_mtime_ns for p in site.rglob("*")} == before


def test_a_directory_without_permission_is_the_machines_fault(store, site):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (site / "src").chmod(0)
    with pytest.raises(HarnessError):
        put_tree(store, site)
    (site / "src").chmod(0o755)


def test_an_empty_tree_makes_an_empty_directory(store, tmp_path):
    write_out(store, Tree.of([]), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    assert read_tree(store, tmp_path / "out") == Tree(())
