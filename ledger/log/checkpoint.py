"""A checkpoint: the signed head of the log (C2SP tlog-checkpoint).

    example.org/bench
    3
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    — example.org/bench Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=

Origin, size in records, base64 of the root; then the signatures of a signed note, the log's own first. Numbers are read
by a strict pattern, because `int()` also takes `+3`, `1_0` and full-width digits; lines end with LF alone, because
`splitlines()` also splits at U+2028. Extension lines are refused: they are not recommended, and ours writes none.
Whether two checkpoints agree is not known here: see `ledger.log.merkle.verify_consistency`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from ledger.log import merkle
from ledger.log.note import Note, Signing, Verifier, decode_base64, sign
from ledger.records.kinds import Head
from store.digest import Digest
from store.errors import InputError, LogInvalid

__all__ = ["Checkpoint", "open_checkpoint", "parse_decimal", "sign_checkpoint"]

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_SIZE_LIMIT: Final = 2**53
_LINES: Final = 4


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint says.

    Attributes:
        origin: the log's name.
        size: how many records.
        root: the RFC 6962 root over them.
    """

    origin: str
    size: int
    root: Digest

    @property
    def head(self) -> Head:
        """Size and root, as records cite them."""
        return Head(size=self.size, root=self.root)

    def format(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root.raw).decode()}\n"

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> Self:
        """Read the text of a note whose signatures were verified.

        Raises:
            LogInvalid: it is not what `format` writes (`checkpoint`).
        """
        lines = text.split("\n")
        if len(lines) != _LINES or lines[-1] or not lines[0]:
            raise LogInvalid("checkpoint", "not origin, size and root, a line each", where=where)
        size = parse_decimal(lines[1])
        raw = decode_base64(lines[2])
        if size is None or size >= _SIZE_LIMIT:
            raise LogInvalid("checkpoint", f"not a size: {lines[1][:40]!r}", where=where)
        if raw is None or len(raw) != merkle.HASH_SIZE:
            raise LogInvalid("checkpoint", f"not the base64 of a root: {lines[2][:80]!r}", where=where)
        if size == 0 and raw != merkle.EMPTY_ROOT:
            raise LogInvalid("checkpoint", "the root over no entries is another", where=where)
        return cls(lines[0], size, Digest.from_raw(raw))


def sign_checkpoint(checkpoint: Checkpoint, signer: Signing) -> bytes:
    """The signed checkpoint; the key's name is the origin (tlog-checkpoint, Signatures). Same input, same bytes.

    Raises:
        InputError: the origin cannot name a key.
    """
    if "\n" in checkpoint.origin:
        raise InputError("an origin is one line")
    return sign(checkpoint.format(), checkpoint.origin, signer).format()


def open_checkpoint(data: bytes, origin: str, verifiers: Iterable[Verifier], *, where: str = "") -> Checkpoint:
    """Verify a signed checkpoint and read it.

    Args:
        data: the bytes of the note.
        origin: the log it must be of.
        verifiers: keys of the log; one of them must have signed.
        where: named in errors.

    Raises:
        LogInvalid: it does not verify (`note`, `note-signature`, `note-unsigned`), is malformed (`checkpoint`), or is
            another log's (`origin`).
    """
    note = Note.parse(data, where=where)
    note.verified(verifiers, where=where)
    checkpoint = Checkpoint.parse(note.text, where=where)
    if checkpoint.origin != origin:
        raise LogInvalid("origin", f"a checkpoint of {checkpoint.origin}, not of {origin}", where=where)
    return checkpoint


def parse_decimal(text: str) -> int | None:
    """A number in ASCII decimal without leading zeroes, or None."""
    return int(text) if _DECIMAL.fullmatch(text) else None
