"""The formats of a release folder: each is read exactly as it is written, and nothing else is."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.records.kinds import Head
from ledger.release.package import FILES, Package, Proofs
from ledger.release.receipt import Receipt
from store import canonical
from store.digest import Digest
from store.errors import InputError

digests = st.binary(min_size=32, max_size=32).map(Digest.from_raw)
hashes = st.lists(st.binary(min_size=32, max_size=32), max_size=5).map(tuple)
heads = st.builds(lambda size, root: Head(size=size, root=root), st.integers(0, 2**53 - 1), digests)
proofs = st.builds(Proofs, digests, st.integers(0, 2**53 - 1), heads, heads, hashes, hashes)
leaf = st.dictionaries(st.sampled_from(["id", "type", "outcome"]), st.text(max_size=5)).map(canonical.dumps)
receipts = st.builds(Receipt, digests, st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1), leaf, hashes)


@given(proofs)
def test_proofs_are_read_as_they_are_written(value):
    assert Proofs.parse(value.format()) == value


@given(receipts)
def test_receipts_are_read_as_they_are_written(value):
    assert Receipt.parse(value.format()) == value


@given(proofs, st.data())
def test_a_changed_byte_never_reads_as_the_same_proofs(value, data):
    good = value.format()
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good[:position] + bytes([good[position] ^ data.draw(st.integers(1, 255))]) + good[position + 1 :]
    with contextlib.suppress(InputError):
        assert Proofs.parse(bad) != value


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b'{"index":true}'])
def test_what_is_not_proofs_is_refused(data):
    with pytest.raises(InputError):
        Proofs.parse(data)


def test_a_release_folder_without_one_of_its_files_is_refused(tmp_path):
    for name in FILES[1:]:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match=FILES[0].replace(".", r"\.")):
        Package.read(tmp_path)
