"""Numbered digests: as a dict, in less memory."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from ledger.records.numbered import Numbered


@given(st.lists(st.binary(min_size=32, max_size=32), unique=True, max_size=50), st.binary(min_size=32, max_size=32))
def test_each_has_the_number_of_its_coming(digests, other):
    numbers = Numbered()
    assert [numbers.add(digest) for digest in digests] == list(range(len(digests)))
    assert [numbers.find(digest) for digest in digests] == list(range(len(digests)))
    assert (numbers.find(other) is None) == (other not in digests)
    assert len(numbers) == len(digests)


def test_it_grows():
    digests = [sha256(b"%d" % number).digest() for number in range(20_000)]
    numbers = Numbered()
    for digest in digests[:10_000]:
        numbers.add(digest)
    assert [numbers.find(digest) for digest in digests] == [*range(10_000), *([None] * 10_000)]
