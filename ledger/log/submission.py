"""What a log sends to a witness, and what comes back (C2SP tlog-witness, add-checkpoint).

    old 2
    fZ3lXvZsQ6Jb…=
                                                          ← an empty line, then the checkpoint word for word
    example.org/bench
    3
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    — example.org/bench Az3grlgtzPICa5OS8npVmf1Myq/5IZni…

`POST <prefix>/add-checkpoint` with this body: the size of the head that the witness cosigned last, the proof that it is
a beginning of the new one (RFC 9162, section 2.1.4.1), the new checkpoint. The answer is

    200   signature lines                                 404   no such origin is known here
    400   not a request, or `old` above the new size      409   `old` is not the last size, which the body says
    403   signed by no key that is trusted                422   the proof does not hold

Whether a request holds is `ledger.log.witness`'s to say.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from ledger.log import merkle
from ledger.log.checkpoint import parse_decimal
from ledger.log.note import decode_base64
from store.errors import LogInvalid

__all__ = ["LONGEST", "PATH", "SIZE_TYPE", "STATUS", "AddCheckpoint"]

PATH: Final = "/add-checkpoint"
"""Where a submission is posted, below a witness's prefix."""

SIZE_TYPE: Final = "text/x.tlog.size"
"""The media type of a body that says the last size."""

LONGEST: Final = 512 * 1024
"""Bytes of a request: a checkpoint of a hundred signatures, a few of them as long as post-quantum ones are, fits."""

STATUS: Final[Mapping[str, int]] = {
    "request": 400,
    "note": 400,
    "checkpoint": 400,
    "note-signature": 403,
    "note-unsigned": 403,
    "origin": 404,
    "stale": 409,
    "fork": 409,
    "consistency": 422,
}
"""The status of each rule that a submission can break."""

_MOST_STEPS: Final = 63


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """A submission that nobody has verified yet.

    Attributes:
        old: size of the head that the witness cosigned last; 0 where there is none.
        proof: 32-byte hashes.
        checkpoint: the bytes of the signed checkpoint.
    """

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def format(self) -> bytes:
        """The bytes of the body."""
        lines = [f"old {self.old}", *(base64.b64encode(step).decode() for step in self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes, *, where: str = "") -> Self:
        """Read a body; says nothing of whether it holds.

        Raises:
            LogInvalid: it is not what `format` writes (`request`).
        """
        if len(data) > LONGEST:
            raise LogInvalid("request", f"longer than {LONGEST} bytes", where=where)
        head, separator, checkpoint = data.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise LogInvalid("request", "not ASCII above the checkpoint", where=where) from error
        old = parse_decimal(first.removeprefix("old ")) if first.startswith("old ") else None
        if old is None or not separator:
            raise LogInvalid("request", "not an old size, a proof, an empty line and a checkpoint", where=where)
        if len(lines) > _MOST_STEPS:
            raise LogInvalid("request", f"more than {_MOST_STEPS} lines of proof", where=where)
        proof = []
        for line in lines:
            step = decode_base64(line)
            if step is None or len(step) != merkle.HASH_SIZE:
                raise LogInvalid("request", f"not the base64 of a hash: {line[:80]!r}", where=where)
            proof.append(step)
        return cls(old, tuple(proof), checkpoint)
