"""Tiles and bundles: their names, and their bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log import merkle
from ledger.log.tiles import ENTRY_LIMIT, Tile, TilePath, bundles_of, format_bundle, parse_bundle, tiles_of
from store.errors import InputError, LogInvalid


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (TilePath(0, 0), "tile/0/000"),
        (TilePath(0, 1234067), "tile/0/x001/x234/067"),
        (TilePath(1, 0, 17), "tile/1/000.p/17"),
        (TilePath(-1, 999, 255), "tile/entries/999.p/255"),
        (TilePath(-1, 1000), "tile/entries/x001/000"),
        (TilePath(63, 5), "tile/63/005"),
    ],
)
def test_paths_are_those_of_the_specification(path, text):
    assert str(path) == text
    assert TilePath.parse(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "tile/00/000", "tile/64/000", "tile/0/0", "tile/0/x000/000", "tile/0/001/000", "tile/0/000.p/0",
        "tile/0/000.p/256", "tile/0/000.p/01", "tile/entries/000/", "/tile/0/000", "tile/0/000\n",
        "tile/0/x001/000.p/٣",
        "tile/-1/000", "tile/0/../000",
    ],
)  # fmt: skip
def test_a_path_that_would_not_be_written_is_refused(text):
    with pytest.raises(InputError):
        TilePath.parse(text)


@settings(deadline=None)
@given(st.integers(-1, 63), st.integers(0, 10**10), st.integers(1, 256))
def test_paths_round_trip(level, index, width):
    path = TilePath(level, index, width)
    assert TilePath.parse(str(path)) == path


def test_the_tiles_of_70000_are_those_of_the_specification():
    assert tiles_of(70_000) == [TilePath(0, 273, 112), TilePath(1, 1, 17), TilePath(2, 0, 1)]
    assert tiles_of(256) == [TilePath(1, 0, 1)]
    assert tiles_of(0) == []


def test_bundles_cover_the_entries_asked_for():
    assert bundles_of(0, 0) == []
    assert bundles_of(3, 3) == []
    assert bundles_of(0, 256) == [TilePath(-1, 0)]
    assert bundles_of(255, 258) == [TilePath(-1, 0), TilePath(-1, 1, 2)]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=400), max_size=256))
def test_bundles_round_trip(entries):
    assert parse_bundle(format_bundle(entries), len(entries)) == entries


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20), st.data())
def test_a_bundle_of_another_length_is_refused(entries, data):
    whole = format_bundle(entries)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(LogInvalid):
        parse_bundle(whole[:cut], len(entries))
    with pytest.raises(LogInvalid):
        parse_bundle(whole + b"\x00", len(entries))


def test_an_entry_has_at_most_65535_bytes():
    assert parse_bundle(format_bundle([b"x" * ENTRY_LIMIT]), 1) == [b"x" * ENTRY_LIMIT]
    with pytest.raises(InputError, match="65536"):
        format_bundle([b"x" * (ENTRY_LIMIT + 1)])


def test_a_full_tile_knows_the_subtree_above_it():
    hashes = [merkle.leaf_hash(b"%d" % number) for number in range(256)]
    tile = Tile.parse(b"".join(hashes), 256)
    assert tile.node(8, 0) == merkle.root(hashes)
    assert tile.node(3, 5) == merkle.root(hashes[40:48])
    assert tile.format() == b"".join(hashes)


def test_a_partial_tile_is_not_hashed_into_the_level_above():
    tile = Tile([merkle.leaf_hash(b"a")] * 3)
    with pytest.raises(IndexError):
        tile.node(2, 0)


def test_a_tile_of_another_width_is_refused():
    with pytest.raises(LogInvalid, match="96 bytes, not 64"):
        Tile.parse(b"x" * 64, 3)
