"""The render driver as files: where it is, how it is started, and the digests under which records name it.

    /driver/main.js …                 this package's `driver/` folder
    /playwright/node                  the Node that Playwright's wheel brings
    /playwright/package               playwright-core, as the wheel brings it

The driver is JavaScript under the wheel's own Node, and not the Python binding: 14 MB instead of 163 MB of pack (the
binding starts that same Node as a child), 0.2 s instead of 0.5 s to start, and one process less between the pictures
and us. See docs/decisions/render-driver.md. Nothing is drawn here.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from runners.runspec import Mount
from store import canonical
from store.digest import Digest
from store.errors import Unavailable

__all__ = ["FOLDER", "SECCOMP", "driver_digest", "mounts", "playwright", "seccomp_digest"]

FOLDER: Final = Path(__file__).parent / "driver"
SECCOMP: Final = FOLDER / "seccomp.json"

_PREFIX: Final = "playwright/driver/"


def playwright() -> Path:
    """The folder of the wheel that holds `node` and `package`.

    Raises:
        Unavailable: it is not installed.
    """
    found = find_spec("playwright")
    if found is None or found.origin is None:
        raise _missing()
    return Path(found.origin).parent / "driver"


def mounts() -> tuple[Mount, ...]:
    """What the render container sees of this machine, read-only.

    Raises:
        Unavailable: Playwright is not installed.
    """
    return Mount(FOLDER, "/driver"), Mount(playwright(), "/playwright")


def driver_digest() -> Digest:
    """Names the driver: our JavaScript, file by file, and the version and recorded digests of Playwright's own files.

    The wheel's RECORD lists its files with their SHA-256 (PEP 376); lines that an installer adds are left out.

    Raises:
        Unavailable: Playwright is not installed.
    """
    try:
        wheel = distribution("playwright")
    except PackageNotFoundError as error:
        raise _missing() from error
    lines = (wheel.read_text("RECORD") or "").splitlines()
    record = sorted(line for line in lines if line.startswith(_PREFIX))
    ours = {path.name: Digest.of(path.read_bytes()).hex for path in sorted(FOLDER.glob("*.js"))}
    return Digest.of(
        canonical.dumps(
            {"driver": ours, "playwright": wheel.version, "record": Digest.of("\n".join(record).encode()).hex}
        )
    )


def seccomp_digest() -> Digest:
    """Names the seccomp profile of the render container."""
    return Digest.of(SECCOMP.read_bytes())


def _missing() -> Unavailable:
    return Unavailable("Playwright is not installed", fix="pip install playwright")
