"""The DSSE envelope: one set of bytes for one record, and others can read it."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.records.envelope import LEAF_LIMIT, PAYLOAD_TYPE, Envelope, Signature, pae, sign
from ledger.records.keys import Signer
from store import canonical
from store.digest import Digest
from store.errors import RecordRejected

SIGNER = Signer.from_seed(b"\x07" * 32)


def test_the_encoding_is_that_of_the_specification():
    # the example of DSSE's protocol.md
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("é", b"") == b"DSSEv1 2 \xc3\xa9 0 "


@given(
    st.binary(max_size=200), st.lists(st.tuples(st.text(max_size=64), st.binary(max_size=64)), min_size=1, max_size=3)
)
def test_parse_undoes_format(payload, signatures):
    try:
        leaf = Envelope(payload, PAYLOAD_TYPE, tuple(Signature(*item) for item in signatures)).format()
    except canonical.CanonicalError:
        return  # a lone surrogate
    read = Envelope.parse(leaf)
    assert read.payload == payload
    assert [(item.keyid, item.sig) for item in read.signatures] == signatures
    assert read.format() == leaf
    assert read.digest == Digest.of(leaf)
    assert read.payload_digest == Digest.of(payload)


LEAF = sign(b'{"a":1}', [SIGNER]).format()
FIELDS = json.loads(LEAF)


def changed(**fields):
    return canonical.dumps({**FIELDS, **fields})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        LEAF + b"\n",
        LEAF.replace(b":", b": ", 1),
        json.dumps(dict(reversed(FIELDS.items())), separators=(",", ":")).encode(),
        changed(extra=1),
        canonical.dumps({key: value for key, value in FIELDS.items() if key != "payloadType"}),
        changed(payloadType="application/json"),
        changed(payload=1),
        changed(payload=FIELDS["payload"].rstrip("=")),
        changed(payload=FIELDS["payload"] + "\n"),
        changed(payload="eyJhIjoxfR=="),  # stray bits below the padding
        changed(payload="-_-_"),
        changed(payload="ééé="),
        changed(signatures=[]),
        changed(signatures=FIELDS["signatures"][0]),
        changed(signatures=FIELDS["signatures"] * 17),
        changed(signatures=[{"sig": FIELDS["signatures"][0]["sig"]}]),
        changed(signatures=[{"keyid": 1, "sig": FIELDS["signatures"][0]["sig"]}]),
        changed(signatures=[{**FIELDS["signatures"][0], "cert": ""}]),
        b" " * (LEAF_LIMIT + 1),
    ],
)
def test_parse_refuses_what_format_would_not_write(data):
    with pytest.raises(RecordRejected) as caught:
        Envelope.parse(data)
    assert caught.value.rule == "envelope"


def test_signing_the_same_gives_the_same_bytes():
    assert sign(b'{"a":1}', [SIGNER]).format() == LEAF


def test_securesystemslib_reads_and_verifies_our_envelope():
    from securesystemslib.dsse import Envelope as Other
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    other = Other.from_dict(json.loads(LEAF))
    assert other.pae() == Envelope.parse(LEAF).signed
    key = SSlibKey(SIGNER.keyid, "ed25519", "ed25519", {"public": SIGNER.public.hex()})
    assert other.verify([key], 1)
    spoilt = json.loads(LEAF)
    spoilt["payload"] = base64.b64encode(b'{"a":2}').decode()
    with pytest.raises(VerificationError):
        Other.from_dict(spoilt).verify([key], 1)


def test_we_read_what_securesystemslib_signs():
    from securesystemslib.dsse import Envelope as Other
    from securesystemslib.signer import CryptoSigner

    from ledger.records.keys import verify

    signer = CryptoSigner.generate_ed25519()
    other = Other(b'{"a":1}', PAYLOAD_TYPE, {})
    other.sign(signer)
    read = Envelope.parse(canonical.dumps(other.to_dict()))
    public = bytes.fromhex(signer.public_key.keyval["public"])
    assert verify(public, read.signatures[0].sig, read.signed)
