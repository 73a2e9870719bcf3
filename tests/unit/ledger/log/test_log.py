"""The log in files: whatever is read was authenticated, and nothing that is there is ever written over."""

from __future__ import annotations

import shutil

import pytest

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.log import LogReader, read_folder
from ledger.log.note import VerifierKey
from ledger.log.proof import TlogProof
from ledger.log.tiles import TilePath, format_bundle
from ledger.log.writer import LogWriter
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import InputError, LogInvalid

NAME = "example.org/bench"
SIGNER = Signer.generate()


def entry(number):
    return b'{"n":%d}' % number


def checkpoint(size):
    leaves = [merkle.leaf_hash(entry(number)) for number in range(size)]
    return Checkpoint(NAME, size, Digest.from_raw(merkle.root(leaves)))


def written(directory, *sizes):
    """A log that had these sizes, one after the other."""
    reader = None
    for size in sizes:
        writer = LogWriter(directory, reader)
        writer.integrate([entry(number) for number in range(writer.size, size)])
        reader = LogReader(read_folder(directory), checkpoint(size))
        writer.publish(sign_checkpoint(reader.checkpoint, SIGNER))
        writer.prune()
    return reader


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A log with two levels of tiles and partial ones on both."""
    directory = tmp_path_factory.mktemp("large")
    written(directory, 100, 70_000)
    return directory


@pytest.mark.parametrize("sizes", [(1,), (255,), (256,), (257,), (1, 2, 3), (200, 300), (256, 512), (10, 256, 700)])
def test_every_entry_root_and_proof_comes_back(tmp_path, sizes):
    size = sizes[-1]
    reader = written(tmp_path, *sizes)
    assert list(reader.entries()) == [entry(number) for number in range(size)]
    assert list(reader.entries(size - 1, size + 9)) == [entry(size - 1)]
    assert reader.leaf_hashes(0, size) == [merkle.leaf_hash(entry(number)) for number in range(size)]
    assert reader.edge().root() == reader.head.root.raw
    for index in {0, size // 2, size - 1}:
        assert reader.entry(index) == entry(index)
        path = reader.prove_inclusion(index)
        merkle.verify_inclusion(reader.leaf_hash(index), index, size, path, reader.head.root.raw)
    for old in {0, 1, size // 3, size - 1, size}:
        assert reader.root_at(old) == checkpoint(old).root
        merkle.verify_consistency(
            old, size, reader.root_at(old).raw, reader.head.root.raw, reader.prove_consistency(old)
        )


def test_the_files_of_70000_entries_are_those_of_the_specification(large):
    names = {str(path.relative_to(large)) for path in large.rglob("*") if path.is_file()}
    assert {"tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1", "tile/entries/273.p/112"} <= names
    assert sum(name.startswith("tile/0/") for name in names) == 274
    assert "tile/0/000.p/100" not in names


def test_a_large_log_proves_its_entries(large):
    reader = LogReader(read_folder(large), checkpoint(70_000))
    for index in (0, 255, 256, 65_535, 65_536, 69_887, 69_888, 69_999):
        note = sign_checkpoint(reader.checkpoint, SIGNER)
        proof = TlogProof.parse(reader.receipt(index, note).format())
        assert proof.verify(entry(index), NAME, [VerifierKey(NAME, SIGNER.public)]) == reader.checkpoint
    for old in (1, 256, 65_536, 65_537, 69_999):
        merkle.verify_consistency(
            old, 70_000, checkpoint(old).root.raw, reader.head.root.raw, reader.prove_consistency(old)
        )


def test_the_same_entries_give_the_same_full_tiles_however_they_were_batched(tmp_path):
    written(tmp_path / "one", 600)
    written(tmp_path / "many", 1, 7, 255, 256, 300, 599, 600)
    for path in (tmp_path / "one").rglob("*"):
        if path.is_file():
            assert (tmp_path / "many" / path.relative_to(tmp_path / "one")).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["tile/0/000", "tile/0/002.p/88", "tile/1/000.p/2"])
def test_a_changed_tile_is_never_believed(tmp_path, name):
    written(tmp_path, 600)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogInvalid) as caught:
        LogReader(read_folder(tmp_path), checkpoint(600)).prove_inclusion(0)
    assert caught.value.rule == "tile"


@pytest.mark.parametrize("index", [0, 300, 599])
def test_a_changed_entry_is_never_believed(tmp_path, index):
    written(tmp_path, 600)
    reader = LogReader(read_folder(tmp_path), checkpoint(600))
    path = tmp_path / str(TilePath(-1, index // 256, min(256, 600 - index // 256 * 256)))
    entries = [entry(number) for number in range(index // 256 * 256, min(600, (index // 256 + 1) * 256))]
    entries[index % 256] += b" "
    path.write_bytes(format_bundle(entries))
    with pytest.raises(LogInvalid) as caught:
        reader.entry(index)
    assert caught.value.rule == "leaf"
    with pytest.raises(LogInvalid):
        list(reader.entries())


def test_two_entries_that_changed_places_are_noticed(tmp_path):
    written(tmp_path, 3)
    (tmp_path / "tile/entries/000.p/3").write_bytes(format_bundle([entry(1), entry(0), entry(2)]))
    with pytest.raises(LogInvalid, match="entry 0"):
        list(LogReader(read_folder(tmp_path), checkpoint(3)).entries())


@pytest.mark.parametrize("name", ["tile/0/000", "tile/entries/000", "tile/0/002.p/88", "tile/entries/002.p/88"])
def test_a_missing_file_is_named(tmp_path, name):
    written(tmp_path, 600)
    (tmp_path / name).unlink()
    with pytest.raises(LogInvalid) as caught:
        list(LogReader(read_folder(tmp_path), checkpoint(600)).entries())
    assert caught.value.rule == "missing"
    assert name in str(caught.value)


def test_a_head_larger_than_the_log_is_refused(tmp_path):
    written(tmp_path, 3)
    with pytest.raises(LogInvalid):
        LogReader(read_folder(tmp_path), checkpoint(4))


def test_a_root_of_another_log_is_refused(tmp_path):
    written(tmp_path, 3)
    with pytest.raises(LogInvalid) as caught:
        LogReader(read_folder(tmp_path), Checkpoint(NAME, 3, Digest.of(b"another")))
    assert caught.value.rule == "tile"


def test_an_older_head_is_read_from_full_tiles_when_its_partial_ones_are_gone(tmp_path):
    written(tmp_path, 200, 300)
    assert not (tmp_path / "tile/0/000.p").exists()
    reader = LogReader(read_folder(tmp_path), checkpoint(200))
    assert list(reader.entries()) == [entry(number) for number in range(200)]


def test_an_empty_log_has_no_files_and_a_root(tmp_path):
    reader = LogReader(read_folder(tmp_path), checkpoint(0))
    assert list(reader.entries()) == []
    assert reader.root_at(0).raw == merkle.EMPTY_ROOT
    with pytest.raises(LogInvalid):
        reader.entry(0)


@pytest.mark.parametrize("call", [
    lambda log: log.entry(3), lambda log: log.entry(-1), lambda log: log.root_at(4), lambda log: log.root_at(-1),
    lambda log: log.prove_inclusion(3), lambda log: log.prove_inclusion(0, 4), lambda log: log.prove_inclusion(2, 1),
    lambda log: log.prove_consistency(4), lambda log: log.prove_consistency(1, 4), lambda log: log.node(0, 3),
    lambda log: log.node(2, 0), lambda log: log.node(1, -1), lambda log: log.leaf_hash(3),
])  # fmt: skip
def test_what_the_log_does_not_hold_is_refused(tmp_path, call):
    with pytest.raises(LogInvalid):
        call(written(tmp_path, 3))


def test_writing_the_same_again_changes_nothing(tmp_path):
    written(tmp_path / "log", 3)
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    LogWriter(tmp_path / "log", None).integrate([entry(number) for number in range(3)])
    for path in (tmp_path / "copy").rglob("*"):
        if path.is_file():
            assert (tmp_path / "log" / path.relative_to(tmp_path / "copy")).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["tile/0/000.p/3", "tile/entries/000.p/3"])
def test_a_second_history_is_refused(tmp_path, name):
    written(tmp_path, 2)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"another")
    writer = LogWriter(tmp_path, LogReader(read_folder(tmp_path), checkpoint(2)))
    with pytest.raises(LogInvalid) as caught:
        writer.integrate([entry(2)])
    assert caught.value.rule == "fork"
    assert path.read_bytes() == b"another"


def test_a_link_in_a_tiles_place_is_never_followed(tmp_path):
    written(tmp_path / "log", 2)
    outside = tmp_path / "outside"
    (tmp_path / "log/tile/entries/000.p/3").symlink_to(outside)
    writer = LogWriter(tmp_path / "log", LogReader(read_folder(tmp_path / "log"), checkpoint(2)))
    with pytest.raises(LogInvalid):
        writer.integrate([entry(2)])
    assert not outside.exists()


def test_what_a_crash_left_beside_is_cleared(tmp_path):
    reader = written(tmp_path, 2)
    (tmp_path / ".tmp/left").write_bytes(b"half")
    LogWriter(tmp_path, reader)
    assert list((tmp_path / ".tmp").iterdir()) == []


# ---------------------------------------------------------------------------------------------------- receipts


@pytest.fixture
def receipt(tmp_path):
    reader = written(tmp_path, 3)
    return reader.receipt(1, sign_checkpoint(reader.checkpoint, SIGNER), b"extra bytes")


def test_a_receipt_round_trips(receipt):
    assert TlogProof.parse(receipt.format()) == receipt
    without = TlogProof(receipt.index, receipt.path, receipt.checkpoint)
    assert TlogProof.parse(without.format()) == without


def test_a_receipt_is_for_one_entry_of_one_log(receipt):
    keys = [VerifierKey(NAME, SIGNER.public)]
    receipt.verify(entry(1), NAME, keys)
    with pytest.raises(LogInvalid):
        receipt.verify(entry(2), NAME, keys)
    with pytest.raises(LogInvalid):
        receipt.verify(entry(1), "other.example", keys)
    with pytest.raises(LogInvalid):
        receipt.verify(entry(1), NAME, [VerifierKey(NAME, Signer.generate().public)])
    with pytest.raises(LogInvalid):
        TlogProof(0, receipt.path, receipt.checkpoint).verify(entry(1), NAME, keys)


@pytest.mark.parametrize(("old", "new"), [
    (b"@v1", b"@v2"), (b"index 1", b"index 01"), (b"index 1", b"index +1"), (b"index 1", b"Index 1"),
    (b"extra ", b"extra  "), (b"index 1\n", b"index 1\nAAAA\n"), (b"\n\n", b"\n"), (b"index 1\n", b""),
    (b"index 1\n", "index １\n".encode()), (b"index 1\n", b"index 1\n" + b"A" * 43 + b"=\n" * 1 + b"x\n"),
])  # fmt: skip
def test_what_is_no_receipt_is_refused(receipt, old, new):
    with pytest.raises(LogInvalid):
        TlogProof.parse(receipt.format().replace(old, new, 1)).verify(
            entry(1), NAME, [VerifierKey(NAME, SIGNER.public)]
        )


def test_an_entry_longer_than_a_bundle_takes_is_refused(tmp_path):
    with pytest.raises(InputError):
        LogWriter(tmp_path, None).integrate([b"x" * 65_536])
