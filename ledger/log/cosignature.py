"""Cosignatures: a witness's word that it saw a log only grow (C2SP tlog-cosignature, version 1, Ed25519).

    — witness.example/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIU…

is one more signature line below a checkpoint, base64(key id ‖ u64be time ‖ Ed25519 signature), over the message

    cosignature/v1
    time 1679315147
    example.org/bench
    3
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

The key id is that of signature type 4; so is the text form of the key (vkey). It says: at that time this was the
largest head of the log that the witness had seen, and all that it saw before are beginnings of it. Readers that know no
witness pass the line over. The time is not compared with a clock here. What a witness must have checked before it signs
is `ledger.log.witness`'s, how many must have signed is `ledger.log.policy`'s.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final, Self

from ledger.log.checkpoint import Checkpoint
from ledger.log.note import NoteSignature, Signing, check_name, key_id, parse_key
from ledger.records.keys import PUBLIC_SIZE, SIGNATURE_SIZE, verify
from store.errors import InputError

__all__ = ["COSIGNATURE", "CosignerKey", "cosign", "time_of"]

COSIGNATURE: Final = 4
"""Signature type of an Ed25519 cosignature (tlog-cosignature, Format)."""

_TIME_SIZE: Final = 8
_LATEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CosignerKey:
    """The key of a witness.

    Attributes:
        name: as it stands in the signature line.
        public: 32 bytes.
    """

    name: str
    public: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.public) != PUBLIC_SIZE:
            raise InputError(f"an Ed25519 public key has {PUBLIC_SIZE} bytes, not {len(self.public)}")

    @property
    def id(self) -> bytes:
        """The four-byte id."""
        return key_id(self.name, COSIGNATURE, self.public)

    def verify(self, text: bytes, signature: bytes) -> bool:
        """Whether time and signature are this witness's over the text of a checkpoint."""
        time = _time(signature)
        return time is not None and verify(self.public, signature[_TIME_SIZE:], _message(text, time))

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([COSIGNATURE]) + self.public).decode()}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form (vkey).

        Raises:
            InputError: it is not one, of another type, or its id is not that of its key.
        """
        return cls(*parse_key(text, COSIGNATURE, "an Ed25519 witness key"))


def cosign(checkpoint: Checkpoint, name: str, signer: Signing, time: int) -> NoteSignature:
    """The cosignature of a checkpoint. Same input, same bytes.

    Args:
        checkpoint: what the witness has checked.
        name: the witness's.
        signer: its key.
        time: of signing, in POSIX seconds.

    Raises:
        InputError: the name cannot name a key, or the time is not one.
    """
    if not 0 <= time <= _LATEST:
        raise InputError(f"not a time of signing: {time}")
    signature = signer.sign(_message(checkpoint.format().encode(), time))
    return NoteSignature(
        check_name(name), key_id(name, COSIGNATURE, signer.public), time.to_bytes(_TIME_SIZE, "big") + signature
    )


def time_of(signature: NoteSignature) -> int:
    """When a verified cosignature was made, in POSIX seconds.

    Raises:
        InputError: it is no cosignature.
    """
    time = _time(signature.signature)
    if time is None:
        raise InputError("not a cosignature", where=signature.name)
    return time


def _time(signature: bytes) -> int | None:
    if len(signature) != _TIME_SIZE + SIGNATURE_SIZE:
        return None
    time = int.from_bytes(signature[:_TIME_SIZE], "big")
    return time if time <= _LATEST else None


def _message(text: bytes, time: int) -> bytes:
    return b"cosignature/v1\ntime %d\n" % time + text
