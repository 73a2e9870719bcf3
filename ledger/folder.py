"""The benchmark folder: where each thing lies, and its one configuration file.

    rbl.toml        origin = "example.org/bench"
    trust/          1.root.json, …           the trust roots, copies of their leaves
    log/            checkpoint, tile/…       served as it stands
    journal/        lock, batches            what is durable and not yet in a checkpoint
    spool/          <name>.dsse, rejected/   signed records that wait for the sequencer
    objects/        the object store
    cases/ kits/ releases/ attempts/

`rbl.toml`, whole:

    origin = "example.org/bench"    # the ledger's name, which every record carries; never changed
    [signers]                       # key files elsewhere than in the user's configuration folder, by role
    evaluator = "/var/lib/rbl-evaluator/evaluator.pem"
    [remotes]                       # object stores to push to and fetch from, by name
    origin = "s3://bucket/prefix"
    [executors.local]               # who runs attempts, by name: `kind`, and `jobs` at a time
    kind = "local"
    jobs = 2

Private keys and what this machine remembers of the log (the pinned first trust root, the last signed head) are kept
outside the folder, so that copying, restoring or publishing it neither leaks a key nor turns time back. Nothing here
reads a record or verifies a signature; the present head is `ledger.log.authority.read_checkpoint(folder).head`.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, get_args

from ledger.records.kinds import Role
from store import disk
from store.errors import Conflict, InputError
from store.objects import ObjectStore

if TYPE_CHECKING:
    from ledger.records.keys import KeyRing

__all__ = ["CONFIG", "Config", "Executor", "Folder", "check_origin", "config_home", "slug", "state_home"]

CONFIG: Final = "rbl.toml"
"""The file that makes a folder a benchmark folder."""

_ORIGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/-]{0,199}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_FOLDERS: Final = ("trust", "log", "journal", "spool", "cases", "kits", "releases", "attempts")
_MOST_JOBS: Final = 1024


@dataclass(frozen=True, slots=True)
class Executor:
    """Who runs attempts.

    Attributes:
        kind: the executor's type, `local` or another that is installed.
        jobs: attempts at a time.
    """

    kind: str = "local"
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Config:
    """What `rbl.toml` says.

    Attributes:
        origin: the ledger's name.
        signers: role → key file, for keys that lie elsewhere than in the user's configuration folder.
        remotes: name → address.
        executors: name → executor.
    """

    origin: str
    signers: Mapping[str, Path] = field(default_factory=dict)
    remotes: Mapping[str, str] = field(default_factory=dict)
    executors: Mapping[str, Executor] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, where: str = CONFIG) -> Self:
        """Read the text of an `rbl.toml`.

        Args:
            text: TOML.
            where: the file's name, for messages.

        Raises:
            InputError: not TOML, an unknown key, or a value of another type; names file, key and line.
        """
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"not TOML: {error}", where=where) from error
        reader = _Reader(text, where)
        reader.only(document, ("origin", "signers", "remotes", "executors"))
        if "origin" not in document:
            raise InputError("the key `origin` is missing", where=where, fix='write origin = "example.org/bench"')
        origin = reader.text(document, "origin")
        if _ORIGIN.fullmatch(origin) is None:
            raise reader.fault("origin", "is not an origin", "use letters, digits and . _ ~ : / -, at most 200")
        signers = reader.table(document, "signers")
        reader.only(signers, get_args(Role))
        executors = reader.table(document, "executors")
        remotes = reader.table(document, "remotes")
        reader.names(remotes)
        reader.names(executors)
        return cls(
            origin=origin,
            signers={role: Path(reader.text(signers, role)).expanduser() for role in signers},
            remotes={name: reader.text(remotes, name) for name in remotes},
            executors={name: reader.executor(executors, name) for name in executors},
        )

    def format(self) -> str:
        """The text of an `rbl.toml` that says this."""
        lines = ["# A benchmark folder of rbl. The origin names the ledger in every record: it is never changed."]
        lines.append(f"origin = {_quoted(self.origin)}")
        if self.signers:
            lines += ["", "[signers]"]
            lines += [f"{role} = {_quoted(str(path))}" for role, path in self.signers.items()]
        if self.remotes:
            lines += ["", "[remotes]"]
            lines += [f"{_quoted(name)} = {_quoted(address)}" for name, address in self.remotes.items()]
        for name, executor in self.executors.items():
            lines += ["", f"[executors.{_quoted(name)}]", f"kind = {_quoted(executor.kind)}", f"jobs = {executor.jobs}"]
        return "\n".join(lines) + "\n"


class Folder:
    """A benchmark folder. Cheap to make: what it points to is read when it is asked for.

    Args:
        root: the folder that holds `rbl.toml`.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root).resolve()
        self.objects = self.root / "objects"
        self.log = self.root / "log"
        self.trust = self.root / "trust"
        self.spool = self.root / "spool"
        self.journal = self.root / "journal"
        self.cases = self.root / "cases"
        self.kits = self.root / "kits"
        self.releases = self.root / "releases"
        self.attempts = self.root / "attempts"

    def __repr__(self) -> str:
        return f"Folder({str(self.root)!r})"

    def __eq__(self, other: object) -> bool:
        return self.root == other.root if isinstance(other, Folder) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.root)

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.root,)

    @classmethod
    def create(cls, root: Path, origin: str, *, config: Config | None = None) -> Self:
        """Make an empty benchmark folder: the configuration, the rooms, an object store. No log yet.

        Args:
            root: made when absent; what else is in it is left alone.
            origin: the ledger's name.
            config: what `rbl.toml` will say, where it says more than the origin.

        Raises:
            InputError: the origin is not one.
            Conflict: it is a benchmark folder already.
            HarnessError: the folder cannot be written.
        """
        text = (config or Config(check_origin(origin))).format()
        folder = cls(root)
        place = folder.root / CONFIG
        with disk.faults("cannot make a benchmark folder", folder.root):
            if place.exists():
                raise Conflict("a benchmark folder is here already", where=str(place), fix="choose another folder")
            for name in _FOLDERS:
                (folder.root / name).mkdir(parents=True, exist_ok=True)
            if not (folder.objects / "layout.json").exists():
                ObjectStore.create(folder.objects)
            try:
                descriptor = disk.create(place, 0o644)
            except FileExistsError as error:
                raise Conflict("a benchmark folder is here already", where=str(place)) from error
            try:
                disk.write(descriptor, text.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            disk.sync_directory(folder.root)
        return folder

    @classmethod
    def open(cls, root: Path) -> Self:
        """The benchmark folder at `root`.

        Raises:
            InputError: there is none, or its configuration is wrong.
        """
        folder = cls(root)
        if not (folder.root / CONFIG).is_file():
            raise InputError("not a benchmark folder", where=str(folder.root), fix="make one: rbl init DIR")
        _ = folder.config
        return folder

    @classmethod
    def find(cls, start: Path) -> Self:
        """The benchmark folder that `start` lies in, itself or the nearest above it.

        Raises:
            InputError: there is none.
        """
        place = Path(start).resolve()
        for candidate in (place, *place.parents):
            if (candidate / CONFIG).is_file():
                return cls.open(candidate)
        raise InputError("not inside a benchmark folder", where=str(place), fix="name one with -C DIR, or rbl init DIR")

    @cached_property
    def config(self) -> Config:
        """What `rbl.toml` says, read once."""
        place = self.root / CONFIG
        try:
            text = place.read_text("utf-8")
        except FileNotFoundError as error:
            raise InputError("not a benchmark folder", where=str(self.root), fix="make one: rbl init DIR") from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read: {error}", where=str(place)) from error
        return Config.parse(text, str(place))

    @property
    def store(self) -> ObjectStore:
        """The object store.

        Raises:
            InputError: it is not there.
        """
        return self._store

    @cached_property
    def _store(self) -> ObjectStore:
        return ObjectStore.open(self.objects)

    @property
    def slug(self) -> str:
        """The origin as a file name."""
        return slug(self.config.origin)

    @cached_property
    def keys(self) -> KeyRing:
        """The private keys this user holds for this ledger; outside the folder."""
        from ledger.records.keys import KeyRing  # noqa: PLC0415 (cryptography is slow to import)

        return KeyRing(config_home() / "keys" / self.slug, self.config.signers)

    @property
    def state(self) -> Path:
        """The folder of what this machine remembers of the log; outside the benchmark folder."""
        return state_home() / self.slug


def config_home() -> Path:
    """The user's configuration folder: `$RBL_CONFIG_HOME`, or the platform's."""
    return _home("RBL_CONFIG_HOME", "user_config_path")


def state_home() -> Path:
    """The user's state folder: `$RBL_STATE_HOME`, or the platform's."""
    return _home("RBL_STATE_HOME", "user_state_path")


def check_origin(origin: str) -> str:
    """The same text, when it can name a ledger.

    A part of what a signed note allows as a key name (C2SP signed-note: no white space, no plus), so that it can stand
    in a URL and in a checkpoint alike.

    Raises:
        InputError: it cannot.
    """
    if _ORIGIN.fullmatch(origin) is None:
        raise InputError(
            f"not an origin: {origin[:80]!r}", fix="use letters, digits and . _ ~ : / -, like example.org/bench"
        )
    return origin


def slug(origin: str) -> str:
    """An origin as a file name; different origins never share one."""
    digest = hashlib.sha256(origin.encode()).hexdigest()[:8]
    return re.sub(r"[^a-z0-9._-]+", "-", origin.lower())[:80] + "-" + digest


def _home(variable: str, platform_name: str) -> Path:
    override = os.environ.get(variable)
    if override:
        return Path(override).resolve()
    import platformdirs  # noqa: PLC0415 (only where no variable says it)

    path: Path = getattr(platformdirs, platform_name)("rbl")
    return path


def _quoted(text: str) -> str:
    """A TOML basic string (TOML 1.0, String)."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x7f": "\\u007f"}
    out = "".join(escapes.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text)
    return f'"{out}"'


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes typed values out of a TOML document, and says where the wrong ones stand."""

    lines: str
    where: str

    def only(self, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise self.fault(key, "is unknown", f"one of: {', '.join(known)}")

    def names(self, table: Mapping[str, Any]) -> None:
        for key in table:
            if _NAME.fullmatch(key) is None:
                raise self.fault(key, "is not a name", "use lower-case letters, digits and . _ -")

    def text(self, table: Mapping[str, Any], key: str) -> str:
        value = table[key]
        if not isinstance(value, str) or not value:
            raise self.fault(key, "is not a text", f'write {key} = "…"')
        return value

    def table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.fault(key, "is not a table", f"write [{key}]")
        return value

    def executor(self, table: Mapping[str, Any], name: str) -> Executor:
        """How attempts are run, and how many at a time; one at a time, here, by default."""
        value = self.table(table, name)
        self.only(value, ("kind", "jobs"))
        jobs = value.get("jobs", 1)
        if not isinstance(jobs, int) or isinstance(jobs, bool) or not 1 <= jobs <= _MOST_JOBS:
            raise self.fault("jobs", "is not a number of jobs", f"1 to {_MOST_JOBS}")
        return Executor(self.text(value, "kind") if "kind" in value else "local", jobs)

    def fault(self, key: str, what: str, fix: str) -> InputError:
        pattern = re.compile(rf"""^\s*(\[+[^\]]*)?["']?{re.escape(key)}["']?\s*[\].=]""")
        for number, line in enumerate(self.lines.split("\n"), 1):
            if pattern.search(line):
                return InputError(f"the key `{key}` {what}", where=f"{self.where}:{number}", fix=fix)
        return InputError(f"the key `{key}` {what}", where=self.where, fix=fix)
