"""Keys: what is kept where, and which signatures are believed."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.records import keys
from ledger.records.envelope import pae
from ledger.records.keys import KeyRing, Signer, keyid_of, sound_point, verify
from store.errors import Conflict, InputError, Unavailable

P = 2**255 - 19
D = (-121665 * pow(121666, P - 2, P)) % P
ORDER = 2**252 + 27742317777372353535851937790883648493

# RFC 8032, section 7.1, TEST 2
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_the_vector_of_rfc_8032_is_met():
    signer = Signer.from_seed(SEED)
    assert signer.public == PUBLIC
    assert signer.sign(b"\x72") == SIGNATURE
    assert verify(PUBLIC, SIGNATURE, b"\x72")
    assert signer.keyid == keyid_of(PUBLIC)


@given(st.binary(max_size=64), st.integers(0, 511))
def test_a_signature_with_one_bit_changed_is_refused(message, bit):
    signer = Signer.from_seed(SEED)
    signature = bytearray(signer.sign(message))
    signature[bit // 8] ^= 1 << bit % 8
    assert not verify(signer.public, bytes(signature), message)


@pytest.mark.parametrize("length", [0, 31, 32, 63, 65, 128])
def test_a_signature_of_another_length_is_refused(length):
    assert not verify(PUBLIC, (SIGNATURE * 2)[:length], b"\x72")


def test_an_s_above_the_group_order_is_refused():
    s = int.from_bytes(SIGNATURE[32:], "little") + ORDER
    assert not verify(PUBLIC, SIGNATURE[:32] + s.to_bytes(32, "little"), b"\x72")


def test_every_point_of_small_order_is_known():
    def add(a, b):
        (x1, y1), (x2, y2) = a, b
        k = D * x1 * x2 * y1 * y2
        return (
            (x1 * y2 + x2 * y1) * pow(1 + k, P - 2, P) % P,
            (y1 * y2 + x1 * x2) * pow(1 - k, P - 2, P) % P,
        )

    def on_curve(y):
        x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
        x = pow(x2, (P + 3) // 8, P)
        x = x if x * x % P == x2 else x * pow(2, (P - 1) // 4, P) % P
        assert x * x % P == x2
        return x, y

    # the group has cofactor 8: eight points, and two of them share each y but 1 and −1
    points = {point for y in keys._SMALL_Y for x, y in [on_curve(y)] for point in [(x, y), (-x % P, y)]}
    assert len(points) == 8
    for point in points:
        total = (0, 1)
        for _ in range(8):
            total = add(total, point)
        assert total == (0, 1)


@pytest.mark.parametrize("y", sorted(keys._SMALL_Y))
@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_small_order_keys_and_r_are_refused(y, sign):
    point = (y | sign).to_bytes(32, "little")
    assert not sound_point(point)
    # with the neutral element as key, R = S·B satisfies the equation for every message; here R is the neutral element
    for message in (b"one", b"two"):
        assert not verify(point, point + bytes(32), message)
        assert not verify(PUBLIC, point + bytes(32), message)


@pytest.mark.parametrize("excess", range(19))
def test_a_coordinate_that_is_not_below_p_is_refused(excess):
    assert not sound_point((P + excess).to_bytes(32, "little"))


def test_a_key_is_its_owners_alone_and_comes_back(tmp_path):
    signer = Signer.generate()
    signer.save(tmp_path / "a.pem")
    assert stat.S_IMODE((tmp_path / "a.pem").stat().st_mode) == 0o600
    assert Signer.load(tmp_path / "a.pem").public == signer.public
    with pytest.raises(Conflict):
        Signer.generate().save(tmp_path / "a.pem")
    assert Signer.load(tmp_path / "a.pem").public == signer.public


def test_a_key_that_others_may_read_is_refused(tmp_path):
    Signer.generate().save(tmp_path / "a.pem")
    (tmp_path / "a.pem").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        Signer.load(tmp_path / "a.pem")


def test_a_passphrase_is_needed_where_there_is_one(tmp_path):
    Signer.generate().save(tmp_path / "a.pem", b"secret")
    for wrong in (None, b"other"):
        with pytest.raises(InputError):
            Signer.load(tmp_path / "a.pem", wrong)
    assert Signer.load(tmp_path / "a.pem", b"secret")


def test_what_is_no_ed25519_key_is_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization as ser
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    other = X25519PrivateKey.generate().private_bytes(ser.Encoding.PEM, ser.PrivateFormat.PKCS8, ser.NoEncryption())
    for name, data in (("x.pem", other), ("text.pem", b"hello")):
        path = tmp_path / name
        path.touch(0o600)
        path.write_bytes(data)
        with pytest.raises(InputError):
            Signer.load(path)
    with pytest.raises(Unavailable):
        Signer.load(tmp_path / "none.pem")


def test_a_signer_does_not_show_its_key():
    signer = Signer.from_seed(SEED)
    assert SEED.hex() not in repr(signer)
    assert not hasattr(signer, "__dict__")


def test_a_key_ring_holds_one_key_a_role(tmp_path):
    ring = KeyRing(tmp_path / "keys")
    assert ring.list() == ()
    with pytest.raises(Unavailable, match="runner"):
        ring.signer("runner")
    made = ring.create("runner")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert ring.list() == ("runner",)
    assert ring.signer("runner").keyid == made.keyid
    with pytest.raises(Conflict):
        ring.create("runner")


def test_a_key_may_lie_elsewhere(tmp_path):
    place = tmp_path / "host" / "evaluator.pem"
    ring = KeyRing(tmp_path / "keys", {"evaluator": place})
    ring.create("evaluator")
    assert place.is_file()
    assert ring.identity_path == place.with_suffix(".age")
    assert KeyRing(tmp_path / "keys").list() == ()


def test_the_ring_opens_keys_with_the_passphrase_of_the_environment(tmp_path, monkeypatch):
    ring = KeyRing(tmp_path)
    ring.create("log")
    monkeypatch.setenv("RBL_PASSPHRASE", "secret")
    ring.create("root")
    assert b"ENCRYPTED" in ring.path("root").read_bytes()
    assert ring.signer("root")
    assert ring.signer("log"), "a key without a passphrase opens too"
    monkeypatch.delenv("RBL_PASSPHRASE")
    with pytest.raises(InputError):
        ring.signer("root")


def test_openssl_verifies_what_we_sign(tmp_path):
    """An implementation that is not ours agrees: `openssl pkeyutl` over the pre-authentication encoding."""
    signer = Signer.generate()
    signer.save(tmp_path / "key.pem")
    message = pae("application/vnd.in-toto+json", b'{"a":1}')
    (tmp_path / "message").write_bytes(message)
    (tmp_path / "signature").write_bytes(signer.sign(message))
    command = [
        "openssl",
        "pkeyutl",
        "-verify",
        "-rawin",
        "-inkey",
        "key.pem",
        "-in",
        "message",
        "-sigfile",
        "signature",
    ]
    environment = {"PATH": os.environ["PATH"]}
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True).returncode == 0
    (tmp_path / "message").write_bytes(message + b" ")
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True).returncode != 0
