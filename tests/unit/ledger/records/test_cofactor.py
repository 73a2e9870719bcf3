"""A signature that holds only times the cofactor is no signature, and a libsodium that took it would not be asked."""

from __future__ import annotations

from hashlib import sha512

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from ledger.records import keys
from ledger.records.keys import COFACTORED, Signer, verify

P = 2**255 - 19
D = (-121665 * pow(121666, -1, P)) % P
ORDER = 2**252 + 27742317777372353535851937790883648493
Point = tuple[int, int]


def add(a: Point, b: Point) -> Point:
    (x1, y1), (x2, y2) = a, b
    k = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P


def times(number: int, point: Point) -> Point:
    found = (0, 1)
    while number:
        if number & 1:
            found = add(found, point)
        point, number = add(point, point), number >> 1
    return found


def decoded(data: bytes) -> Point:
    """RFC 8032, section 5.1.3."""
    value = int.from_bytes(data, "little")
    y, sign = value & (2**255 - 1), value >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert x * x % P == square
    return (x if x & 1 == sign else P - x), y


BASE = decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def test_the_vector_holds_times_the_cofactor_and_not_otherwise():
    public, signature, message = COFACTORED
    r, a, s = decoded(signature[:32]), decoded(public), int.from_bytes(signature[32:], "little")
    h = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    left, right = times(s, BASE), add(r, times(h, a))
    assert left != right
    assert times(8, left) == times(8, right)
    assert s < ORDER


def test_it_is_refused():
    assert not verify(*COFACTORED)


def test_a_libsodium_that_took_it_would_not_be_asked(monkeypatch):
    monkeypatch.setattr("nacl.bindings.crypto_sign_open", lambda signed, public: signed[64:])
    keys._quick.cache_clear()
    try:
        assert keys._quick() is None
        signer = Signer.generate()
        assert verify(signer.public, signer.sign(b"text"), b"text")
        assert not verify(signer.public, signer.sign(b"text"), b"other")
    finally:
        keys._quick.cache_clear()


@given(st.binary(max_size=80), st.integers(0, 512), st.integers(0, 31))
def test_what_libsodium_takes_cryptography_takes(message, bit, seed):
    """Signatures, whole or with one bit changed, with and without a part of small order in R."""
    quick = keys._quick()
    assert quick is not None
    signer = Signer.from_seed(bytes([seed]) * 32)
    signature = bytearray(signer.sign(message))
    if bit < 512:
        signature[bit // 8] ^= 1 << bit % 8
    if quick(signer.public, bytes(signature), message):
        Ed25519PublicKey.from_public_bytes(signer.public).verify(bytes(signature), message)
    else:
        with pytest.raises(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(signer.public).verify(bytes(signature), message)


@given(st.integers(1, ORDER - 1), st.integers(1, 7), st.binary(max_size=8))
def test_a_part_of_small_order_in_r_is_refused_by_both(r, order, message):
    torsion = times(order, decoded(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")))
    digest = sha512(b"\1" * 32).digest()
    secret = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    public = Signer.from_seed(b"\1" * 32).public
    x, y = add(times(r, BASE), torsion)
    point = (y | (x & 1) << 255).to_bytes(32, "little")
    h = int.from_bytes(sha512(point + public + message).digest(), "little") % ORDER
    signature = point + ((r + h * secret) % ORDER).to_bytes(32, "little")
    quick = keys._quick()
    assert quick is not None
    assert not quick(public, signature, message)
    assert not verify(public, signature, message)
