"""The cache of baselines is exact, believes only itself, and never fails a verdict."""

from __future__ import annotations

import pytest

from cases.kit import new_identity
from sealed.baselines import Baselines
from sealed.visual import Baseline
from store.digest import Digest

KIT, CODE = Digest.of(b"kit"), Digest.of(b"code")
ODD = Baseline(0.1 + 0.2, 5e-324)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def identity():
    return new_identity()[0]


@pytest.fixture
def kept(home, identity):
    kept = Baselines.of(identity, KIT, CODE)
    kept.put("region nav", ODD)
    return kept


def only(home):
    (path,) = home.rglob("*.json")
    return path


def test_what_is_kept_is_given_back_to_the_last_bit(kept, identity):
    assert kept.get("region nav") == ODD
    assert Baselines.of(f"# a comment\n{identity}\n", KIT, CODE).get("region nav") == ODD


def test_a_name_a_kit_and_an_evaluator_each_have_their_own(kept, identity):
    assert kept.get("region head") is None
    assert Baselines.of(identity, Digest.of(b"other"), CODE).get("region nav") is None
    assert Baselines.of(identity, KIT, Digest.of(b"other")).get("region nav") is None


def test_another_identity_neither_finds_nor_plants(kept, home, identity):
    stranger = Baselines.of(new_identity()[0], KIT, CODE)
    assert stranger.get("region nav") is None
    mine = only(home)
    stranger.put("region nav", Baseline(0.0, 0.0))
    (theirs,) = set(home.rglob("*.json")) - {mine}
    theirs.replace(mine)
    assert kept.get("region nav") is None


def test_the_file_of_one_name_is_not_another_s(kept, home):
    mine = only(home)
    kept.put("region head", Baseline(0.5, 0.0))
    (other,) = set(home.rglob("*.json")) - {mine}
    mine.write_bytes(other.read_bytes())
    assert kept.get("region nav") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"0x1.3333333333334p-2", b"0x0.0p+0"),
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: b"[]",
        lambda data: b'{"mac":1,"pictures":2,"start":3}',
        lambda data: b'{"mac":"\xc3\xa9","pictures":"0x0.0p+0","start":"0x0.0p+0"}',
        lambda data: b"\xff" * 10_000,
    ],
)
def test_a_damaged_file_is_no_baseline_and_is_mended(kept, home, change):
    path = only(home)
    changed = change(path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    assert kept.get("region nav") is None
    kept.put("region nav", ODD)
    assert kept.get("region nav") == ODD


def test_a_folder_that_cannot_be_made_is_no_trouble(tmp_path, monkeypatch, identity):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RBL_CACHE_HOME", str(tmp_path / "file"))
    kept = Baselines.of(identity, KIT, CODE)
    kept.put("region nav", ODD)
    assert kept.get("region nav") is None


def test_files_say_nothing_of_what_they_are_of_and_only_the_owner_reads_them(kept, home):
    path = only(home)
    assert b"nav" not in path.read_bytes()
    assert "nav" not in path.name
    assert path.stat().st_mode & 0o077 == 0
    assert [item.name for item in path.parent.iterdir()] == [path.name]
