"""What is read out of the render container: a tar that may lie, here one of our own making."""

import io
import json
import struct
import tarfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from cases.capture import Sweep, SweepWidth
from cases.plan import Plan, PlanShot, Settings, Size, SweepPath
from runners import render
from runners.backend import Rendered
from runners.drive import FOLDER, SECCOMP, driver_digest, mounts, seccomp_digest
from store import canonical
from store.digest import Digest
from store.directory import load_tree
from store.objects import ObjectStore

PLAN = Plan(
    Settings(max_height=900),
    (
        PlanShot("home.desktop.initial", "/", Size(800, 600), ()),
        PlanShot("two.desktop.initial", "/2", Size(800, 600), ()),
    ),
    (SweepPath("/", (320, 800)),),
)
SWEEP = Sweep((SweepWidth("/", 320, 400), SweepWidth("/", 800, 800)))
ONE, TWO = (shot.id for shot in PLAN.shots)


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IEND", b"")


def page(**changed: Any) -> bytes:
    lists = {name: [] for name in ("lines", "rasters", "nodes", "ax", "console", "requests", "steps", "unstable")}
    value = {
        "schema": "rbl/capture/v1",
        "url": "http://localhost/",
        "title": "",
        "width": 800,
        "height": 600,
        "resist": False,
        "storage": {"local": {}, "session": {}},
        "images": {"total": 0, "decoded": 0},
    }
    return canonical.dumps({**value, **lists, **changed})


def capture(shot: str, **changed: bytes) -> dict[str, bytes]:
    files = {"full.png": png(800, 600), "nt.png": png(800, 600), "bare.png": png(800, 600), "page.json": page()}
    return {f"{shot}/{name}": data for name, data in {**files, **changed}.items()}


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def read(store: ObjectStore, data: bytes, plan: Plan = PLAN) -> Rendered:
    return render._read(store, plan, io.BytesIO(data), b"", 0.0)


def test_captures_become_trees_and_errors_stay_with_their_shot(store: ObjectStore) -> None:
    files = {**capture(ONE), f"{TWO}/error.txt": b"took\ntoo long", "sweep.json": SWEEP.format(), "driver.log": b"log"}
    rendered = read(store, archive(files))
    first, second = rendered.shots
    assert first.error is None
    assert first.tree is not None
    assert [entry.path for entry in load_tree(store, first.tree)] == ["bare.png", "full.png", "nt.png", "page.json"]
    assert (second.tree, second.error) == (None, "took too long")
    assert store.get(rendered.sweep) == SWEEP.format()
    assert (rendered.failed, rendered.log) == (None, b"log")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {name: data for name, data in capture(ONE).items() if not name.endswith("nt.png")},
        {**capture(ONE), f"{ONE}/more.txt": b""},
        capture(ONE, **{"full.png": png(800, 601)}),
        capture(ONE, **{"bare.png": b"no picture"}),
        capture(ONE, **{"page.json": b"{}"}),
        capture(ONE, **{"page.json": json.dumps(json.loads(page())).encode()}),
        capture(
            ONE,
            **{name: png(800, 901) for name in ("full.png", "nt.png", "bare.png")},
            **{"page.json": page(height=901)},
        ),
        capture(ONE, **{"page.json": page(ax=[{"role": "a", "name": "", "value": None, "node": 0, "ignored": False}])}),
    ],
    ids=["nothing", "missing", "more", "size", "picture", "page", "spaces", "tall", "index"],
)
def test_capture_that_lies_about_its_form_is_an_error_of_its_shot(store: ObjectStore, files: dict[str, bytes]) -> None:
    rendered = read(store, archive({**files, **capture(TWO)}))
    assert rendered.shots[0].tree is None
    assert rendered.shots[0].error
    assert rendered.shots[1].tree is not None
    assert rendered.failed is None


@pytest.mark.parametrize(
    "data", [b"", archive(capture(ONE))[:2000], b"x" * 10240, archive({"../x": b""}), archive({"a": b""}) + b"y" * 512]
)
def test_output_that_is_no_tar_of_captures_fails_the_run(store: ObjectStore, data: bytes) -> None:
    rendered = read(store, data)
    assert rendered.failed == "render-failed"
    assert all(shot.tree is None and shot.error for shot in rendered.shots)
    assert [width.scroll_width for width in Sweep.parse(store.get(rendered.sweep)).widths] == [None, None]


@pytest.mark.parametrize(
    "data",
    [
        Sweep((SweepWidth("/", 320, 400),)).format(),
        Sweep((SweepWidth("/", 320, 400), SweepWidth("/other", 800, 800))).format(),
        b"{}",
        b"no",
    ],
)
def test_sweep_that_does_not_answer_the_plan_measures_nothing(store: ObjectStore, data: bytes) -> None:
    rendered = read(store, archive({**capture(ONE), "sweep.json": data}))
    found = Sweep.parse(store.get(rendered.sweep))
    assert [(width.path, width.width, width.scroll_width) for width in found.widths] == [
        ("/", 320, None),
        ("/", 800, None),
    ]


def test_error_of_a_shot_is_one_short_printable_line(store: ObjectStore) -> None:
    said = b"a\x1b[31m\r\n\xff" + b"b" * 5000
    error = read(store, archive({f"{ONE}/error.txt": said})).shots[0].error
    assert error is not None
    assert error.isprintable()
    assert len(error) <= 300


def test_driver_and_profile_have_digests_that_their_bytes_decide() -> None:
    assert driver_digest() == driver_digest()
    assert seccomp_digest() == Digest.of(SECCOMP.read_bytes())
    assert {mount.target for mount in mounts()} == {"/driver", "/playwright"}
    assert (FOLDER / "main.js").is_file()


def test_profile_allows_the_browser_s_sandbox_and_hides_clone3() -> None:
    profile = json.loads(SECCOMP.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert {"chroot", "clone", "unshare"} <= allowed
    assert not {"mount", "bpf", "keyctl", "add_key", "io_uring_setup", "perf_event_open", "init_module"} & allowed
    clone3 = next(rule for rule in profile["syscalls"] if rule["names"] == ["clone3"])
    assert (clone3["action"], clone3["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)
