"""The key that follows: made beside the one in use, put in its place when it is listed, and nothing is lost."""

from __future__ import annotations

import pytest

from ledger.records.keys import KeyRing, Signer
from ledger.records.rotation import held, listed_signer, make_next, promote
from store.errors import Conflict, Unavailable


@pytest.fixture
def ring(tmp_path):
    ring = KeyRing(tmp_path / "keys")
    ring.create("curator")
    return ring


def test_of_two_keys_the_listed_one_signs(ring):
    old, new = ring.signer("curator"), make_next(ring, "curator")
    assert [signer.keyid for signer in held(ring, "curator")] == [old.keyid, new.keyid]
    assert listed_signer(ring, "curator", {old.keyid}).keyid == old.keyid
    assert listed_signer(ring, "curator", {new.keyid}).keyid == new.keyid
    assert listed_signer(ring, "curator", set()).keyid == old.keyid
    with pytest.raises(Unavailable):
        listed_signer(ring, "runner", {old.keyid})


def test_one_key_follows_at_a_time(ring):
    make_next(ring, "curator")
    with pytest.raises(Conflict):
        make_next(ring, "curator")


def test_the_listed_key_takes_the_place_and_the_old_one_is_kept(ring):
    old, new = ring.signer("curator"), make_next(ring, "curator")
    assert not promote(ring, "curator", {old.keyid})
    assert not promote(ring, "curator", {old.keyid, new.keyid}), "the old one still counts"
    assert promote(ring, "curator", {new.keyid})
    assert ring.signer("curator").keyid == new.keyid
    assert Signer.load(ring.directory / f"curator.{old.keyid[:12]}.pem").keyid == old.keyid
    assert not promote(ring, "curator", {new.keyid}), "there is nothing more to do"


def test_a_rename_that_a_crash_cut_in_two_is_finished(ring):
    new = make_next(ring, "curator")
    ring.path("curator").rename(ring.directory / "aside.pem")
    assert promote(ring, "curator", {new.keyid})
    assert ring.signer("curator").keyid == new.keyid
