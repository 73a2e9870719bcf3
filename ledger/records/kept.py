"""What a gate may rest on: the state that the rules left behind after some records, kept by somebody else.

    gate = Gate(origin, root_at, kept)     # goes on where `kept` ends; looks there for what it has not seen itself

A gate that begins at record 0 rests on `Nothing`. Whoever keeps a state answers for it as for a pinned head: it is what
was true when this machine verified those records. `ledger.verified` keeps one in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest

__all__ = ["Kept", "Leaf", "Nothing"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A record that was admitted.

    Attributes:
        number: its place in the log.
        kind: of its body.
        attempt: the attempt whose record it is; null for a declaration.
    """

    number: int
    kind: str
    attempt: str | None


class Kept(Protocol):
    """The state after the first `size` records."""

    @property
    def size(self) -> int:
        """How many records it stands for."""
        ...

    @property
    def trust_root(self) -> kinds.TrustRoot | None:
        """The trust root in force."""
        ...

    @property
    def limits(self) -> Mapping[str, int]:
        """Every key that a trust root up to here distrusts, and the index from which."""
        ...

    def payload(self, digest: bytes) -> int | None:
        """The record with this payload digest (32 bytes), or None."""
        ...

    def leaf(self, digest: bytes) -> Leaf | None:
        """The record with this leaf digest (32 bytes), or None."""
        ...

    def declaration(self, number: int) -> Record:
        """The record at a place, which is a declaration's."""
        ...

    def named(self, name: tuple[str, ...]) -> Digest | None:
        """The leaf digest of the declaration that has this name, or None."""
        ...

    def lifted(self, withdrawal: Digest) -> bool:
        """Whether a withdrawal was lifted by a later one."""
        ...

    def attempt(self, attempt: str) -> bytes | None:
        """The state of an attempt, as `ledger.records.attempts` packed it, or None."""
        ...

    def attempts(self) -> Iterable[tuple[str, bytes]]:
        """Every attempt and its state."""
        ...

    def slot(self, slot: bytes) -> str | None:
        """The attempt that used a place of a schedule, or None."""
        ...


class Nothing:
    """The state before the first record."""

    size = 0
    trust_root = None
    limits: Final[Mapping[str, int]] = MappingProxyType({})

    def payload(self, digest: bytes) -> int | None:  # noqa: ARG002 (as in `Kept`)
        """None."""
        return None

    def leaf(self, digest: bytes) -> Leaf | None:  # noqa: ARG002
        """None."""
        return None

    def declaration(self, number: int) -> Record:
        """Never asked."""
        raise LookupError(number)

    def named(self, name: tuple[str, ...]) -> Digest | None:  # noqa: ARG002
        """None."""
        return None

    def lifted(self, withdrawal: Digest) -> bool:  # noqa: ARG002
        """No."""
        return False

    def attempt(self, attempt: str) -> bytes | None:  # noqa: ARG002
        """None."""
        return None

    def attempts(self) -> Iterable[tuple[str, bytes]]:
        """None."""
        return ()

    def slot(self, slot: bytes) -> str | None:  # noqa: ARG002
        """None."""
        return None
