"""Signed notes (C2SP signed-note): a text, and signatures by named keys below it.

    example.org/bench
    3
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
                                                          ← the last empty line separates text and signatures
    — example.org/bench Az3grlgtzPICa5OS8npVmf1Myq/5IZni…  ← em dash, name, base64(key id ‖ signature)

and the text form of a key that verifies them, name + id + base64(type ‖ public key):

    example.org/bench+033de0ae+AcfPNeE0RlW1oXUNcJMN0nkk…

The key id is the first four bytes of SHA-256(name ‖ LF ‖ type ‖ public key). A signature by a known key that fails
rejects the whole note; those by unknown keys are passed over; without one that verifies, there is no text to read. What
the text says is not known here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol, Self

from ledger.records.keys import verify
from store.errors import InputError, LogInvalid

__all__ = [
    "ED25519",
    "Note",
    "NoteSignature",
    "Signing",
    "Verifier",
    "VerifierKey",
    "check_name",
    "decode_base64",
    "key_id",
    "parse_key",
    "sign",
]

ED25519: Final = 1
"""Signature type of Ed25519 over the text (signed-note, Signature types)."""

_DASH: Final = "— "
_ID_SIZE: Final = 4
_PUBLIC_SIZE: Final = 32
_LONGEST: Final = 1_000_000
_MOST_SIGNATURES: Final = 100
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Signing(Protocol):
    """What signs: a private key that never leaves its owner."""

    @property
    def public(self) -> bytes:
        """The 32 bytes of the Ed25519 public key."""

    def sign(self, message: bytes, /) -> bytes:
        """The 64 bytes of the signature."""


class Verifier(Protocol):
    """What verifies one kind of signature by one key."""

    @property
    def name(self) -> str:
        """The key's name."""

    @property
    def id(self) -> bytes:
        """The key's four-byte id."""

    def verify(self, text: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's over the text of the note."""


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """The four bytes that name a key together with its name (signed-note, Signatures)."""
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:_ID_SIZE]


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """An Ed25519 key that signs notes as they are.

    Attributes:
        name: as it stands in the signature line.
        public: 32 bytes.
    """

    name: str
    public: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.public) != _PUBLIC_SIZE:
            raise InputError(f"an Ed25519 public key has 32 bytes, not {len(self.public)}")

    @property
    def id(self) -> bytes:
        """The four-byte id."""
        return key_id(self.name, ED25519, self.public)

    def verify(self, text: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's over the text."""
        return verify(self.public, signature, text)

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([ED25519]) + self.public).decode()}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form (vkey).

        Raises:
            InputError: it is not one, of another type, or its id is not that of its key.
        """
        return cls(*parse_key(text, ED25519, "an Ed25519 verifier key"))


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line.

    Attributes:
        name: the key's name.
        id: the key's four-byte id.
        signature: what follows it.
    """

    name: str
    id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.id + self.signature).decode()}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text with signatures that nobody has verified yet.

    Attributes:
        text: ends with a newline.
        signatures: in the order of their lines, at least one.
    """

    text: str
    signatures: tuple[NoteSignature, ...]

    def format(self) -> bytes:
        """The bytes of the note."""
        return (self.text + "\n" + "".join(f"{signature}\n" for signature in self.signatures)).encode()

    @classmethod
    def parse(cls, data: bytes, *, where: str = "") -> Self:
        """Read a note; says nothing of whether it is signed by anyone known.

        Raises:
            LogInvalid: it is not a note (`note`).
        """
        if len(data) > _LONGEST:
            raise LogInvalid("note", f"longer than {_LONGEST} bytes", where=where)
        try:
            whole = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LogInvalid("note", "not UTF-8", where=where) from error
        if _CONTROL.search(whole) is not None:
            raise LogInvalid("note", "a control character", where=where)
        # the last empty line separates (signed-note, Format); the text keeps its final newline
        text, separator, tail = whole.rpartition("\n\n")
        if not separator or not text or not tail.endswith("\n"):
            raise LogInvalid("note", "no signatures below a text", where=where)
        lines = tail[:-1].split("\n")
        if len(lines) > _MOST_SIGNATURES:
            raise LogInvalid("note", f"more than {_MOST_SIGNATURES} signatures", where=where)
        return cls(text + "\n", tuple(_parse_line(line, where) for line in lines))

    def verified(self, verifiers: Iterable[Verifier], *, where: str = "") -> list[Verifier]:
        """The keys, each once, that signed this note.

        Raises:
            LogInvalid: a known key's signature fails (`note-signature`), or no known key signed (`note-unsigned`).
        """
        known = {(verifier.name, verifier.id): verifier for verifier in verifiers}
        text = self.text.encode()
        found: dict[tuple[str, bytes], Verifier] = {}
        for signature in self.signatures:
            verifier = known.get((signature.name, signature.id))
            if verifier is None:
                continue
            if not verifier.verify(text, signature.signature):
                raise LogInvalid("note-signature", f"the signature of {signature.name} does not verify", where=where)
            found[verifier.name, verifier.id] = verifier
        if not found:
            raise LogInvalid("note-unsigned", "signed by no key that is known", where=where)
        return list(found.values())

    def signed_also(self, signature: NoteSignature) -> Self:
        """The same note with one signature more."""
        return type(self)(self.text, (*self.signatures, signature))


def sign(text: str, name: str, signer: Signing) -> Note:
    """A note over the text, signed by one Ed25519 key.

    Raises:
        InputError: the name cannot name a key, or the text cannot be that of a note.
    """
    if not text.endswith("\n") or _CONTROL.search(text) is not None:
        raise InputError("the text of a note ends with a newline and has no control characters")
    signature = NoteSignature(check_name(name), key_id(name, ED25519, signer.public), signer.sign(text.encode()))
    return Note(text, (signature,))


def parse_key(text: str, kind: int, called: str) -> tuple[str, bytes]:
    """Name and Ed25519 public key of the text form of a key (signed-note, Verifier keys).

    Args:
        text: name, id and base64 of type and key, joined by plus signs.
        kind: the signature type that it must be of.
        called: what such a key is called, for messages.

    Raises:
        InputError: it is not one, of another type, or its id is not that of its key.
    """
    name, _, rest = text.partition("+")
    identifier, _, encoded = rest.partition("+")
    raw = decode_base64(encoded)
    if raw is None or len(raw) != 1 + _PUBLIC_SIZE or raw[0] != kind:
        raise InputError(f"not {called}: {text[:120]!r}", fix="write name+id+base64")
    check_name(name)
    if key_id(name, kind, raw[1:]).hex() != identifier:
        raise InputError(f"the id {identifier[:20]!r} is not that of the key", where=name)
    return name, raw[1:]


def check_name(name: str) -> str:
    """The same text, when it can name a key: not empty, no Unicode space, no plus (signed-note, Format).

    Raises:
        InputError: it cannot.
    """
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise InputError(f"not a key name: {name[:80]!r}", fix="use no white space and no plus")
    return name


def decode_base64(text: str) -> bytes | None:
    """The bytes of standard base64 (RFC 4648, section 4), or None unless encoding them gives the same text back.

    Decoders let stray bits, white space and missing padding pass; two texts would then be one note.
    """
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    return raw if base64.b64encode(raw).decode() == text else None


def _parse_line(line: str, where: str) -> NoteSignature:
    dash, name, encoded = line[: len(_DASH)], *line[len(_DASH) :].partition(" ")[::2]
    raw = decode_base64(encoded)
    if dash != _DASH or raw is None or len(raw) <= _ID_SIZE:
        raise LogInvalid("note", f"not a signature line: {line[:80]!r}", where=where)
    try:
        check_name(name)
    except InputError as error:
        raise LogInvalid("note", error.what, where=where) from error
    return NoteSignature(name, raw[:_ID_SIZE], raw[_ID_SIZE:])
