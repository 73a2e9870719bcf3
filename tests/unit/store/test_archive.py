"""Archives written by hand, by `tarfile` and by GNU tar: what may go into the store, and why the rest may not."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile

import pytest

from store import tar
from store.archive import Caps, pack, unpack, unpack_plain
from store.digest import Digest
from store.directory import load_tree, put_tree, write_out
from store.errors import HarnessError, ObjectMissing, TreeError
from store.tree import Tree, TreeEntry

CAPS = Caps(entries=1000, total_bytes=50_000_000, file_bytes=20_000_000, path_bytes=1024)
END = bytes(1024)

needs_tar = pytest.mark.skipif(shutil.which("tar") is None, reason="GNU tar is not installed")


def member(name, data=b"", kind=tarfile.REGTYPE, *, layout=tarfile.GNU_FORMAT, **fields):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info.tobuf(layout, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def raw(name, kind=b"0", size=0, *, mode=0o644, target=b"", data=b""):
    """A header without any of tarfile's care; sets the checksum."""
    block = bytearray(512)
    block[0 : len(name)] = name
    block[100:108] = b"%07o\0" % mode
    block[124:136] = b"%011o\0" % size
    block[156:157] = kind
    block[157 : 157 + len(target)] = target
    block[257:265] = b"ustar\x0000"
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data + bytes(-len(data) % 512)


def pax(*records, kind=b"x"):
    data = b""
    for key, value in records:
        body = b" " + key + b"=" + value + b"\n"
        length = len(body) + 1
        while len(str(length)) + len(body) != length:
            length += 1
        data += str(length).encode() + body
    return raw(b"pax", kind, len(data), data=data)


def take(store, *parts, caps=CAPS, **options):
    return unpack(io.BytesIO(b"".join(parts) + END), store, caps, **options)


def rule(store, *parts, caps=CAPS, end=END):
    with pytest.raises(TreeError) as caught:
        unpack(io.BytesIO(b"".join(parts) + end), store, caps)
    assert list((store.root / "tmp").iterdir()) == []
    return caught.value.rule


# ------------------------------------------------------------------------------------------------------- packing


@pytest.fixture
def tree(store):
    return Tree.of(
        [
            TreeEntry.file("a/b/é", store.put_bytes(b"foo"), 3),
            TreeEntry.file("a/" + "long" * 40, store.put_bytes(b"x" * 512), 512, executable=True),
            TreeEntry.file("big", *store.put_stream([bytes(1 << 20)] * 3)),
            TreeEntry.link("a/l", "b/é"),
            TreeEntry.link("a/m", "z" * 120),
            TreeEntry.directory("none"),
            TreeEntry.file("zero", store.put_bytes(b""), 0),
        ]
    )


def test_a_tree_comes_back_from_its_tar(store, tree):
    assert unpack(io.BytesIO(b"".join(pack(store, tree))), store, CAPS) == tree
    assert unpack(io.BytesIO(b"".join(pack(store, tree, prefix="w/x"))), store, CAPS).subtree("w/x") == tree


def test_the_same_tree_makes_the_same_bytes_for_ever(store):
    small = Tree.of(
        [TreeEntry.file("a/b", store.put_bytes(b"foo"), 3), TreeEntry.link("a/é", "b"), TreeEntry.directory("c")]
    )
    data = b"".join(pack(store, small, prefix="w"))
    assert hashlib.sha256(data).hexdigest() == "083640f4ac199196b45bc8a52d7a85f85ea6e4a8a822523bf998c2a237ed1ee4"
    assert b"".join(pack(store, Tree.parse(small.format()), prefix="w")) == data


def test_other_readers_see_owner_time_modes_and_names(store, tree):
    data = b"".join(pack(store, tree, prefix="w", uid=7, gid=8, mtime=9))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = {each.name: each for each in archive.getmembers()}
        assert {(each.uid, each.gid, each.mtime, each.uname) for each in members.values()} == {(7, 8, 9, "")}
        assert list(members)[:3] == ["w", "w/a", "w/a/b"]
        assert members["w/a/b/é"].mode == 0o644
        assert members["w/a/" + "long" * 40].mode == 0o755
        assert members["w/a/m"].linkname == "z" * 120
        assert members["w/none"].isdir()
        assert archive.extractfile("w/big").read() == bytes(3 << 20)


@needs_tar
def test_gnu_tar_extracts_the_same_directory(store, tree, tmp_path):
    (tmp_path / "out").mkdir()
    data = b"".join(pack(store, tree))
    subprocess.run(["tar", "-x", "--no-same-owner", "-C", tmp_path / "out"], input=data, check=True)
    assert load_tree(store, put_tree(store, tmp_path / "out")) == tree


def test_an_entry_that_lies_about_size_is_not_packed(store):
    lie = Tree.of([TreeEntry.file("a", store.put_bytes(b"foo"), 4)])
    with pytest.raises(TreeError) as caught:
        list(pack(store, lie))
    assert caught.value.rule == "size"


def test_a_missing_object_is_not_packed(store):
    with pytest.raises(ObjectMissing):
        list(pack(store, Tree.of([TreeEntry.file("a", Digest.of(b"absent"), 4)])))


def test_a_file_of_eight_gibibytes_gets_a_pax_size():
    size = 8 << 30
    data = tar.header("a", b"0", size=size, mode=0o644, owner=(0, 0), mtime=0, target="")
    assert next(tar.Reader(io.BytesIO(data)).members()).size == size
    with tarfile.open(fileobj=io.BytesIO(data + END), mode="r|") as archive:
        assert archive.next().size == size


# ----------------------------------------------------------------------------------------------------- unpacking


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_common_format_is_read(store, layout):
    long = "d" * 80 + "/" + "f" * 90
    names = ["short", long] + ([] if layout == tarfile.USTAR_FORMAT else ["é" * 100, "x/" * 150 + "y"])
    tree = take(store, *(member(name, name.encode(), layout=layout) for name in names))
    assert sorted(entry.path for entry in tree) == sorted(names)
    for name in names:
        assert store.get(tree.get(name).digest) == name.encode()


@needs_tar
@pytest.mark.parametrize("layout", ["gnu", "pax", "ustar", "oldgnu", "v7"])
def test_what_gnu_tar_sends_is_read(store, tmp_path, layout):
    root = tmp_path / "site"
    (root / "d" / "empty").mkdir(parents=True)
    (root / "a").write_bytes(os.urandom(3_000_000))
    (root / "d" / "run").write_text("#!/bin/sh")
    (root / "d" / "run").chmod(0o755)
    (root / "d" / "up").symlink_to("../a")
    os.link(root / "d" / "run", root / "d" / "same")
    (root / "h").write_bytes(b"")
    done = subprocess.run(["tar", "-c", f"--format={layout}", "-C", root, "."], capture_output=True, check=True)
    assert unpack(io.BytesIO(done.stdout), store, CAPS) == load_tree(store, put_tree(store, root))


@needs_tar
@pytest.mark.parametrize("version", ["old", "0.0", "0.1", "1.0"])
@pytest.mark.parametrize("pieces", [0, 1, 3, 60])
def test_sparse_files_become_whole(store, tmp_path, version, pieces):
    root = tmp_path / "site"
    root.mkdir()
    with (root / "holes").open("wb") as file:
        for index in range(pieces):
            file.seek(index * 200_000 + 70_000)
            file.write(os.urandom(5000))
        file.truncate(15_000_000)
    options = ["--format=gnu"] if version == "old" else ["--format=pax", f"--sparse-version={version}"]
    command = ["tar", "-c", "-S", "--hole-detection=raw", *options, "-C", root, "."]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(data) < 2_000_000
    assert unpack(io.BytesIO(data), store, CAPS) == load_tree(store, put_tree(store, root))
    with pytest.raises(TreeError) as caught:
        unpack(io.BytesIO(data), store, Caps(10, 50_000_000, 14_999_999, 100))
    assert caught.value.rule == "limit-file"


def test_the_dot_before_a_path_and_the_slash_behind_are_not_part_of_it(store):
    tree = take(
        store, member("./", kind=tarfile.DIRTYPE), member("./d/", kind=tarfile.DIRTYPE), member("././d/a", b"1")
    )
    assert [entry.path for entry in tree] == ["d/a"]
    assert [entry.path for entry in take(store, raw(b"old/"))] == ["old"]


def test_a_stream_may_give_few_bytes_at_a_time(store):
    class Drip(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 7))

    data = member("a", b"x" * 2000) + member("b", b"y") + END
    assert unpack(Drip(data), store, CAPS) == unpack(io.BytesIO(data), store, CAPS)


@pytest.mark.parametrize(
    "name",
    [
        b"/etc/passwd",
        b"../x",
        b"a/../../x",
        b"a/../b",
        b"a\\b",
        b"\xff",
        b"a//b",
        b"a/./b",
        b"..",
        b"/",
        b"",
        b"./..",
        b"//",
    ],
)
def test_names_that_lead_elsewhere(store, name):
    assert rule(store, raw(name)) == "path"
    if b"\xff" not in name and name:
        assert rule(store, pax((b"path", name)), raw(b"innocent")) == "path"


def test_a_nul_in_a_pax_path_ends_no_check(store):
    assert rule(store, pax((b"path", b"ok\0/../../x")), raw(b"innocent")) == "path"


def test_a_path_longer_than_the_cap(store):
    caps = Caps(10, 1000, 1000, path_bytes=5)
    assert take(store, member("12345"), caps=caps).get("12345")
    assert rule(store, member("é1234"), caps=caps) == "path"
    assert rule(store, member("a", kind=tarfile.SYMTYPE, linkname="123456"), caps=caps) == "link"


def test_a_file_below_a_file_or_below_a_link(store):
    assert rule(store, member("a", b"1"), member("a/b", b"2")) == "path"
    link = member("a", kind=tarfile.SYMTYPE, linkname="b")
    assert rule(store, link, member("a/passwd", b"2")) == "link"


def test_a_name_that_comes_twice(store):
    assert rule(store, member("a", b"1"), member("a", b"2")) == "duplicate"
    assert rule(store, member("a", b"1"), member("./a", b"1")) == "duplicate"
    assert rule(store, member("a", b"1"), member("A", b"2")) == "duplicate"
    assert rule(store, member("é", b"1"), member("e\u0301", b"2")) == "duplicate"
    assert rule(store, member("a", kind=tarfile.SYMTYPE, linkname="b"), member("a", b"2")) == "duplicate"


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "..", "a/../../x", "a\\b"])
def test_links_that_lead_out(store, target):
    assert rule(store, member("l", kind=tarfile.SYMTYPE, linkname=target)) == "link"
    assert rule(store, member("l", kind=tarfile.LNKTYPE, linkname=target)) == "link"


def test_a_link_without_a_target(store):
    assert rule(store, raw(b"l", b"2")) == "link"
    assert rule(store, raw(b"l", b"1")) == "link"


def test_links_that_lead_out_through_links(store):
    up = member("p/q/up", kind=tarfile.SYMTYPE, linkname="../..")
    assert rule(store, up, member("p/q/out", kind=tarfile.SYMTYPE, linkname="up/../x")) == "link"


def test_a_hard_link_is_the_same_file_again(store):
    tree = take(store, member("d/a", b"1", mode=0o755), member("b", kind=tarfile.LNKTYPE, linkname="./d/a"))
    assert tree.get("b") == TreeEntry.file("b", Digest.of(b"1"), 1, executable=True)


@pytest.mark.parametrize("target", ["later", "d", "l", "h"])
def test_a_hard_link_to_anything_but_an_earlier_file(store, target):
    parts = [
        member("d", kind=tarfile.DIRTYPE),
        member("l", kind=tarfile.SYMTYPE, linkname="d"),
        member("h", kind=tarfile.LNKTYPE, linkname=target),
        member("later", b"1"),
    ]
    assert rule(store, *parts) == "link"


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"D", b"M", b"V", b"Z", b"\x01"])
def test_devices_and_unknown_kinds(store, kind):
    assert rule(store, raw(b"x", kind)) == "device"


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6644])
def test_files_that_would_run_as_somebody_else(store, mode):
    assert rule(store, member("a", b"1", mode=mode)) == "setuid"
    assert rule(store, member("a", b"1"), member("b", kind=tarfile.LNKTYPE, linkname="a", mode=mode)) == "setuid"
    take(store, member("d", kind=tarfile.DIRTYPE, mode=mode | 0o1000))


def test_more_members_than_allowed(store):
    caps = Caps(entries=3, total_bytes=10, file_bytes=10, path_bytes=10)
    parts = [member("d", kind=tarfile.DIRTYPE), member("a"), member("b"), member("c")]
    assert len(take(store, *parts[:3], caps=caps)) == 3
    assert rule(store, *parts, caps=caps) == "limit-entries"


def test_more_bytes_than_allowed(store):
    caps = Caps(entries=10, total_bytes=10, file_bytes=6, path_bytes=10)
    take(store, member("a", b"123456"), member("b", b"1234"), caps=caps)
    assert rule(store, member("a", b"123456"), member("b", b"12345"), caps=caps) == "limit-bytes"
    assert rule(store, member("a", b"1234567"), caps=caps) == "limit-file"
    again = [member(name, kind=tarfile.LNKTYPE, linkname="a") for name in "bc"]
    assert rule(store, member("a", b"12345"), *again, caps=caps) == "limit-bytes"


def test_a_size_over_the_cap_is_refused_before_a_byte_is_read(store):
    assert rule(store, raw(b"a", size=8**11 - 1), end=b"") == "limit-file"
    assert rule(store, pax((b"size", b"9000000000000000")), raw(b"a"), end=b"") == "limit-file"


@pytest.mark.parametrize("cut", [0, 1, 511, 512, 513, 1023, 1024, 1500, 2047])
def test_a_stream_that_ends_early(store, cut):
    data = member("a", b"x" * 600) + member("b")
    assert len(data) == 2048
    assert rule(store, data[:cut], end=b"") == "truncated"
    assert rule(store, data, end=b"") == "truncated"


def test_an_extended_header_without_its_member(store):
    assert rule(store, pax((b"path", b"a"))) == "truncated"


def test_the_end_mark_may_be_followed_by_anything_but_a_block_after_its_first(store):
    data = member("a", b"1")
    assert unpack(io.BytesIO(data + bytes(512)), store, CAPS).get("a")
    assert unpack(io.BytesIO(data + bytes(10240) + b"rubbish"), store, CAPS).get("a")
    assert rule(store, data, bytes(512), member("b", b"2")) == "format"


@pytest.mark.parametrize(
    "parts",
    [
        [b"not a tar" * 200], [b"\1" + raw(b"a")[1:]], [raw(b"a")[:124] + b"zzzzzzzzzzz\0" + raw(b"a")[136:]],
        [pax((b"path", b"a")), pax((b"path", b"b")), raw(b"c")], [pax((b"path", b"a"), (b"path", b"b")), raw(b"c")],
        [pax((b"path", b"")), raw(b"c")], [pax((b"size", b"-1")), raw(b"c")], [pax((b"size", b"1_0")), raw(b"c")],
        [pax((b"path", b"a"), kind=b"g"), raw(b"c")], [pax((b"GNU.sparse.major", b"1"), kind=b"g"), raw(b"c")],
        [raw(b"x", b"x", 5, data=b"5 a=b"), raw(b"c")], [raw(b"x", b"x", 6, data=b"99 a=b"), raw(b"c")],
        [raw(b"x", b"x", 6, data=b"+6 a=b"), raw(b"c")], [raw(b"x", b"x", 2 << 20), raw(b"c")],
        [raw(b"L", b"L", 2, data=b"a\0"), pax((b"path", b"b")), raw(b"c")],
        [pax((b"path", b"b")), raw(b"L", b"L", 2, data=b"a\0"), raw(b"c")],
        [raw(b"l", b"2", 3, target=b"x", data=b"abc")], [raw(b"d", b"5", 3, data=b"abc")],
        [raw(b"d/", b"0", 3, data=b"abc")],
        [raw(b"a"), raw(b"h", b"1", 3, target=b"a", data=b"abc")], [pax((b"comment", b"x"), kind=b"g")] * 20,
    ],
)  # fmt: skip
def test_what_readers_of_tar_disagree_about(store, parts):
    assert rule(store, *parts) == "format"


def test_a_negative_size_in_base_256(store):
    block = bytearray(raw(b"a"))
    block[124:136] = b"\xff" * 12
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    assert rule(store, bytes(block)) == "format"


@pytest.mark.parametrize(
    "records",
    [
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.map", b"0")],
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.map", b"0,2,1,1")],
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.map", b"8,3")],
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.map", b"0,2")],
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.map", b"0,-3")],
        [(b"GNU.sparse.size", b"x"), (b"GNU.sparse.map", b"0,3")],
        [(b"GNU.sparse.size", b"10"), (b"GNU.sparse.numbytes", b"3"), (b"GNU.sparse.offset", b"0")],
        [(b"GNU.sparse.major", b"2"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.realsize", b"3")],
        [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.realsize", b"3")],
    ],
)
def test_sparse_maps_that_do_not_fit(store, records):
    assert rule(store, pax(*records), raw(b"a", b"0", 3, data=b"abc")) == "format"


def test_attributes_that_say_nothing_to_a_tree_are_passed_over(store):
    parts = [pax((b"comment", b"0" * 40), kind=b"g"), pax((b"SCHILY.xattr.user.x", b"\xff\0="), (b"mtime", b"1.5"))]
    assert take(store, *parts, raw(b"a")).get("a")


def test_what_is_excluded_is_read_over_with_all_below_it(store):
    parts = [
        member("n/", kind=tarfile.DIRTYPE),
        member("n/a", b"secret"),
        member("b", b"1"),
        member("n/l", b"", tarfile.SYMTYPE, linkname="/etc"),
        member("n/fifo", b"", tarfile.FIFOTYPE),
    ]
    tree = take(store, *parts, exclude=lambda path: path == "n")
    assert [entry.path for entry in tree] == ["b"]
    assert not store.has(Digest.of(b"secret"))


def test_plain_archives_have_no_links(store):
    data = member("a", b"1") + member("d/b", b"2")
    assert len(unpack_plain(io.BytesIO(data + END), store, CAPS)) == 2
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        with pytest.raises(TreeError) as caught:
            unpack_plain(io.BytesIO(data + member("l", kind=kind, linkname="a") + END), store, CAPS)
        assert caught.value.rule == "link"


def test_a_stream_that_fails_is_the_machines_fault(store):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise ConnectionResetError(104, "Connection reset by peer")

    with pytest.raises(HarnessError, match="reset"):
        unpack(Broken(), store, CAPS)


def test_nothing_is_written_but_objects(store, tmp_path):
    before = sorted(tmp_path.iterdir())
    tree = take(store, member("a/b", b"1"), member("l", kind=tarfile.SYMTYPE, linkname="a"))
    assert sorted(tmp_path.iterdir()) == before
    write_out(store, tree, tmp_path / "out")
    assert (tmp_path / "out" / "l" / "b").read_bytes() == b"1"
