"""Pins: what they keep, and what they refuse."""

from __future__ import annotations

import pytest

from store import pins
from store.digest import Digest
from store.directory import save_tree
from store.errors import InputError, ObjectMissing
from store.tree import Tree, TreeEntry


def test_a_pin_round_trips_and_has_the_newest_reason(store):
    digest = store.put_bytes(b"notes")
    made = pins.pin(store, digest, "for later")
    assert pins.Pin.parse(digest, made.format()) == made
    again = pins.pin(store, digest, "for much later")
    assert pins.pins(store) == [again]
    assert pins.unpin(store, digest.hex[:6]) == again
    assert pins.pins(store) == []


def test_a_tree_is_pinned_with_its_files_or_not_at_all(store):
    part = store.put_bytes(b"page")
    digest = save_tree(store, Tree.of([TreeEntry.file("index.html", part, 4)]))
    assert pins.pin(store, digest, "a site").tree
    assert not pins.pin(store, part, "a file").tree
    pins.unpin(store, str(digest))
    store.path(part).unlink()
    with pytest.raises(ObjectMissing):
        pins.pin(store, digest, "a site")
    assert [known.digest for known in pins.pins(store)] == [part]


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 501])
def test_a_reason_is_one_line_of_text(store, reason):
    with pytest.raises(InputError):
        pins.pin(store, store.put_bytes(b"notes"), reason)


def test_a_pin_that_cannot_be_read_is_an_error_and_not_overlooked(store):
    (store.root / "pins" / Digest.of(b"x").hex).write_text("{}")
    with pytest.raises(InputError, match="not a pin"):
        pins.pins(store)
    assert not (store.root / "pins" / "other").exists()
