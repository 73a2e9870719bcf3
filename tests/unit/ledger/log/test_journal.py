"""The journal: what was acknowledged is there, what a crash cut off is not, and damage is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log.journal import Batch, Journal, parse_journal
from ledger.records.kinds import Head
from store.digest import Digest
from store.errors import LogInvalid

BATCHES = [
    Batch(0, (b'{"a":1}',), Head(size=1, root=Digest.of(b"1"))),
    Batch(1, (b'{"b":2}', b"{}"), Head(size=3, root=Digest.of(b"3"))),
    Batch(3, (b'{"c":"x"}' * 50,), Head(size=4, root=Digest.of(b"4"))),
]


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "batches")
    for batch in BATCHES:
        journal.append(batch.first, batch.entries, batch.head)
    journal.close()
    return journal.path


def reopened(path):
    journal = Journal(path)
    journal.close()
    return journal


def test_batches_come_back(path):
    assert reopened(path).batches == BATCHES


def test_a_batch_cut_off_at_any_byte_is_dropped_and_the_rest_kept(path):
    whole = path.read_bytes()
    last = len(BATCHES[2].format())
    for cut in range(1, last + 1):
        path.write_bytes(whole[:-cut])
        assert reopened(path).batches == BATCHES[:2]
        assert path.read_bytes() == whole[:-last]


def test_a_first_line_cut_off_begins_anew(tmp_path):
    for length in range(14):
        (tmp_path / "batches").write_bytes(b"rbl-journal/1\n"[:length])
        assert reopened(tmp_path / "batches").batches == []
        assert (tmp_path / "batches").read_bytes() == b"rbl-journal/1\n"


def test_zeroes_behind_the_last_batch_are_a_write_that_a_crash_cut_off(path):
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(5000))
    assert reopened(path).batches == BATCHES
    assert path.read_bytes() == whole


def test_it_goes_on_after_a_cut(path):
    path.write_bytes(path.read_bytes()[:-3])
    journal = Journal(path)
    journal.append(BATCHES[2].first, BATCHES[2].entries, BATCHES[2].head)
    journal.close()
    assert reopened(path).batches == BATCHES


@settings(deadline=None)
@given(st.data())
def test_damage_before_the_last_batch_is_refused(data):
    first = b"rbl-journal/1\n"
    whole = bytearray(first + b"".join(batch.format() for batch in BATCHES))
    place = data.draw(st.integers(0, len(whole) - len(BATCHES[2].format()) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(LogInvalid) as caught:
        parse_journal(bytes(whole))
    assert caught.value.rule == "journal"


def test_a_batch_left_out_is_refused():
    with pytest.raises(LogInvalid, match="missing before entry 3"):
        parse_journal(b"rbl-journal/1\n" + BATCHES[0].format() + BATCHES[2].format())


def test_a_batch_that_does_not_add_up_is_refused():
    batch = Batch(0, (b"{}",), Head(size=2, root=Digest.of(b"2")))
    with pytest.raises(LogInvalid, match="add up"):
        parse_journal(b"rbl-journal/1\n" + batch.format())


def test_another_file_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "batches").write_bytes(b"something else entirely")
    with pytest.raises(LogInvalid):
        Journal(tmp_path / "batches")
    assert (tmp_path / "batches").read_bytes() == b"something else entirely"


def test_clearing_drops_all(path):
    journal = Journal(path)
    journal.clear()
    journal.append(4, (b"{}",), Head(size=5, root=Digest.of(b"5")))
    journal.close()
    assert [batch.first for batch in reopened(path).batches] == [4]


@settings(deadline=None)
@given(st.integers(0, 2**40), st.lists(st.binary(max_size=300), max_size=20))
def test_batches_round_trip(first, entries):
    batch = Batch(first, tuple(entries), Head(size=first + len(entries), root=Digest.of(b"root")))
    assert Batch.parse(batch.format()) == (batch, len(batch.format()))
