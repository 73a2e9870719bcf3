"""A receipt: proof that one record is in the log, which verifies offline (C2SP tlog-proof).

    c2sp.org/tlog-proof@v1
    index 2
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    example.org/bench
    3
    B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=

    — example.org/bench Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=

First line, optional opaque `extra`, the index, the inclusion path from the leaf upwards, an empty line, the checkpoint
word for word. Size and root are taken from the verified checkpoint alone. `extra` is not authenticated: it is handed
on, never believed. The file's extension is `.tlog-proof`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, open_checkpoint, parse_decimal
from ledger.log.note import Verifier, decode_base64
from store.errors import LogInvalid

__all__ = ["TlogProof"]

_FIRST: Final = "c2sp.org/tlog-proof@v1"
_LONGEST_PATH: Final = 64


@dataclass(frozen=True, slots=True)
class TlogProof:
    """A proof that nobody has verified yet.

    Attributes:
        index: the record's place in the log.
        path: 32-byte hashes, from the leaf upwards.
        checkpoint: the bytes of the signed checkpoint.
        extra: opaque, not authenticated; None where there is none.
    """

    index: int
    path: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def format(self) -> bytes:
        """The bytes of the proof (tlog-proof, Format)."""
        lines = [_FIRST]
        if self.extra is not None:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines += [base64.b64encode(step).decode() for step in self.path]
        return "\n".join([*lines, "", ""]).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes, *, where: str = "") -> Self:
        """Read a proof; says nothing of whether it holds.

        Raises:
            LogInvalid: it is not what `format` writes (`proof`).
        """
        head, separator, checkpoint = data.partition(b"\n\n")
        try:
            lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise LogInvalid("proof", "not ASCII above the checkpoint", where=where) from error
        if not separator or lines.pop(0) != _FIRST:
            raise LogInvalid("proof", f"not a proof: the first line is not {_FIRST}", where=where)
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = decode_base64(lines.pop(0).removeprefix("extra "))
            if extra is None:
                raise LogInvalid("proof", "extra is not base64", where=where)
        index = parse_decimal(lines.pop(0).removeprefix("index ")) if lines and lines[0].startswith("index ") else None
        if index is None:
            raise LogInvalid("proof", "no index", where=where)
        if len(lines) > _LONGEST_PATH:
            raise LogInvalid("proof", "the path is too long", where=where)
        path = []
        for line in lines:
            step = decode_base64(line)
            if step is None or len(step) != merkle.HASH_SIZE:
                raise LogInvalid("proof", f"not the base64 of a hash: {line[:80]!r}", where=where)
            path.append(step)
        return cls(index, tuple(path), checkpoint, extra)

    def verify(self, entry: bytes, origin: str, verifiers: Iterable[Verifier], *, where: str = "") -> Checkpoint:
        """Check that these bytes are in the log, and return the checkpoint that says so.

        Args:
            entry: the record's bytes.
            origin: the log's name.
            verifiers: keys of the log.
            where: named in errors.

        Raises:
            LogInvalid: checkpoint or path do not verify.
        """
        checkpoint = open_checkpoint(self.checkpoint, origin, verifiers, where=where)
        leaf = merkle.leaf_hash(entry)
        merkle.verify_inclusion(leaf, self.index, checkpoint.size, self.path, checkpoint.root.raw)
        return checkpoint
