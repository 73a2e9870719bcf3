"""What a machine can do for `rbl`, found out by trying.

    formal attempts   Docker answers, the sandbox image is there, and a probe page draws as it did before
    re-render only    no Docker, but bubblewrap and a browser
    verify only       neither: reading, verifying and reporting work everywhere

Each check says what it found and, for a miss, the command that brings it and which verbs work without it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from store.errors import RblError

__all__ = ["Check", "Examination", "examine"]

Able = Literal["formal attempts", "re-render only", "verify only"]

_ROOM: Final = 5 * 1024**3
"""Free bytes that an image, its build and a few attempts need."""

_EARLIEST: Final = 1_764_547_200
"""2025-12-01: a clock that shows less was not set."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it is fine, what was found, and how to mend it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """All checks, and what the machine is able to do."""

    checks: tuple[Check, ...]
    able: Able


def examine(*, probe: bool) -> Examination:
    """Look at this machine.

    Args:
        probe: also draw a page in the sandbox and compare it with the last time, which takes a few seconds.
    """
    checks = [
        _attempt("docker", _docker, "install Docker and start it; everything but attempts and freezing works without"),
        _attempt("image", _image, "rbl image build; needed for attempts and freezing"),
        _program("git", "apt-get install git; needed for starters and `dvc pull`"),
        _program("dvc", "pip install dvc; needed to fetch frozen evidence"),
        _program("bwrap", "apt-get install bubblewrap; needed to re-render without Docker"),
        _program("chromium", "apt-get install chromium; needed for native diagnosis and the site's tests"),
        _disk(),
        Check("clock", time.time() > _EARLIEST, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "set the clock"),
        _permissions(),
    ]
    by_name = {check.name: check.ok for check in checks}
    formal = by_name["docker"] and by_name["image"]
    if formal and probe:
        checks.append(_attempt("probe", _probe, "rebuild the image: rbl image build"))
        formal = checks[-1].ok
    able: Able = "formal attempts" if formal else "verify only"
    if not formal and by_name["bwrap"] and by_name["chromium"]:
        able = "re-render only"
    return Examination(tuple(checks), able)


def _attempt(name: str, look: Callable[[], str], fix: str) -> Check:
    try:
        return Check(name, ok=True, detail=look())
    except RblError as error:
        return Check(name, ok=False, detail=error.what, fix=error.fix or fix)


def _docker() -> str:
    from runners.container import Engine

    return Engine.connect().version


def _image() -> str:
    from runners.image import cached

    image = cached()
    return f"{image.reference}, {image.browser}"


def _program(name: str, fix: str) -> Check:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        return Check(name, ok=False, detail="not found", fix=fix)
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return Check(
        name, ok=done.returncode == 0, detail=done.stdout.strip().splitlines()[0] if done.stdout else found, fix=fix
    )


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free
    return Check("disk", ok=free > _ROOM, detail=f"{free / 1024**3:.1f} GiB free here", fix="make room: 5 GiB")


def _permissions() -> Check:
    from ledger.folder import config_home

    home = config_home()
    home.mkdir(parents=True, exist_ok=True)
    loose = [path for path in home.rglob("*.pem") if path.stat().st_mode & 0o077]
    if loose:
        return Check("permissions", ok=False, detail=f"{loose[0]} is readable by others", fix=f"chmod 600 {loose[0]}")
    return Check("permissions", ok=True, detail=f"keys in {home} are their owner's alone")


def _probe() -> str:
    from rbl.workspace import probe_render
    from store.errors import CheckFailed

    first, last = probe_render()
    if first != last:
        raise CheckFailed(f"the probe page drew as {last.short}, and before as {first.short}")
    return f"the probe page draws as {last.short}, as before"
