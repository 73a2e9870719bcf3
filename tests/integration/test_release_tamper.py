"""Every byte that a release rests on is authenticated: flip one in any file, and verification fails and names it."""

from __future__ import annotations

import os
import shutil

import pytest

from ledger.folder import Folder
from ledger.release.freeze import freeze
from ledger.release.verify import verify
from tests.unit.ledger.release.bench import begin, tell_everything

_KEPT = ("log", "objects/sha256", "releases", "trust")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A small benchmark with every outcome, its release `r1`, and two records after it."""
    place = tmp_path_factory.mktemp("tamper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        folder = begin(place / "b")
        story = tell_everything(folder, beside=False)  # every object in the store belongs to the release
        freeze(folder, "r1", "s1")
        later = story.told[1]
        sidecar = story.withdraw("attempt", later.id, later.closed.digest)
        story.withdraw("attempt", later.id, later.closed.digest, reinstates=sidecar.digest)
        patch.setenv("RBL_STATE_HOME", str(place / "an auditor's machine"))
        yield folder


def files(folder):
    found = [file for part in _KEPT for file in (folder.root / part).rglob("*") if file.is_file()]
    return sorted(file for file in found if ".tmp" not in file.parts)


def flip(file, position, bit=1):
    mode = file.stat().st_mode
    file.chmod(0o600)
    data = bytearray(file.read_bytes())
    data[position] ^= bit
    file.write_bytes(bytes(data))
    file.chmod(mode)


def named(result):
    return "\n".join(str(finding) for finding in result.findings)


def test_the_untouched_folder_verifies(released):
    result = verify(released, "r1")
    assert result.findings == ()
    assert result.ok


def test_a_flipped_byte_in_any_file_is_found(released):
    for file in files(released):
        size = file.stat().st_size
        for position in {size // 2} if {"objects", "tile"} & set(file.parts) else {0, size - 1}:
            flip(file, position)
            result = verify(released, "r1")
            assert not result.ok, (file, position)
            assert result.findings, (file, position)
            assert all(finding.where and finding.what and finding.consequence for finding in result.findings)
            flip(file, position)
    assert verify(released, "r1").ok


def test_bytes_all_over_a_signed_head_matter(released):
    for file in (released.log / "checkpoint", released.releases / "r1" / "checkpoint"):
        for position in range(0, file.stat().st_size, 3):
            flip(file, position)
            assert not verify(released, "r1").ok, (file, position)
            flip(file, position)


def test_bytes_all_over_the_release_folder_matter(released):
    for file in sorted((released.releases / "r1").iterdir()):
        size = file.stat().st_size
        for position in range(1, size, max(1, size // 11)):
            flip(file, position, bit=0x20)
            assert not verify(released, "r1").ok, (file, position)
            flip(file, position, bit=0x20)


def test_a_finding_names_the_file_or_record(released):
    place = released.releases / "r1"
    for file in (place / "results.json", place / "leaves.json", place / "record.dsse", place / "release.json"):
        flip(file, 5)
        assert f"releases/r1/{file.name}" in named(verify(released, "r1"))
        flip(file, 5)
    tile = next(file for file in sorted((released.log / "tile" / "0").rglob("*")) if file.is_file())
    flip(tile, 3)
    assert tile.relative_to(released.root).as_posix() in named(verify(released, "r1"))
    flip(tile, 3)
    thing = next(file for file in files(released) if "objects" in file.parts)
    flip(thing, 0)
    assert f"sha256:{thing.parent.name}{thing.name}" in named(verify(released, "r1"))
    flip(thing, 0)


@pytest.mark.parametrize("where", ["log/tile", "objects/sha256", "releases/r1", "trust"])
def test_a_missing_file_is_found(released, where):
    for file in files(released):
        if file.relative_to(released.root).as_posix().startswith(where):
            away = released.root.parent / "away"
            file.rename(away)
            result = verify(released, "r1")
            relative = file.relative_to(released.log).as_posix() if where == "log/tile" else ""
            assert not result.ok or _was_superseded(released, relative), file
            away.rename(file)


def _was_superseded(folder, relative):
    """A partial tile of an earlier head is not needed: a wider one stands beside it."""
    name, _, width = relative.rpartition("/")
    return name.endswith(".p") and any(int(other.name) > int(width) for other in (folder.log / name).iterdir())


def test_a_log_cut_back_to_before_the_release_is_found(released, tmp_path):
    other = Folder(tmp_path / "copy")
    shutil.copytree(released.root, other.root)
    shutil.copy(other.releases / "r1" / "checkpoint", other.log / "checkpoint")
    assert verify(other, "r1").ok, "an older signed head that holds the release is still a true one"
    for bundle in (other.log / "tile" / "entries").rglob("*"):
        if bundle.is_file():
            os.truncate(bundle, bundle.stat().st_size - 1)
    result = verify(other, "r1")
    assert not result.ok
    assert "log/tile/entries" in named(result)
