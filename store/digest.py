"""A SHA-256 digest as a type: parse, text and bytes together.

    sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae

Text is always the algorithm, a colon and 64 lower-case hexadecimal digits; `parse` refuses what `str` would not
write (upper case, another algorithm, white space). It names bytes; it says nothing of what they mean.
"""

from __future__ import annotations

import hashlib
import re
from functools import total_ordering
from typing import Never, Self

from store.errors import InputError

__all__ = ["Digest"]

_HEX = re.compile(r"[0-9a-f]{64}")
_PREFIX = "sha256:"


@total_ordering
class Digest:
    """The name of an object. Immutable, ordered, hashable.

    Not a dataclass, so that record converters treat it as one text and not as a mapping of fields.

    Attributes:
        hex: 64 lower-case hexadecimal digits.
    """

    __slots__ = ("hex",)
    hex: str

    def __init__(self, hexadecimal: str) -> None:
        if _HEX.fullmatch(hexadecimal) is None:
            raise InputError(f"not a digest: {hexadecimal[:80]!r}", fix="write 64 lower-case hexadecimal digits")
        object.__setattr__(self, "hex", hexadecimal)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a digest cannot be changed ({name})")

    def __eq__(self, other: object) -> bool:
        return self.hex == other.hex if isinstance(other, Digest) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.hex < other.hex if isinstance(other, Digest) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hex)

    def __repr__(self) -> str:
        return f"Digest({self.hex!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.hex,)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `sha256:<hex>`.

        Raises:
            InputError: the text is not exactly that.
        """
        if not text.startswith(_PREFIX) or _HEX.fullmatch(text, len(_PREFIX)) is None:
            raise InputError(f"not a digest: {text[:80]!r}", fix="write sha256: and 64 lower-case hexadecimal digits")
        return cls._known(text[len(_PREFIX) :])

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The digest of these bytes."""
        return cls._known(hashlib.sha256(data).hexdigest())

    @classmethod
    def _known(cls, hexadecimal: str) -> Self:
        """The digest of digits that need no check."""
        found = cls.__new__(cls)
        object.__setattr__(found, "hex", hexadecimal)
        return found

    @classmethod
    def from_raw(cls, raw: bytes) -> Self:
        """The digest whose 32 bytes these are.

        Raises:
            InputError: it is not 32 bytes.
        """
        if len(raw) != hashlib.sha256().digest_size:
            raise InputError(f"a SHA-256 digest has 32 bytes, not {len(raw)}")
        return cls._known(raw.hex())

    @property
    def raw(self) -> bytes:
        """The 32 bytes."""
        return bytes.fromhex(self.hex)

    @property
    def short(self) -> str:
        """The first 12 hexadecimal digits, for people."""
        return self.hex[:12]

    def __str__(self) -> str:
        return f"sha256:{self.hex}"
