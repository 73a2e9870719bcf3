"""Encryption at rest: age files (age-encryption.org/v1) to one X25519 recipient.

    identity, recipient = new_identity()      # "AGE-SECRET-KEY-1…", "age1…"
    unseal(seal(b"…", recipient), identity)   # b"…"

A sealed kit and the detail of a verdict are kept so; the identity is the evaluator's. What is inside is not known here.
"""

from __future__ import annotations

from typing import cast

import pyrage

from store.errors import InputError, Unavailable

__all__ = ["new_identity", "recipient_of", "seal", "unseal"]


def new_identity() -> tuple[str, str]:
    """A new age key: the identity (`AGE-SECRET-KEY-1…`, secret) and its recipient (`age1…`)."""
    identity = pyrage.x25519.Identity.generate()
    return str(identity), str(identity.to_public())


def recipient_of(identity: str) -> str:
    """The recipient (`age1…`) that an identity opens for.

    Raises:
        InputError: not an identity.
    """
    return str(_identity(identity).to_public())


def seal(data: bytes, recipient: str) -> bytes:
    """Encrypt to an age recipient (`age1…`). Not deterministic: each call has a file key of its own.

    Raises:
        InputError: not a recipient.
    """
    try:
        return cast("bytes", pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(recipient)]))
    except pyrage.RecipientError as error:
        raise InputError(f"not an age recipient: {recipient[:20]!r}", fix="write the age1… line") from error


def unseal(data: bytes, identity: str) -> bytes:
    """Decrypt with an age identity (`AGE-SECRET-KEY-1…`).

    Raises:
        InputError: not an identity.
        Unavailable: the bytes were sealed to another one, or are not a whole age file.
    """
    try:
        return cast("bytes", pyrage.decrypt(data, [_identity(identity)]))
    except pyrage.DecryptError as error:
        raise Unavailable("this identity does not open it", fix="use the evaluator's own age identity") from error


def _identity(text: str) -> pyrage.x25519.Identity:
    secret = [line for line in text.splitlines() if line.startswith("AGE-SECRET-KEY-")]
    try:
        return pyrage.x25519.Identity.from_str(secret[0].strip())
    except (IndexError, pyrage.IdentityError) as error:
        raise InputError("not an age identity", fix="use the file with the AGE-SECRET-KEY-1… line") from error
