"""Bags: the same contents are the same bytes, others can read them, and nothing in one changes unseen."""

import io
import subprocess
import sys
import tarfile

import pytest

from store.archive import Caps
from store.bagit import Bag, Source, write
from store.errors import InputError, RuleBroken

PAYLOAD = {
    "rbl.toml": b'origin = "o"\n',
    "objects/" + "a" * 120: b"x" * 5000,
    "empty": b"",
    "an \u00e9 in it": b"named with care",
}
INFO = [("External-Identifier", "sha256:00"), ("Left-Out", "the page")]
CAPS = Caps(entries=100, total_bytes=1 << 20, file_bytes=1 << 16, path_bytes=512)


def bag(payload=None, name="first"):
    sources = {path: Source.of(data) for path, data in (payload or PAYLOAD).items()}
    return b"".join(write(name, sources, INFO))


def opened(data, target):
    return Bag.open(io.BytesIO(data), target, CAPS)


def test_a_bag_comes_back_and_depends_on_nothing_but_its_contents(tmp_path):
    assert bag() == bag(dict(reversed(PAYLOAD.items())))
    found = opened(bag(), tmp_path / "out")
    assert found.info[:2] == tuple(INFO)
    assert {path: (found.data / path).read_bytes() for path in PAYLOAD} == PAYLOAD
    with tarfile.open(fileobj=io.BytesIO(bag())) as archive:
        members = archive.getmembers()
        assert [m.name for m in members] == sorted(m.name for m in members)
        assert {(m.mode, m.uid, m.gid, m.mtime, m.isreg()) for m in members} == {(0o644, 0, 0, 0, True)}


def test_bagit_and_gnu_tar_read_it_as_we_do(tmp_path):
    (tmp_path / "b.tar").write_bytes(bag())
    listed = subprocess.run(
        ["tar", "-tf", "b.tar", "--quoting-style=literal"], cwd=tmp_path, capture_output=True, check=True
    )
    assert b"first/manifest-sha256.txt\n" in listed.stdout
    assert not listed.stderr
    subprocess.run(["tar", "-xf", "b.tar"], cwd=tmp_path, check=True)
    ours = opened(bag(), tmp_path / "ours").root
    theirs = tmp_path / "first"
    files = {path.relative_to(ours): path.read_bytes() for path in ours.rglob("*") if path.is_file()}
    assert {path.relative_to(theirs): path.read_bytes() for path in theirs.rglob("*") if path.is_file()} == files
    words = [sys.executable, "-m", "bagit", "--validate", str(theirs)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (theirs / "data" / "empty").write_bytes(b"!")
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


def test_a_bag_that_gnu_tar_made_again_is_read_too(tmp_path):
    opened(bag(), tmp_path / "ours")
    subprocess.run(["tar", "-cf", "again.tar", "-C", "ours", "first"], cwd=tmp_path, check=True)
    again = opened((tmp_path / "again.tar").read_bytes(), tmp_path / "again")
    assert (again.data / "empty").read_bytes() == b""


def members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [(member.name, member.offset_data, member.size) for member in archive.getmembers()]


@pytest.mark.parametrize("name", [name for name, _, size in members(bag()) if size])
def test_a_flipped_byte_is_found_in_its_member(tmp_path, name):
    for start, size in [(start, size) for member, start, size in members(bag()) if member == name]:
        for offset in {0, size // 2, size - 1}:
            changed = bytearray(bag())
            changed[start + offset] ^= 1
            with pytest.raises(RuleBroken) as caught:
                opened(bytes(changed), tmp_path / f"{offset}")
            assert caught.value.rule == "bag"
            # a manifest that was touched is named itself, or names the file that it now speaks of otherwise
            short = name.removeprefix("first/")
            assert short in str(caught.value) or short == "tagmanifest-sha256.txt"


def test_what_is_no_bag_or_not_whole_is_refused_by_name(tmp_path):
    def tarred(files):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        return out.getvalue()

    with tarfile.open(fileobj=io.BytesIO(bag())) as archive:
        whole = {member.name: archive.extractfile(member).read() for member in archive}
    cases = {
        "data/empty": {name: data for name, data in whole.items() if name != "first/data/empty"},
        "data/more": whole | {"first/data/more": b""},
        "fetch.txt": whole | {"first/fetch.txt": b"http://localhost/x 1 data/x\n"},
        "bagit.txt": {name: data for name, data in whole.items() if name != "first/bagit.txt"},
        "second": whole | {"second/bagit.txt": b""},
    }
    for number, (named, files) in enumerate(cases.items()):
        with pytest.raises(RuleBroken, match=named):
            opened(tarred(files), tmp_path / str(number))


def test_names_that_a_bag_cannot_have_are_refused():
    with pytest.raises(InputError):
        bag(name="../up")
    with pytest.raises(InputError):
        bag({"../up": b""})
    for path in ("50%", "two\nlines", "a\rb"):
        with pytest.raises(InputError, match="readers disagree"):
            bag({path: b""})
    with pytest.raises(InputError):
        b"".join(write("a", {}, [("Label", "two\nlines")]))
