"""Finds, makes and opens a benchmark folder, and the backend that attempts run on.

    folder = create(Path("bench"), "example.org/bench")     # keys, trust root, log of one record
    folder = open_folder(Path("."))                          # here or above
    backend = open_backend(folder, "docker")

What a folder is lies in `ledger.folder`; here is only what a person's command needs around it.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from ledger.folder import Folder, config_home
from store import disk
from store.digest import Digest
from store.errors import Conflict, InputError, ObjectMissing
from store.objects import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ledger.lookup import Lookup
    from ledger.records import kinds
    from runners.backend import Backend

__all__ = [
    "create",
    "indexing",
    "open_backend",
    "open_folder",
    "open_lookup",
    "require_backend",
    "resolve",
    "write_file",
    "write_object",
]

_IGNORED: Final = "# What git does not carry: the log must not be rolled back by a checkout.\n" + "".join(
    f"/{name}/\n" for name in ("log", "journal", "spool", "objects", "attempts")
)
_SHORTEST: Final = 4
_MANY: Final = 100_000  # records indexed between two lines of progress


def create(directory: Path, origin: str | None) -> Folder:
    """Make a benchmark folder: configuration, a key for each role, the first trust root as record 0, a Git repository.

    Args:
        directory: where; made if absent, else it must be empty of benchmark folders and of other files.
        origin: the ledger's name; `<folder>-<8 hex>.local` if null.

    Raises:
        Conflict: a benchmark folder, other files, or keys for this origin are there already.
        InputError: the origin is not one.
    """
    import subprocess

    from cases.kit import new_identity
    from ledger.records import kinds
    from ledger.sequencer import begin

    if (directory / "rbl.toml").exists():
        raise Conflict("a benchmark folder is here already", where=str(directory), fix="choose another folder")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Conflict("the folder is not empty", where=str(directory), fix="choose an empty or a new folder")
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in directory.resolve().name.lower()).strip("-")
    folder = Folder.create(directory, origin or f"{name or 'bench'}-{secrets.token_hex(4)}.local")
    ring = folder.keys
    if ring.list():
        raise Conflict(
            f"there are keys for {folder.config.origin} already", where=str(ring.directory), fix="use --origin"
        )
    granted: tuple[kinds.Role, ...] = get_args(kinds.Role)
    held = [role for role in granted if role not in {"witness", "rater"}]
    signers = {role: ring.create(role) for role in held}
    identity, recipient = new_identity()
    disk.write_new(ring.identity_path, identity.encode(), 0o600)
    disk.write_new(folder.kits / "recipient.txt", f"{recipient}\n".encode(), 0o644)
    disk.write_new(folder.root / ".gitignore", _IGNORED.encode(), 0o644)
    body = kinds.TrustRoot(
        ledger=folder.config.origin,
        after=None,
        issued_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        version=1,
        keys=[
            kinds.PublicKey(keyid=signer.keyid, public=signer.public_text, distrusted_from=None)
            for signer in sorted(signers.values(), key=lambda signer: signer.keyid)
        ],
        roles={
            role: kinds.Grant(keys=[signers[role].keyid], threshold=1, kinds=list(kinds.ROLE_KINDS[role]))
            for role in held
        },
    )
    begin(folder, body, [signers["root"]])
    subprocess.run(
        ["git", "init", "--quiet", "--initial-branch=main", str(folder.root)], check=True, capture_output=True
    )
    return folder


def open_folder(directory: Path) -> Folder:
    """The benchmark folder at or above a directory.

    Raises:
        InputError: there is none.
    """
    return Folder.find(directory)


def open_lookup(folder: Folder, say: Callable[[str], None]) -> Lookup:
    """A view of the folder's log that reads what it is asked for.

    Args:
        folder: the benchmark folder.
        say: told how far it is when a long log is indexed, once.

    Raises:
        As `Lookup.open`.
    """
    from ledger.lookup import Lookup

    return Lookup.open(folder, indexing(say))


def indexing(say: Callable[[str], None]) -> Callable[[int, int], None]:
    """Says now and then how many records are indexed; nothing for the few of every day."""
    told = 0

    def watch(done: int, total: int) -> None:
        nonlocal told
        if done - told >= _MANY:
            told = done
            say(f"indexed {done:,} of {total:,} records")

    return watch


def open_backend(folder: Folder, name: str) -> Backend:
    """The backend of that name.

    Raises:
        InputError: no such backend.
        Unavailable: the machine lacks what it needs.
    """
    label = Digest.of(os.fsencode(folder.root)).short
    if name == "docker":
        from runners.sandbox import Sandbox

        return Sandbox.open(folder.store, label)
    if name == "native":
        from runners.native import Native

        return Native(folder.store, label)
    raise _unknown_backend(name)


def _unknown_backend(name: str) -> InputError:
    return InputError(f"no backend {name!r}", fix="use docker, or native for diagnosis")


def resolve(store: ObjectStore, name: str) -> Digest:
    """The digest that a text names: whole, or the beginning of exactly one object's.

    Raises:
        InputError: too short, or it fits several.
        ObjectMissing: it fits none.
    """
    start = name.removeprefix("sha256:")
    if len(start) < _SHORTEST:
        raise InputError(f"too short to name an object: {name!r}", fix=f"give at least {_SHORTEST} digits")
    found = [digest for digest in store.digests() if digest.hex.startswith(start)]
    if not found:
        raise ObjectMissing(f"no object begins with {start}", where=str(store.root))
    if len(found) > 1:
        raise InputError(f"{len(found)} objects begin with {start}", fix="give more digits")
    return found[0]


def write_object(store: ObjectStore, digest: Digest, target: Path) -> None:
    """Write an object to a new file, whole or not at all.

    Raises:
        Conflict: the name is taken.
        ObjectMissing, ObjectCorrupt: as the store.
        HarnessError: the disk refused.
    """
    write_file(store.stream(digest), target)


def write_file(chunks: Iterable[bytes], target: Path) -> None:
    """Write a new file, whole or not at all.

    Raises:
        Conflict: the name is taken.
        HarnessError: the disk refused.
        RblError: what the chunks raise.
    """
    with disk.faults("cannot write the file", target):
        try:
            descriptor = disk.create(target, 0o644)
        except FileExistsError as error:
            raise Conflict("there is something of that name", where=str(target), fix="choose a new name") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(chunks)
        except BaseException:
            target.unlink()
            raise


def require_backend(name: str) -> None:
    """See that a backend can be opened here, before anything is made for it.

    Raises:
        InputError: no such backend.
        Unavailable: no Docker engine answers.
    """
    if name == "docker":
        from runners.container import Engine

        Engine.connect().close()
    elif name != "native":
        raise _unknown_backend(name)


def probe_render() -> tuple[Digest, Digest]:
    """Draw the control page in the sandbox.

    Returns:
        Digest of its capture the first time on this machine with this environment, and now.
    """
    from runners.control import draw_control
    from runners.sandbox import Sandbox

    with tempfile.TemporaryDirectory(prefix="rbl-probe-") as name:
        backend = Sandbox.open(ObjectStore.create(Path(name) / "objects"), "probe")
        now = draw_control(backend.store, backend)
        environment = Digest.of(repr(backend.environment()).encode())
    place = config_home() / "probes" / environment.hex
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        disk.write_new(place, str(now).encode(), 0o644)
    return Digest.parse(place.read_text().strip()), now
