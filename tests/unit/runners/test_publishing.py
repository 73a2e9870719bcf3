"""Publishing a frozen case: a source, then the case, once."""

from __future__ import annotations

import pytest

from cases.package import CASE_FILE, CaseFile, save_package
from cases.reconstruct.freeze import default_contract
from cases.reconstruct.frozen import CHECKS_FILE, FROZEN_FILE, Checks
from cases.source import Investigation
from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.reader import Ledger
from ledger.records import kinds
from rbl.workspace import create
from runners.publishing import case_body, publish_case
from store.directory import check_out
from store.errors import CheckFailed, Conflict, InputError
from store.tree import Tree, TreeEntry
from tests.unit.runners.frozen import frozen_case

GOOD = (kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0))
KNOWN = Investigation("a list of pages", "https://example.org/page", "our own", ("no map",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    return create(tmp_path / "bench", "example.org/bench")


def freeze(folder: Folder, *, version=1, brief="# Build\n", source: Investigation | None = KNOWN, checked=True):
    """What freezing and verifying leave behind, of a page that nobody drew."""
    store = folder.store
    data = store.put_bytes(b"x")
    files = Tree.of([TreeEntry.file("index.html", data, 1)])
    store.put_bytes(files.format())
    trees = save_package(
        store, brief=brief.encode(), contract=default_contract().format(), evidence=files, starter=files
    )
    case = CaseFile(
        "page", version, "frozen-evidence/reconstruct", "A page", ("global_visual", "policy"), source=source
    )
    frozen = frozen_case(case, trees, data, files.digest)
    root = folder.cases / "page"
    if root.exists():
        root.rename(folder.cases / f".v{version - 1}")
    check_out(store, trees.package, root)
    (root / CASE_FILE).write_text(case.format())
    (root / FROZEN_FILE).write_bytes(frozen.format())
    if checked:
        (root / CHECKS_FILE).write_bytes(Checks(frozen.digest, GOOD).format())
    return frozen


def test_a_case_is_published_behind_its_source(folder):
    frozen = freeze(folder)
    record = publish_case(folder, "page")
    ledger = Ledger.open(folder)
    (source,) = ledger.of(kinds.Source)
    assert source.index < record.index
    assert (source.body.artifact, source.body.origin, source.body.differences) == (
        frozen.source,
        KNOWN.origin,
        ["no map"],
    )
    assert (record.body.source, record.body.package, record.body.checks) == (source.digest, frozen.package, list(GOOD))
    assert ledger.case("page").digest == record.digest


def test_publishing_twice_says_nothing_new(folder):
    freeze(folder)
    first = publish_case(folder, "page")
    size = read_checkpoint(folder).head.size
    assert publish_case(folder, "page").digest == first.digest
    assert read_checkpoint(folder).head.size == size


def test_a_new_version_names_the_one_before_it(folder):
    freeze(folder)
    first = publish_case(folder, "page")
    freeze(folder, version=2, brief="# Build better\n")
    second = publish_case(folder, "page")
    assert second.body.supersedes == first.digest
    assert second.body.source == first.body.source
    assert publish_case(folder, "page").digest == second.digest


def test_other_content_under_a_published_version_is_a_conflict(folder):
    freeze(folder)
    publish_case(folder, "page")
    (folder.cases / "page").rename(folder.cases / ".moved")
    freeze(folder, brief="# Build something else\n")
    with pytest.raises(Conflict, match="version 2"):
        publish_case(folder, "page")


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"checked": False}, CheckFailed, "rbl case verify"),
        ({"source": None}, InputError, r"\[source\]"),
    ],
)
def test_a_case_that_cannot_be_published_leaves_no_record(folder, changes, error, said):
    freeze(folder, **changes)
    size = read_checkpoint(folder).head.size
    with pytest.raises(error, match=said):
        publish_case(folder, "page")
    assert read_checkpoint(folder).head.size == size


def test_the_body_alone_can_be_had_without_a_record(folder):
    frozen = freeze(folder)
    body = case_body(folder, "page")
    assert (body.ledger, body.after, body.plan) == ("example.org/bench", read_checkpoint(folder).head, frozen.plan)
    assert read_checkpoint(folder).head.size == 1
