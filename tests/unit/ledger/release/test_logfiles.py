"""Every file of a log is authenticated: a flipped byte in any of them is found and named."""

from __future__ import annotations

import pytest

from ledger.log import merkle
from ledger.log.tiles import TilePath
from ledger.log.writer import LogWriter
from ledger.records.kinds import Head
from ledger.release.logfiles import Levels, rebuild
from store.digest import Digest


def build(place, *batches):
    """A log written in batches, so that old partial tiles stay behind as they do in life."""
    entries = [f"entry {number}".encode() * (number % 3 + 1) for number in range(sum(batches))]
    writer = LogWriter(place, None)
    start = 0
    for count in batches:
        writer.integrate(entries[start : start + count])
        start += count
    root = merkle.root([merkle.leaf_hash(entry) for entry in entries])
    return entries, Head(size=len(entries), root=Digest.from_raw(root))


@pytest.mark.parametrize("batches", [(1,), (3, 2), (255, 1), (256,), (250, 7), (500, 20, 3)])
def test_a_log_is_rebuilt_from_its_files(tmp_path, batches):
    entries, head = build(tmp_path, *batches)
    rebuilt = rebuild(tmp_path, head)
    assert rebuilt.findings == ()
    assert list(rebuilt.entries) == entries
    assert rebuilt.files == sum(1 for file in (tmp_path / "tile").rglob("*") if file.is_file())
    assert rebuilt.beyond == 0


def test_an_earlier_head_of_a_longer_log_still_verifies(tmp_path):
    entries, _ = build(tmp_path, 40, 30)
    head = Head(size=40, root=Digest.from_raw(merkle.root([merkle.leaf_hash(entry) for entry in entries[:40]])))
    rebuilt = rebuild(tmp_path, head)
    assert rebuilt.findings == ()
    assert len(rebuilt.entries) == 40
    assert rebuilt.beyond == 2


def test_every_flipped_byte_is_found(tmp_path):
    _, head = build(tmp_path, 4, 3)
    files = [file for file in (tmp_path / "tile").rglob("*") if file.is_file()]
    assert len(files) == 4
    for file in files:
        good = file.read_bytes()
        for position in range(len(good)):
            file.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
            assert rebuild(tmp_path, head).findings, (file, position)
        file.write_bytes(good)
    assert rebuild(tmp_path, head).findings == ()


def test_a_changed_record_is_named(tmp_path):
    _, head = build(tmp_path, 300)
    bundle = tmp_path / "tile/entries/001.p/44"
    data = bytearray(bundle.read_bytes())
    data[2] ^= 1
    bundle.write_bytes(bytes(data))
    (finding,) = rebuild(tmp_path, head).findings
    assert (finding.rule, finding.where) == ("log", "record 256")


def test_a_changed_tile_is_named(tmp_path):
    _, head = build(tmp_path, 300)
    tile = tmp_path / "tile/1/000.p/1"
    tile.write_bytes(bytes(32))
    (finding,) = rebuild(tmp_path, head).findings
    assert finding.where == "log/tile/1/000.p/1"


@pytest.mark.parametrize("name", ["tile/0/000.p/7", "tile/entries/000.p/7"])
def test_a_missing_file_is_named(tmp_path, name):
    _, head = build(tmp_path, 7)
    (tmp_path / name).unlink()
    (finding,) = rebuild(tmp_path, head).findings
    assert finding.where == f"log/{name}"


def test_a_stray_file_is_named(tmp_path):
    _, head = build(tmp_path, 7)
    (tmp_path / "tile/0/stray").write_bytes(b"")
    (finding,) = rebuild(tmp_path, head).findings
    assert finding.where == "log/tile/0/stray"


def test_another_root_is_the_heads_fault(tmp_path):
    build(tmp_path, 7)
    (finding,) = rebuild(tmp_path, Head(size=7, root=Digest.of(b"another"))).findings
    assert finding.rule == "checkpoint"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 255, 256, 257, 600])
def test_levels_give_the_roots_of_the_tree(size):
    hashes = [merkle.leaf_hash(bytes([number % 251, number // 251])) for number in range(size)]
    levels = Levels(hashes)
    for upto in {1, size // 2 or 1, size}:
        assert levels.root(upto).raw == merkle.root(hashes[:upto])
    assert levels.tile(TilePath(0, size // 256 + 1)) is None
