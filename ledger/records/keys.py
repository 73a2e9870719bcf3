"""Ed25519 keys: the one module that signs, and the one verification that every signature goes through.

    signer = Signer.generate()
    signer.keyid                      # "d6f6…", hexadecimal SHA-256 of the 32 raw public bytes
    signer.save(path)                 # PKCS#8 PEM, mode 0600, never over a file
    verify(signer.public, signer.sign(b"text"), b"text")

    keys = KeyRing(directory)         # curator.pem, evaluator.pem, …: one key a role
    keys.signer("runner")             # $RBL_PASSPHRASE opens files that have a passphrase

`cryptography` is normative (RFC 8032, with S below the group order). Beyond it, public keys and R of small order and
encodings of a coordinate that is not below p are refused: with them one signature fits many messages, or one point has
two names. libsodium, through PyNaCl, looks first, because it takes half the time. What it accepts `cryptography`
accepts, for both compare the encoding of R and neither multiplies by the cofactor; a libsodium that did would be left
alone (`_quick`). What it refuses, `cryptography` decides. Which key may sign what is `ledger.records.trust`'s; a key's
material never leaves its `Signer`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Self, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ledger.records.kinds import Role
from store import disk
from store.errors import Conflict, InputError, Unavailable

__all__ = ["COFACTORED", "PUBLIC_SIZE", "SIGNATURE_SIZE", "KeyRing", "Signer", "keyid_of", "sound_point", "verify"]

PUBLIC_SIZE: Final = 32
SIGNATURE_SIZE: Final = 64
"""Bytes of a public key and of a signature (RFC 8032, section 5.1)."""

_PASSPHRASE: Final = "RBL_PASSPHRASE"  # noqa: S105 (the variable's name; key files that have a passphrase open with it)

_P: Final = 2**255 - 19
_SIGN: Final = 1 << 255
_SMALL_Y: Final = frozenset(
    {
        0,
        1,
        _P - 1,
        # the two y of the four points of order 8, the roots of d·y⁴ + 2·y² − 1 (the list of libsodium)
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    }
)
"""y of every point whose order divides 8."""

COFACTORED: Final = (
    bytes.fromhex("8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"),
    bytes.fromhex(
        "cdbc161be64c4302f56443ff29ccf36a2075be1a1fa67ff126b56315f5681c38"
        "8fe8c43e27158093babe5d34e7260fb1dc5898ed919273567ef1b551d102f80d"
    ),
    b"hello",
)
"""Key, signature and message of which 8·S·B = 8·R + 8·h·A, and not S·B = R + h·A: R has a part of order 8."""


class Signer:
    """A private key that signs.

    Args:
        private: the key; kept to itself.
    """

    __slots__ = ("_private", "keyid", "public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public: Final = private.public_key().public_bytes_raw()
        self.keyid: Final = keyid_of(self.public)

    def __repr__(self) -> str:
        return f"Signer(keyid={self.keyid[:12]}…)"

    @classmethod
    def generate(cls) -> Self:
        """A new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> Self:
        """The key of a 32-byte seed (RFC 8032, section 5.1.5): for test vectors, never for real keys.

        Raises:
            InputError: it is not 32 bytes.
        """
        if len(seed) != PUBLIC_SIZE:
            raise InputError(f"a seed has {PUBLIC_SIZE} bytes, not {len(seed)}")
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def load(cls, path: Path, passphrase: bytes | None = None) -> Self:
        """Read a PKCS#8 PEM file.

        Raises:
            Unavailable: there is no such file, or it may not be read.
            InputError: others may read it, it is no Ed25519 key, or the passphrase does not open it.
        """
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = file.read()
        except FileNotFoundError as error:
            raise Unavailable(
                "no key file", where=str(path), fix="put the key there, or run on the machine that has it"
            ) from error
        except OSError as error:
            raise Unavailable(
                f"cannot read the key: {error.strerror}", where=str(path), fix="run as its owner"
            ) from error
        if mode & 0o077:
            raise InputError("others may read this private key", where=str(path), fix=f"chmod 600 {path}")
        try:
            private = serialization.load_pem_private_key(data, passphrase)
        except (TypeError, ValueError) as error:
            fix = "give the passphrase it was saved with, or none if it has none"
            raise InputError(f"cannot open the key: {error}", where=str(path), fix=fix) from error
        if not isinstance(private, Ed25519PrivateKey):
            raise InputError("not an Ed25519 key", where=str(path))
        return cls(private)

    def save(self, path: Path, passphrase: bytes | None = None) -> None:
        """Write a PKCS#8 PEM file of mode 0600, durable when this returns.

        Raises:
            Conflict: there is a file of that name.
            HarnessError: the disk refused.
        """
        encryption: serialization.KeySerializationEncryption = (
            serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
        )
        data = self._private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        with disk.faults("cannot write the key", path):
            try:
                descriptor = disk.create(path, 0o600)
            except FileExistsError as error:
                raise Conflict(
                    "a key is there already", where=str(path), fix="keep it, or choose another place"
                ) from error
            try:
                disk.write(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            disk.sync_directory(path.parent)

    @property
    def public_text(self) -> str:
        """The public key as a trust root writes it: standard base64 of its 32 bytes."""
        return base64.b64encode(self.public).decode()

    def sign(self, message: bytes, /) -> bytes:
        """The 64 bytes of the signature."""
        return self._private.sign(message)


class KeyRing:
    """The keys that a user holds for one ledger: one file a role, in a folder of its own.

    Args:
        directory: made when the first key is.
        elsewhere: role → key file, for keys that lie in another place.
    """

    def __init__(self, directory: Path, elsewhere: Mapping[str, Path] | None = None) -> None:
        self.directory = directory
        self._elsewhere = dict(elsewhere or {})

    @property
    def identity_path(self) -> Path:
        """The evaluator's age identity, with which sealed kits are opened."""
        return self.path("evaluator").with_suffix(".age")

    def path(self, role: Role) -> Path:
        """The key file of a role, whether it is there or not."""
        return self._elsewhere.get(role, self.directory / f"{role}.pem")

    def list(self) -> tuple[Role, ...]:
        """The roles whose keys are at hand."""
        roles: tuple[Role, ...] = get_args(Role)
        return tuple(role for role in roles if self.path(role).is_file())

    def signer(self, role: Role) -> Signer:
        """The key of a role.

        Raises:
            Unavailable: it is not at hand.
            InputError: the file is not a key, or others may read it.
        """
        path = self.path(role)
        if not path.is_file():
            raise Unavailable(
                f"the key of the role {role} is not at hand",
                where=str(path),
                fix="copy it there with mode 600, or name its file under [signers] in rbl.toml",
            )
        passphrase = os.environ.get(_PASSPHRASE)
        return Signer.load(path, passphrase.encode() if passphrase and _encrypted(path) else None)

    def create(self, role: Role) -> Signer:
        """Make the key of a role and keep it.

        Raises:
            Conflict: there is one.
            HarnessError: the disk refused.
        """
        signer = Signer.generate()
        path = self.path(role)
        with disk.faults("cannot make the key folder", path.parent):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        passphrase = os.environ.get(_PASSPHRASE)
        signer.save(path, passphrase.encode() if passphrase else None)
        return signer


def keyid_of(public: bytes) -> str:
    """The hint that names a key: hexadecimal SHA-256 of its 32 raw bytes."""
    return sha256(public).hexdigest()


def sound_point(encoded: bytes) -> bool:
    """Whether 32 bytes encode y below p and no point of small order; not whether they are on the curve."""
    if len(encoded) != PUBLIC_SIZE:
        return False
    y = int.from_bytes(encoded, "little") & (_SIGN - 1)
    return y < _P and y not in _SMALL_Y


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the signature is this key's over the message; small-order keys and R never are."""
    if len(signature) != SIGNATURE_SIZE or not sound_point(signature[:PUBLIC_SIZE]):
        return False
    key = _verifier(public)
    if key is None:
        return False
    if (quick := _quick()) is not None and quick(public, signature, message):
        return True
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


@cache
def _quick() -> Callable[[bytes, bytes, bytes], bool] | None:
    """The verification of libsodium; None where it accepts a signature that holds only times the cofactor."""
    from nacl.bindings import crypto_sign_open  # noqa: PLC0415 (only where something is verified)
    from nacl.exceptions import BadSignatureError  # noqa: PLC0415

    def quick(public: bytes, signature: bytes, message: bytes) -> bool:
        try:
            crypto_sign_open(signature + message, public)
        except BadSignatureError:
            return False
        return True

    return None if quick(*COFACTORED) else quick


@lru_cache(256)
def _verifier(public: bytes) -> Ed25519PublicKey | None:
    """A public key ready for use; None where no signature by it counts."""
    if not sound_point(public):
        return None
    try:
        return Ed25519PublicKey.from_public_bytes(public)
    except ValueError:
        return None


def _encrypted(path: Path) -> bool:
    with disk.faults("cannot read the key", path):
        return b"ENCRYPTED" in path.read_bytes()[:64]
