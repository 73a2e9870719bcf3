"""The extractor: regular files, all or nothing, and every refusal names its entry."""

import io
import tarfile

import pytest

from store import tar
from store.archive import Caps
from store.errors import Conflict, TreeError
from store.extract import extract

CAPS = Caps(entries=4, total_bytes=4096, file_bytes=3000, path_bytes=200)


def member(name, typeflag=b"0", data=b"", *, target="", size=None):
    head = tar.header(
        name, typeflag, size=len(data) if size is None else size, mode=0o644, owner=(0, 0), mtime=0, target=target
    )
    return head + data + tar.padding(len(data))


def pax(records, name="x"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(name)
        info.pax_headers = records
        archive.addfile(info)
    return out.getvalue()


HOSTILE = {
    "absolute": (member("/etc/x"), "path", "/etc/x"),
    "up": (member("a/../../x"), "path", "a/../../x"),
    "link": (member("l", b"2", target="/etc"), "link", "l"),
    "hard link": (member("a") + member("h", b"1", target="a"), "link", "h"),
    "device": (member("d", b"3"), "device", "d"),
    "fifo": (member("f", b"6"), "device", "f"),
    "twice": (member("a") * 2, "duplicate", "a"),
    "case": (member("b/A") + member("B/a"), "duplicate", "b"),
    "unicode": (member("\u00e9") + member("e\u0301"), "duplicate", "\u00e9"),
    "below a file": (member("a") + member("a/b"), "path", "a/b"),
    "file over folder": (member("a/b") + member("a"), "duplicate", "a"),
    "sparse": (pax({"GNU.sparse.size": "4000", "GNU.sparse.map": "0,0"}, "s"), "sparse", "s"),
    "one too large": (member("big", size=3001), "limit-file", "big"),
    "all too large": (member("a", data=b"1" * 2500) + member("c", data=b"1" * 2500), "limit-bytes", "c"),
    "too many": (b"".join(member(str(n)) for n in range(5)), "limit-entries", "4"),
    "long path": (member("p" * 201), "path", "ppp"),
    "long header": (pax({"comment": "c" * 9000}), "format", "beginning"),
    "cut off": (member("a", data=b"1" * 600)[:700], "truncated", "a"),
    "no tar": (member("a") + b"nonsense".ljust(512), "format", "a"),
}


@pytest.mark.parametrize(("data", "rule", "named"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_member_is_refused_by_name_and_leaves_nothing(tmp_path, data, rule, named):
    end = b"" if rule == "truncated" else tar.END
    with pytest.raises(TreeError) as caught:
        extract(io.BytesIO(data + end), tmp_path / "out", CAPS)
    assert caught.value.rule == rule
    assert named in caught.value.where
    assert list(tmp_path.iterdir()) == []


def test_what_stands_behind_the_end_is_refused(tmp_path):
    whole = member("a", data=b"1") + tar.END
    for rest in (member("b"), b"\0" * 600 + b"x", bytes((1 << 20) + 1)):
        with pytest.raises(TreeError, match="behind the end") as caught:
            extract(io.BytesIO(whole + rest), tmp_path / "out", CAPS)
        assert caught.value.where == "after the end mark"
    assert list(tmp_path.iterdir()) == []
    assert [entry.path for entry in extract(io.BytesIO(whole + bytes(9216)), tmp_path / "out", CAPS)] == ["a"]


def test_nothing_is_written_over_or_through_what_is_there(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(Conflict, match="something of that name"):
            extract(io.BytesIO(member("a") + tar.END), tmp_path / name, CAPS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
