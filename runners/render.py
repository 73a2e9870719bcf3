"""Rendering: a build and a probe plan become captures, in a fresh container without network.

    rendered = render(engine, store, image, folder, build, plan, job)
    rendered.shots[0]      # Shot(id="home.desktop.initial", tree=Digest("…"), error=None)

    in    tar   plan.json, site/…
    out   tar   <shot id>/full.png nt.png bare.png page.json | <shot id>/error.txt, sweep.json, driver.log

The container is the one in which Candidate code runs in a browser. Chromium's own sandbox is on, under a seccomp
profile that permits it, so that a renderer that is taken over does not share a user with the driver that speaks to us;
still, every byte that comes out is checked here as if it lied: names, sizes, shapes, and that pictures are as large as
the page says. What does not pass is an error of that shot. Pixels are not looked at.

`render_native` does the same on this machine, for diagnosis: other fonts make other pictures.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO, Final

from cases.capture import BARE, FILES, FULL, PAGE, TEXTLESS, Capture, Sweep, SweepWidth, png_size
from cases.plan import Plan, PlanShot
from ledger.records import kinds
from runners import drive
from runners.backend import Job, Rendered
from runners.container import Engine, RunSpec, labels
from runners.drive import driver_digest, seccomp_digest
from runners.image import PATH, Image
from store import tar
from store.archive import Caps, pack, unpack_plain
from store.digest import Digest
from store.directory import load_tree, save_tree
from store.errors import InputError, TreeError, Unavailable
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["driver_digest", "environment", "render", "render_native", "seccomp_digest"]

MEMORY: Final = 2 << 30
PIDS: Final = 512
SHM: Final = 64 << 20
CPUS: Final = 2000
SECONDS: Final = 1800
"""Bound on a whole render run."""

PICTURE: Final = 64 << 20
"""Bytes of one picture."""
PAGE_BYTES: Final = 32 << 20
"""Bytes of one `page.json`."""
OUTPUT: Final = 2 << 30
"""Bytes of all captures together."""
LOG: Final = 1 << 20

_ERROR: Final = "error.txt"
_SWEEP: Final = "sweep.json"
_DRIVER_LOG: Final = "driver.log"
_SHORT: Final = 300
_OWNER: Final = (10001, 10001)
_BROWSERS: Final = ("/usr/lib/chromium/chromium", "google-chrome", "chromium-browser", "chromium")


def environment(image: Image) -> kinds.RenderEnvironment:
    """What draws pages in this image, by digest.

    Raises:
        Unavailable: Playwright is not installed.
    """
    return kinds.RenderEnvironment(
        image=image.rootfs,
        browser=image.browser,
        fonts=image.fonts,
        driver=driver_digest(),
        seccomp=seccomp_digest(),
        backend="docker",
    )


def render(
    engine: Engine, store: ObjectStore, image: Image, folder: str, build: Digest, plan: Plan, job: Job
) -> Rendered:
    """Capture every shot of a plan.

    Args:
        engine: Docker.
        store: holds the build, and takes the captures.
        image: what to draw in.
        folder: label of the benchmark folder.
        build: tree of the site.
        plan: what to do.
        job: gives the labels. The limits are the render room's own, because they shape the evidence.

    Raises:
        BackendFailure: a fault of the engine or of the disk.
        Unavailable: Playwright is not installed.
    """
    seconds = _seconds(plan)
    spec = RunSpec(
        image=image.reference,
        argv=("/playwright/node", "/driver/main.js"),
        env={"HOME": "/home", "PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "RBL_TOTAL_MS": str(1000 * seconds)},
        memory=MEMORY,
        cpus=min(CPUS, engine.capacity()[0]),
        pids=PIDS,
        shm=SHM,
        tmpfs={"/tmp": 512 << 20, "/home": 64 << 20},  # noqa: S108 - in the container
        mounts=drive.mounts(),
        labels=labels(folder, job.attempt),
        seccomp=drive.SECCOMP,
        cap_stdout=OUTPUT,
        cap_stderr=LOG,
        seconds=seconds + 30,
    )
    begin = time.monotonic()
    with TemporaryFile() as output:
        result = engine.run(spec, stdin=_input(store, build, plan), stdout=output)
        output.seek(0)
        return _read(store, plan, output, result.stderr, begin)


def render_native(store: ObjectStore, build: Digest, plan: Plan, *, browser: str | None = None) -> Rendered:
    """Capture every shot of a plan on this machine. Its pictures compare with nothing but themselves.

    Args:
        store: holds the build, and takes the captures.
        build: tree of the site.
        plan: what to do.
        browser: path of a Chromium; the first that is found when null.

    Raises:
        Unavailable: there is no Chromium, or Playwright is not installed.
    """
    binary = browser or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if binary is None:
        raise Unavailable("no Chromium is installed", fix="apt-get install chromium")
    pack_folder = drive.playwright()
    begin = time.monotonic()
    with TemporaryDirectory() as home, TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as log:
        for piece in _input(store, build, plan):
            given.write(piece)
        given.seek(0)
        env = {
            "HOME": home,
            "TMPDIR": home,
            "PATH": os.environ.get("PATH", PATH),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "RBL_PLAYWRIGHT": str(pack_folder / "package"),
            "RBL_CHROMIUM": binary,
            "RBL_SANDBOX": "0" if os.geteuid() == 0 else "1",
            "RBL_TOTAL_MS": str(1000 * _seconds(plan)),
        }
        argv = [str(pack_folder / "node"), str(drive.FOLDER / "main.js")]
        with subprocess.Popen(
            argv, stdin=given, stdout=output, stderr=log, env=env, cwd=home, start_new_session=True
        ) as process:
            try:
                process.wait(_seconds(plan) + 30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        log.seek(0)
        return _read(store, plan, output, log.read(LOG), begin)


def _seconds(plan: Plan) -> int:
    whole = 60 + (len(plan.shots) + len(plan.sweep)) * plan.settings.shot_ms // 1000
    return min(SECONDS, whole)


def _input(store: ObjectStore, build: Digest, plan: Plan) -> Iterator[bytes]:
    data = plan.format()
    yield tar.header("plan.json", b"0", size=len(data), mode=0o644, owner=_OWNER, mtime=0, target="") + data
    yield tar.padding(len(data))
    yield from pack(store, load_tree(store, build), prefix="site")


def _read(store: ObjectStore, plan: Plan, output: BinaryIO, stderr: bytes, begin: float) -> Rendered:
    caps = Caps(entries=8 * (len(plan.shots) + 4), total_bytes=OUTPUT, file_bytes=PICTURE, path_bytes=100)
    try:
        tree, fault = unpack_plain(output, store, caps), ""
    except TreeError as error:
        tree, fault = Tree.of(()), f"the captures cannot be read: {error}\n"
    log = (_file(store, tree, _DRIVER_LOG, LOG) or b"") + fault.encode() + stderr
    shots = tuple(_shot(store, plan, shot, tree) for shot in plan.shots)
    sweep = store.put_bytes(_sweep(_file(store, tree, _SWEEP, PAGE_BYTES), plan).format())
    store.flush()
    failed = None if any(shot.tree is not None for shot in shots) else "render-failed"
    return Rendered(shots, sweep, failed, log[:LOG], round((time.monotonic() - begin) * 1000))


def _shot(store: ObjectStore, plan: Plan, shot: PlanShot, tree: Tree) -> kinds.Shot:
    try:
        files = tree.subtree(shot.id)
        said = _file(store, files, _ERROR, PAGE_BYTES)
        if said is not None:
            return kinds.Shot(id=shot.id, tree=None, error=_plain(said.decode("utf-8", "replace")))
        _check(store, plan, files)
    except InputError as error:
        return kinds.Shot(id=shot.id, tree=None, error=_plain(str(error)))
    return kinds.Shot(id=shot.id, tree=save_tree(store, files), error=None)


def _check(store: ObjectStore, plan: Plan, files: Tree) -> None:
    """Refuse a capture that is not what it must be.

    Raises:
        InputError: so.
    """
    if not len(files):
        raise InputError("the driver gave nothing")
    if tuple(sorted(FILES)) != tuple(entry.path for entry in files) or any(not entry.is_file for entry in files):
        raise InputError("the driver gave other files than a capture has")
    page = Capture.parse(_file(store, files, PAGE, PAGE_BYTES) or b"")
    if page.height > plan.settings.max_height:
        raise InputError(f"a page of {page.height} px; {plan.settings.max_height} are allowed")
    for name in (FULL, TEXTLESS, BARE):
        if png_size(_file(store, files, name, PICTURE) or b"") != (page.width, page.height):
            raise InputError(f"{name} has another size than its page")


def _sweep(data: bytes | None, plan: Plan) -> Sweep:
    """What the driver measured, if it is an answer to the plan; else that nothing was."""
    asked = [(entry.path, width) for entry in plan.sweep for width in entry.widths]
    nothing = Sweep(tuple(SweepWidth(path, width, None) for path, width in asked))
    if data is None:
        return nothing
    try:
        found = Sweep.parse(data)
    except InputError:
        return nothing
    return found if [(entry.path, entry.width) for entry in found.widths] == asked else nothing


def _file(store: ObjectStore, tree: Tree, path: str, most: int) -> bytes | None:
    entry = tree.get(path)
    if entry is None or entry.digest is None:
        return None
    if entry.size > most:
        raise InputError(f"{path} has {entry.size} bytes; {most} are allowed")
    return store.get(entry.digest)


def _plain(text: str) -> str:
    """One line of text that a record can hold."""
    line = "".join(sign if sign.isprintable() else " " for sign in text[:_SHORT])
    return " ".join(line.split()) or "failed"
