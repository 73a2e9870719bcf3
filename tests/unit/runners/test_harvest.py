"""The harvest's rules, each from a crafted tar."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runners import harvest
from runners.backend import BackendFailure
from runners.harvest import Harvest, Rejected
from store.archive import Caps
from store.objects import ObjectStore

CAPS = Caps(entries=20, total_bytes=1000, file_bytes=500, path_bytes=100)

Member = tuple[str, dict[str, object], bytes]


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def member(path: str, data: bytes = b"", **fields: object) -> Member:
    return f"workspace/{path}", fields, data


def tar(*members: Member) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, fields, data in (("workspace", {"type": tarfile.DIRTYPE}, b""), *members):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in fields.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


Take = Callable[..., Harvest]


@pytest.fixture
def take(store: ObjectStore) -> Take:
    def take(*members: Member, cut: int | None = None) -> Harvest:
        data = tar(*members)[:cut]
        return harvest.take((data[at : at + 700] for at in range(0, len(data), 700)), store, CAPS)

    return take


def paths(found: Harvest) -> list[str]:
    assert found.tree is not None, found
    return [entry.path for entry in found.tree]


GOOD = member("index.html", b"hi")


def test_files_links_and_empty_folders_are_kept(take: Take, store: ObjectStore) -> None:
    found = take(
        GOOD,
        member("bin/run", b"x", mode=0o755),
        member("latest", type=tarfile.SYMTYPE, linkname="bin/run"),
        member("none", type=tarfile.DIRTYPE),
    )
    assert found.tree is not None
    modes = {entry.path: entry.mode for entry in found.tree}
    assert modes == {"bin/run": "100755", "index.html": "100644", "latest": "120000", "none": "040000"}
    assert found.rejected == ()
    entry = found.tree.get("index.html")
    assert entry is not None
    assert entry.digest is not None
    assert store.get(entry.digest) == b"hi"


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        pytest.param(member("f", type=tarfile.FIFOTYPE), "device", id="fifo"),
        pytest.param(member("f", type=tarfile.CHRTYPE), "device", id="device"),
        pytest.param(member("f", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "link", id="absolute"),
        pytest.param(member("f", type=tarfile.SYMTYPE, linkname="../up"), "link", id="escaping"),
        pytest.param(member("f", type=tarfile.SYMTYPE, linkname=""), "link", id="empty-link"),
        pytest.param(member("f", type=tarfile.LNKTYPE, linkname="workspace/none"), "link", id="hard-link-to-nothing"),
        pytest.param(member("f", type=tarfile.LNKTYPE, linkname="../etc/passwd"), "link", id="hard-link-out"),
        pytest.param(member("INDEX.HTML", b"x"), "duplicate", id="case"),
        pytest.param(member("a\\b", b"x"), "path", id="backslash"),
        pytest.param(member("a/../../b", b"x"), "path", id="dots"),
        pytest.param(member("long/" * 30 + "x", b"x"), "path", id="long"),
    ],
)
def test_what_a_tree_cannot_hold_is_left_out_and_noted(take: Take, bad: Member, rule: str) -> None:
    found = take(bad, GOOD)
    assert len(paths(found)) == 1
    assert [rejected.rule for rejected in found.rejected] == [rule]
    assert found.refused is None


def test_set_user_id_is_dropped_and_the_file_kept(take: Take) -> None:
    found = take(member("s", b"x", mode=0o4755))
    assert found.tree is not None
    assert [entry.mode for entry in found.tree] == ["100755"]
    assert found.rejected == (Rejected("s", "setuid"),)


def test_links_that_lead_out_by_way_of_others_are_left_out(take: Take) -> None:
    found = take(
        GOOD,
        member("a/b/up", type=tarfile.SYMTYPE, linkname="../.."),
        member("out", type=tarfile.SYMTYPE, linkname="a/b/up/../x"),
    )
    assert paths(found) == ["a/b/up", "index.html"]
    assert found.rejected == (Rejected("out", "link"),)


def test_links_in_a_circle_are_left_out(take: Take) -> None:
    found = take(
        GOOD,
        member("a", type=tarfile.SYMTYPE, linkname="b"),
        member("b", type=tarfile.SYMTYPE, linkname="a"),
    )
    assert "index.html" in paths(found)
    assert {rejected.rule for rejected in found.rejected} == {"link"}


def test_folders_that_differ_by_case_lose_the_second(take: Take) -> None:
    found = take(member("Src/a", b"1"), member("src/b", b"2"), GOOD)
    assert len(paths(found)) == 2
    assert [rejected.rule for rejected in found.rejected] == ["duplicate"]


def test_git_folders_and_links_into_deps_are_passed_over_silently(take: Take) -> None:
    found = take(
        GOOD,
        member(".git/config", b"x"),
        member("sub/.GIT/config", b"x"),
        member("node_modules/vite", type=tarfile.SYMTYPE, linkname="/deps/vite"),
        member("node_modules", type=tarfile.DIRTYPE),
    )
    assert paths(found) == ["index.html", "node_modules"]
    assert found.rejected == ()


def test_hard_links_become_files_and_count(take: Take) -> None:
    found = take(GOOD, member("same", type=tarfile.LNKTYPE, linkname="workspace/index.html"))
    assert found.tree is not None
    first, second = found.tree
    assert first.digest == second.digest


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([member(f"f{n}") for n in range(25)], id="entries"),
        pytest.param([member("f", b"x" * 501)], id="file"),
        pytest.param([member(f"f{n}", b"x" * 400) for n in range(3)], id="bytes"),
        pytest.param(
            [member("f", b"x" * 400)]
            + [member(f"h{n}", type=tarfile.LNKTYPE, linkname="workspace/f") for n in range(3)],
            id="hard-links",
        ),
    ],
)
def test_caps_refuse_the_workspace(take: Take, members: list[Member]) -> None:
    found = take(*members)
    assert (found.tree, found.refused) == (None, "harvest-limit")
    assert found.detail


def test_a_lying_size_is_refused_before_it_is_read(store: ObjectStore) -> None:
    info = tarfile.TarInfo("workspace/huge")
    info.size = 1 << 40
    found = harvest.take(iter([info.tobuf(tarfile.GNU_FORMAT)]), store, CAPS)
    assert found.refused == "harvest-limit"


def test_a_member_outside_the_workspace_is_refused(store: ObjectStore) -> None:
    info = tarfile.TarInfo("elsewhere/x")
    assert harvest.take(iter([info.tobuf(tarfile.GNU_FORMAT)]), store, CAPS).refused == "harvest-limit"


def test_an_empty_workspace_is_no_output(take: Take) -> None:
    assert take().refused == "no-output"
    assert take(member(".git/HEAD", b"x")).refused == "no-output"


@pytest.mark.parametrize("cut", [100, 1024, 1500, 2050])
def test_a_stream_cut_off_is_the_harness_s_fault(take: Take, cut: int) -> None:
    with pytest.raises(BackendFailure) as caught:
        take(member("f", b"x" * 500), GOOD, cut=cut)
    assert caught.value.reason == "harvest-transport"
