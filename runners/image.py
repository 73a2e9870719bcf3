"""The sandbox image: a root filesystem made from Debian packages, named by what is in it.

    ~/.cache/rbl/images/<recipe, 64 hex digits>/
      <rootfs, 64 hex digits>.tar     735 MB; its SHA-256 is the image's name in every record
      image.json                      {"browser":"Chromium 141.0.7390.107","fonts":"sha256:…","packages":"sha256:…",
                                       "recipe":"sha256:…","rootfs":"sha256:…","schema":"rbl/image/v1"}
      packages                        one line a package, `name=version` (dpkg-query), sorted

The recipe does not fix the bytes for ever, because Debian's security updates change them: the tar is kept, and is what
counts. Docker is only a place it is imported into, under the tag `rbl-sandbox:<first 12 digits of the recipe>`; every
run names the image's id. Registries and mirrors are never named: mmdebstrap takes its own default for the suite.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import platformdirs

from runners.backend import BackendFailure
from runners.container import Engine
from runners.runspec import RunSpec, labels
from store import canonical
from store.digest import Digest
from store.errors import Unavailable

__all__ = ["PATH", "RECIPE", "Image", "build", "cache_home", "cached", "ensure", "recipe_digest"]

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""The search path in every container."""

_EPOCH: Final = 1_704_067_200  # 2024-01-01T00:00:00Z: times in the tar that are later become this one
_REPOSITORY: Final = "rbl-sandbox"
_SCHEMA: Final = "rbl/image/v1"

_PACKAGES: Final = (
    "ca-certificates",
    "chromium",
    "fontconfig",
    "fonts-dejavu-core",
    "fonts-liberation2",
    "fonts-noto-color-emoji",
    "fonts-noto-core",
    "fonts-wqy-microhei",
    "git",
    "libatomic1",
    "procps",
    "python3",
)

_CUSTOMIZE: Final = r"""\
set -eu
root=$1
share=$root/usr/share
rm -rf "$root"/usr/lib/*-linux-gnu/libLLVM-* "$root"/usr/lib/*-linux-gnu/libz3.so* "$root"/usr/lib/*-linux-gnu/dri
rm -rf "$share/icons" "$share/doc" "$share/man" "$share/locale" "$share/info" "$share/lintian"
rm -rf "$root/usr/lib/chromium/libVkLayer_khronos_validation.so"
rm -rf "$root"/var/log/* "$root/var/cache/debconf" "$root/var/cache/apt" "$root"/var/cache/fontconfig/*
echo 'candidate:x:10001:10001::/home:/bin/sh' >> "$root/etc/passwd"
echo 'candidate:x:10001:' >> "$root/etc/group"
mkdir -p "$root/workspace" "$root/task" "$root/agent" "$root/deps"
chown 10001:10001 "$root/workspace"
chmod 1777 "$root/home"
find "$share/fonts" -type d -exec touch --date="@$SOURCE_DATE_EPOCH" {} +
chroot "$root" env -i PATH=/usr/bin:/bin SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" fc-cache --force --system-only
"""
"""Runs last, in a shell, on the finished root: drops what Chromium starts without, and caches the fonts at the end."""

RECIPE: Final[tuple[str, ...]] = (
    "mmdebstrap",
    "--variant=minbase",
    "--mode=root",
    "--format=tar",
    f"--include={','.join(_PACKAGES)}",
    f"--customize-hook={_CUSTOMIZE}",
    "bookworm",
)
"""The command, but for the file it writes."""

_PROBE: Final = """\
set -eu
dpkg-query --show --showformat '${Package}:${Architecture}=${Version}\\n' | LC_ALL=C sort
echo
/usr/lib/chromium/chromium --version
echo
fc-list --format '%{file}\\n' | LC_ALL=C sort -u | tr '\\n' '\\0' | xargs -0 sha256sum
"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that this machine's Docker holds.

    Attributes:
        reference: Docker's id for it here; other machines have another for the same bytes.
        rootfs: SHA-256 of the uncompressed tar, which is also Docker's diff id of its one layer.
        packages: SHA-256 of the sorted list of packages, one `name:architecture=version` a line.
        browser: what Chromium calls itself.
        fonts: SHA-256 of the canonical JSON object from each font file that fontconfig finds to its SHA-256.
        tar: the root filesystem.
    """

    reference: str
    rootfs: Digest
    packages: Digest
    browser: str
    fonts: Digest
    tar: Path


def recipe_digest() -> Digest:
    """Names the recipe: SHA-256 of its canonical JSON form."""
    return Digest.of(canonical.dumps({"argv": list(RECIPE), "epoch": _EPOCH}))


def cache_home() -> Path:
    """Where this machine keeps what can be made again: `$RBL_CACHE_HOME`, else the user's cache directory."""
    named = os.environ.get("RBL_CACHE_HOME")
    return Path(named) if named else platformdirs.user_cache_path("rbl")


def ensure(cache: Path | None = None, engine: Engine | None = None) -> Image:
    """The image of this recipe: from the cache, else built; imported into Docker if it is not there.

    Raises:
        Unavailable: it has to be built, and the machine cannot (see `build`); no Docker.
        BackendFailure: building, importing or probing failed (`image`, `engine`).
    """
    engine = engine or Engine.connect()
    with _folder(cache) as folder:
        return _known(folder, engine) or _record(folder, engine, _make(folder))


def cached(cache: Path | None = None, engine: Engine | None = None) -> Image:
    """The image of this recipe if it was made before; imported into Docker if it is not there.

    Raises:
        Unavailable: it was not made yet; no Docker.
        BackendFailure: importing failed (`image`, `engine`).
    """
    engine = engine or Engine.connect()
    with _folder(cache) as folder:
        image = _known(folder, engine)
    if image is None:
        raise Unavailable("the sandbox image was not made yet", where=str(folder), fix="run `rbl image build`")
    return image


def build(cache: Path | None = None, engine: Engine | None = None, *, tar: Path | None = None) -> Image:
    """Make the image anew, from today's packages or from a tar that was kept; earlier tars stay in the cache.

    Raises:
        Unavailable: not root, no mmdebstrap, no Docker.
        BackendFailure: building, importing or probing failed (`image`, `engine`).
    """
    engine = engine or Engine.connect()
    with _folder(cache) as folder:
        if tar is None:
            return _record(folder, engine, _make(folder))
        part = folder / "copied.part"
        shutil.copyfile(tar, part)
        return _record(folder, engine, part)


@contextmanager
def _folder(cache: Path | None) -> Iterator[Path]:
    """The recipe's folder, to one process at a time."""
    folder = (cache or cache_home()) / "images" / recipe_digest().hex
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _known(folder: Path, engine: Engine) -> Image | None:
    note = folder / "image.json"
    if not note.exists():
        return None
    told = _parse(note)
    rootfs = Digest.parse(told["rootfs"])
    tar = folder / f"{rootfs.hex}.tar"
    return Image(
        reference=_imported(engine, tar, rootfs),
        rootfs=rootfs,
        packages=Digest.parse(told["packages"]),
        browser=told["browser"],
        fonts=Digest.parse(told["fonts"]),
        tar=tar,
    )


def _make(folder: Path) -> Path:
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        raise Unavailable(
            "the sandbox image can be built only as root, with mmdebstrap",
            where=str(folder),
            fix="on Debian as root run scripts/bootstrap.sh; elsewhere copy that folder from a machine that has it",
        )
    part, log = folder / "rootfs.part", folder / "build.log"
    with log.open("wb") as out:
        done = subprocess.run(
            [*RECIPE, str(part)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": str(_EPOCH)},
        )
    if done.returncode:
        raise BackendFailure(
            "image", "the sandbox image cannot be built", where=str(log), fix="see the end of that log"
        )
    return part


def _record(folder: Path, engine: Engine, part: Path) -> Image:
    with part.open("rb") as file:
        rootfs = Digest(hashlib.file_digest(file, "sha256").hexdigest())
    tar = folder / f"{rootfs.hex}.tar"
    part.rename(tar)
    reference = _imported(engine, tar, rootfs)
    packages, browser, fonts = _probe(engine, reference)
    told = {
        "browser": browser,
        "fonts": str(fonts),
        "packages": str(Digest.of(packages)),
        "recipe": str(recipe_digest()),
        "rootfs": str(rootfs),
        "schema": _SCHEMA,
    }
    (folder / "packages").write_bytes(packages)
    note = folder / "image.json.part"
    note.write_bytes(canonical.dumps(cast("canonical.Json", told)))
    note.rename(folder / "image.json")
    return Image(reference, rootfs, Digest.of(packages), browser, fonts, tar)


def _imported(engine: Engine, tar: Path, rootfs: Digest) -> str:
    """Docker's id of the image whose one layer is this root filesystem."""
    tag = recipe_digest().hex[:12]
    reference = engine.image(f"{_REPOSITORY}:{tag}", layer=str(rootfs))
    if reference is not None:
        return reference
    try:
        with tar.open("rb") as file:
            engine.import_image(file, _REPOSITORY, tag, [f"ENV PATH={PATH}"])
    except OSError as error:
        raise BackendFailure("image", f"no root filesystem: {error}", fix="run `rbl image build`") from error
    reference = engine.image(f"{_REPOSITORY}:{tag}", layer=str(rootfs))
    if reference is None:
        raise BackendFailure(
            "image", "what was imported is not what was built", where=str(tar), fix="run `rbl image build`"
        )
    return reference


def _probe(engine: Engine, reference: str) -> tuple[bytes, str, Digest]:
    """The list of packages, the browser's version and the fonts' digest, as the image itself says."""
    spec = RunSpec(
        reference,
        ("/bin/sh", "-c", _PROBE),
        env={"HOME": "/home", "PATH": PATH},
        labels=labels("image", "probe"),
        seconds=120,
    )
    result = engine.run(spec)
    packages, _, rest = result.stdout.partition(b"\n\n")
    browser, _, sums = rest.decode("utf-8", "replace").partition("\n\n")
    if result.exit_code != 0 or result.truncated or not sums:
        said = result.stderr.decode("utf-8", "replace")[-500:]
        raise BackendFailure("image", f"the image does not say what is in it: {said}", fix="run `rbl image build`")
    fonts: dict[str, canonical.Json] = {}
    for line in sums.splitlines():
        digest, _, path = line.partition("  ")
        fonts[path] = digest
    return packages + b"\n", browser.strip(), Digest.of(canonical.dumps(fonts))


def _parse(note: Path) -> dict[str, str]:
    told = canonical.loads(note.read_bytes())
    if not isinstance(told, dict) or told.get("schema") != _SCHEMA or told.get("recipe") != str(recipe_digest()):
        raise BackendFailure("image", "not a note of this recipe's image", where=str(note), fix="run `rbl image build`")
    return cast("dict[str, str]", told)
