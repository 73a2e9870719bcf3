"""What a reader demands of a head: whose signatures must stand below it (C2SP tlog-policy).

    log example.org/bench+033de0ae+AcfPNeE0RlW1oXUNcJMN0nkk…
    witness W1 witness.example/w1+8d66cf3f+BBKVzkLnfU5H… https://witness.example/
    witness W2 …
    witness W3 …
    group two-of-three 2 W1 W2 W3            # or `all`, or `any`
    quorum two-of-three                      # a group, a witness, or `none`

One item a line, separated by spaces and tabs; `#` begins a line that is a comment. Names are opaque octets, and each is
used only below the line that defines it; a name is a member of one group at most, so that nobody counts twice. Logs may
be left out where they are known from elsewhere. A file whose last line does not end is refused: it may have been cut.
Keys are Ed25519 (signature types 1 and 4); a policy with another is refused, since nothing here could count it. Where
the heads are that may satisfy a policy is `ledger.witnessed`'s to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeVar

from ledger.log.checkpoint import parse_decimal
from ledger.log.cosignature import CosignerKey
from ledger.log.note import Note, VerifierKey
from store.errors import InputError, LogInvalid

__all__ = ["Group", "Policy", "Satisfaction"]

K = TypeVar("K", VerifierKey, CosignerKey)

_BLANK = re.compile("[ \t]+")
_FORBIDDEN = re.compile(rb"[^\t\n\x20-\x7e\x80-\xff]")
_NONE: Final = "none"
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Group:
    """A group of witnesses and groups.

    Attributes:
        threshold: how many members must have witnessed.
        members: their names, in order.
    """

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Satisfaction:
    """How a checkpoint stands to a policy.

    Attributes:
        ok: whether it is enough.
        cosigned: names, as the policy has them, of the witnesses whose cosignature verifies.
        missing: what is not there, in words; empty when it is enough.
    """

    ok: bool
    cosigned: tuple[str, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy.

    Attributes:
        logs: keys, of which one must have signed; with none, the log is known from elsewhere.
        witnesses: name → key.
        groups: name → group; in the order of definition, each of what stands before it.
        quorum: a witness, a group, or `none`.
        urls: name of a witness → where it takes submissions.
        log_urls: text form of a log's key → address.
    """

    logs: tuple[VerifierKey, ...]
    witnesses: dict[str, CosignerKey]
    groups: dict[str, Group]
    quorum: str
    urls: dict[str, str]
    log_urls: dict[str, str]

    def format(self) -> bytes:
        """The bytes of a policy that says this."""
        lines = [f"log {key} {self.log_urls.get(str(key), '')}" for key in self.logs]
        lines += [f"witness {name} {key} {self.urls.get(name, '')}" for name, key in self.witnesses.items()]
        lines += [f"group {name} {one.threshold} {' '.join(one.members)}" for name, one in self.groups.items()]
        lines.append(f"quorum {self.quorum}")
        return "".join(f"{line.rstrip(' ')}\n" for line in lines).encode("utf-8", "surrogateescape")

    @classmethod
    def parse(cls, data: bytes, *, where: str = "policy") -> Self:
        """Read a policy.

        Raises:
            InputError: it is not one; names the line.
        """
        if len(data) > _LONGEST:
            raise InputError(f"longer than {_LONGEST} bytes", where=where)
        reader = _Reader(where)
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            reader.take(line, f"{where}:{number}")
        if data and not data.endswith(b"\n"):
            raise InputError(
                "the last line does not end", where=where, fix="get the whole file, or end it with a newline"
            )
        if reader.quorum is None:
            raise InputError("no quorum", where=where, fix="write a line: quorum NAME, or quorum none")
        return cls(tuple(reader.logs), reader.witnesses, reader.groups, reader.quorum, reader.urls, reader.log_urls)

    def judge(self, note: Note, origin: str, *, where: str = "") -> Satisfaction:
        """How a checkpoint stands to this policy; a log's signature is looked at only where the policy names logs.

        Args:
            note: the checkpoint.
            origin: the log's name.
            where: named in errors.

        Raises:
            LogInvalid: a key that the policy names has a signature there that fails (`note-signature`).
        """
        signed = _verified(note, self.logs, where)
        seen = {key.public for key in _verified(note, list(self.witnesses.values()), where)}
        cosigned = tuple(name for name, key in self.witnesses.items() if key.public in seen)
        missing = []
        if self.logs and not any(key.name == origin for key in signed):
            missing.append("no log that the policy names has signed it")
        if not self._witnessed(self.quorum, frozenset(cosigned)):
            missing.append(f"the quorum {_shown(self.quorum)} is not reached: {self._said(cosigned)}")
        return Satisfaction(not missing, cosigned, "; ".join(missing))

    def _witnessed(self, quorum: str, cosigned: frozenset[str]) -> bool:
        reached = {_NONE, *cosigned}
        for name, group in self.groups.items():  # members stand before their group
            if sum(member in reached for member in group.members) >= group.threshold:
                reached.add(name)
        return quorum in reached

    def _said(self, cosigned: Sequence[str]) -> str:
        group = self.groups.get(self.quorum)
        needed = "" if group is None else f", {group.threshold} of {len(group.members)} members needed"
        names = ", ".join(map(_shown, cosigned)) or "no witness"
        return f"cosigned by {names}{needed}"


class _Reader:
    """What the lines so far have defined."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.logs: list[VerifierKey] = []
        self.witnesses: dict[str, CosignerKey] = {}
        self.groups: dict[str, Group] = {}
        self.urls: dict[str, str] = {}
        self.log_urls: dict[str, str] = {}
        self.quorum: str | None = None
        self._members: set[str] = set()

    def take(self, line: bytes, where: str) -> None:
        self.where = where
        if _FORBIDDEN.search(line) is not None:
            raise self._fault("a control character", "use spaces, tabs and newlines alone")
        words = _BLANK.split(line.decode("utf-8", "surrogateescape").strip(" \t"))
        if not words[0] or words[0].startswith("#"):
            return
        match words:
            case ["log", key, *url] if len(url) <= 1:
                self._log(key, url)
            case ["witness", name, key, *url] if len(url) <= 1:
                self._witness(name, key, url)
            case ["group", name, threshold, *members]:
                self._group(name, threshold, members)
            case ["quorum", name]:
                self._quorum(name)
            case _:
                raise self._fault(
                    f"not a line of a policy: {_shown(' '.join(words))[:80]!r}", "see c2sp.org/tlog-policy"
                )

    def _log(self, text: str, url: list[str]) -> None:
        key = self._key(VerifierKey.parse, text)
        if key.public in {one.public for one in self.logs}:
            raise self._fault("the log's key is listed twice", "leave one line")
        self.logs.append(key)
        self.log_urls |= {str(key): url[0]} if url else {}

    def _witness(self, name: str, text: str, url: list[str]) -> None:
        self._define(name)
        key = self._key(CosignerKey.parse, text)
        if key.public in {one.public for one in self.witnesses.values()}:
            raise self._fault("the witness's key is listed twice", "leave one line: it must not count twice")
        self.witnesses[name] = key
        self.urls |= {name: url[0]} if url else {}

    def _group(self, name: str, threshold: str, members: list[str]) -> None:
        self._define(name)
        count = {"any": 1, "all": len(members)}.get(threshold, parse_decimal(threshold))
        if count is None or not 1 <= count <= len(members):
            raise self._fault(f"not a threshold for {len(members)} members: {_shown(threshold)!r}", "1 to their number")
        for member in members:
            if member not in self.witnesses and member not in self.groups:
                raise self._fault(f"{_shown(member)!r} is not defined above", "define it before it is used")
            if member in self._members:
                raise self._fault(f"{_shown(member)!r} is a member already", "it must not count twice")
            self._members.add(member)
        self.groups[name] = Group(count, tuple(members))

    def _quorum(self, name: str) -> None:
        if self.quorum is not None:
            raise self._fault("a second quorum", "leave one line")
        if name not in {_NONE, *self.witnesses, *self.groups}:
            raise self._fault(f"{_shown(name)!r} is not defined above", "define it before it is used")
        self.quorum = name

    def _define(self, name: str) -> None:
        if name == _NONE or name in self.witnesses or name in self.groups:
            raise self._fault(f"the name {_shown(name)!r} is taken", "choose another")

    def _key(self, parse: Callable[[str], K], text: str) -> K:
        try:
            text.encode()
            return parse(text)
        except UnicodeEncodeError as error:
            raise self._fault("a key's name is not UTF-8", "write name+id+base64") from error
        except InputError as error:
            raise self._fault(error.what, error.fix or "write name+id+base64") from error

    def _fault(self, what: str, fix: str) -> InputError:
        return InputError(what, where=self.where, fix=fix)


def _verified(note: Note, keys: Sequence[K], where: str) -> list[K]:
    try:
        found = note.verified(keys, where=where)
    except LogInvalid as error:
        if error.rule == "note-unsigned":  # by none of these: whether that is enough, the quorum says
            return []
        raise
    return [key for key in keys if key in found]


def _shown(text: str) -> str:
    """Opaque octets, for people."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
