"""Reach: every object that a record names is found, through trees, and nothing is touched on the way."""

from __future__ import annotations

import pytest

from ledger.reach import named, reachable
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.statement import subjects_of
from schemas import registry
from store.digest import Digest
from store.fsck import fsck
from tests.unit.ledger.release import bench
from tests.unit.schemas.pages import example


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return bench.begin(tmp_path / "b")


@pytest.fixture
def story(folder):
    story = bench.tell(folder)
    story.plan(["a"], ["c"])
    story.attempt("a", "c", 1)
    folder.store.flush()
    return story


def test_every_object_of_a_story_is_reached_and_nothing_else(folder, story):
    found = reachable(Ledger.open(folder), folder.store)
    assert set(found) == set(folder.store.digests())
    assert not fsck(folder.store, found).missing


def test_what_names_an_object_is_told(folder, story):
    case = story.cases["c"]
    found = reachable(Ledger.open(folder), folder.store)
    assert found[case.body.package] == f"record {case.index} (case) package"
    assert found[Digest.of(b"# c")] == f"record {case.index} (case) package: brief.md"


def test_a_missing_tree_is_named_and_not_looked_into(folder, story):
    case = story.cases["c"]
    folder.store.path(case.body.evidence).unlink()
    found = reachable(Ledger.open(folder), folder.store)
    assert case.body.evidence in found
    assert Digest.of(b"picture of c") not in found
    (missing,) = fsck(folder.store, found).missing
    assert missing.digest == case.body.evidence


def test_a_corrupt_tree_is_left_where_it_is(folder, story):
    path = folder.store.path(story.cases["c"].body.evidence)
    path.chmod(0o644)
    path.write_bytes(b"other bytes")
    found = reachable(Ledger.open(folder), folder.store)
    assert path.read_bytes() == b"other bytes"
    assert Digest.of(b"picture of c") not in found
    (corrupt,) = fsck(folder.store, found).corrupt
    assert corrupt.digest == story.cases["c"].body.evidence


@pytest.mark.parametrize("kind", registry.kinds())
def test_every_subject_that_is_an_object_is_named(kind):
    body = kinds.from_json(kind, example(kind))
    objects = {digest for _, digest, _ in named(body)}
    if objects - {None}:
        assert {subject.digest for subject in subjects_of(body)} <= objects
