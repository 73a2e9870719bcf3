"""Freezing and checking a case: what is refused before a container starts, and what the evaluator's answers mean."""

from __future__ import annotations

import pytest

from cases.bundled import bundled
from cases.kit import Assertion, Kit, Region
from cases.package import CASE_FILE, CaseFile, save_package
from cases.reconstruct.folder import checks_of, load_frozen
from cases.reconstruct.freeze import Proposal, default_contract
from cases.reconstruct.frozen import CHECKS_FILE, FROZEN_FILE, Checks
from ledger.folder import Folder
from ledger.records import kinds
from runners.confirmation import check_score, confirm, refused_by
from runners.curation import Declared, freeze
from runners.judge import Checkpoint, Judgement, recipient
from store.digest import Digest
from store.directory import check_out
from store.errors import CheckFailed, Conflict, InputError, Unavailable
from store.tree import Tree, TreeEntry
from tests.unit.runners.frozen import frozen_case

SHOT = "home.desktop.initial"


@pytest.fixture
def folder(tmp_path):
    return Folder.create(tmp_path / "bench", "example.org/bench")


@pytest.fixture
def site(tmp_path):
    root = tmp_path / "site"
    root.mkdir()
    (root / "index.html").write_text("<!doctype html><title>t</title>")
    return root


def nothing_runs(*_arguments):
    raise AssertionError("nothing may run")


def refused(folder, site, case="page", **options):
    with pytest.raises((InputError, Conflict)) as caught:
        freeze(folder, nothing_runs, nothing_runs, site, case, recipient="age1", **{"title": "A page", **options})
    assert list(folder.cases.iterdir()) == []
    assert list(folder.kits.iterdir()) == []
    return caught.value


def test_a_folder_without_a_first_page_is_refused_by_name(folder, site):
    (site / "index.html").unlink()
    error = refused(folder, site)
    assert "index.html" in error.what
    assert error.where == str(site)


def test_a_source_that_is_not_there_isrefused_by(folder, site):
    assert "no such folder" in refused(folder, site / "none").what


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"title": "two\nlines"}, "title"),
        ({"version": 0}, "version"),
        ({"limits": kinds.Limits(seconds=0, memory=1 << 20, cpus=1000, pids=1, workspace=1 << 20)}, "seconds"),
    ],
)
def test_what_a_case_cannot_say_of_itself_isrefused_by(folder, site, options, said):
    assert said in refused(folder, site, **options).what


def test_a_build_step_without_a_starter_isrefused_by(folder):
    declared = Declared(contract=bundled().contract)
    assert "starter" in refused(folder, bundled().source, declared=declared).what


def test_an_id_that_is_a_path_isrefused_by(folder, site):
    assert "id" in refused(folder, site, "../page").what


def kit(*, regions=(), assertions=()):
    return Kit(
        case="page",
        version=1,
        regions=tuple(Region(name, SHOT, (0, 0, 10, 10), None, 1) for name in regions),
        assertions=tuple(Assertion(name, SHOT, "functional", None, "url", value="/") for name in assertions),
        viewports={"desktop": 1},
        main=SHOT,
        responsive=(SHOT,),
    )


def judgement(total, *points):
    tally = kinds.Tally(score=total, passed=0, total=1)
    verdict = kinds.Verdict(
        dimensions={"functional": tally},
        weights={"functional": 1},
        gate=kinds.FULL,
        total=total,
        inputs=[],
        detail=Digest.of(b""),
    )
    return Judgement(verdict, tuple(Checkpoint(dimension, name, SHOT, score) for dimension, name, score in points))


def test_a_proposal_that_fails_on_the_reference_or_holds_on_the_starter_is_left_out():
    made = frozenset({"regions/a", "regions/b", "assertions/a", "assertions/c"})
    proposal = Proposal(kit(regions=("a", "b"), assertions=("a", "c")), made)
    reference = judgement(
        0,
        ("regional_visual", "a", 999_999),
        ("regional_visual", "b", kinds.FULL),
        ("functional", "a", kinds.FULL),
        ("functional", "c", kinds.FULL),
        ("global_visual", SHOT, 3),
    )
    starter = judgement(0, ("regional_visual", "a", 0), ("functional", "a", 0), ("functional", "c", kinds.FULL))
    assert refused_by(proposal, reference, starter) == {"regions/a", "assertions/c"}


@pytest.mark.parametrize(
    ("on_reference", "on_starter", "said"),
    [(0, 0, "links-home does not hold on the reference"), (kinds.FULL, kinds.FULL, "links-home holds on the starter")],
)
def test_a_declaration_that_does_not_tell_reference_from_starter_is_named(on_reference, on_starter, said):
    proposal = Proposal(kit(assertions=("links-home",)), frozenset())
    with pytest.raises(InputError, match=said):
        refused_by(
            proposal,
            judgement(0, ("functional", "links-home", on_reference)),
            judgement(0, ("functional", "links-home", on_starter)),
        )


def test_a_kit_is_confirmed_by_what_both_sides_say():
    def reference(kit):
        scores = {"flat": 0, "hero": kinds.FULL}
        return judgement(0, *(("regional_visual", region.name, scores[region.name]) for region in kit.regions))

    def starter(kit):
        return judgement(0, *(("regional_visual", region.name, 0) for region in kit.regions))

    proposal = Proposal(kit(regions=("flat", "hero")), frozenset({"regions/flat", "regions/hero"}))
    assert [region.name for region in confirm(proposal, reference, starter).regions] == ["hero"]
    with pytest.raises(InputError, match="flat does not hold"):
        confirm(Proposal(proposal.kit, frozenset()), reference, starter)


def test_an_oracle_below_everything_is_refused_by_checkpoint():
    with pytest.raises(CheckFailed, match=f"regional_visual/hero on {SHOT}: 7"):
        check_score(judgement(999_999, ("regional_visual", "hero", 7)), "oracle", 2, kinds.FULL)


def test_a_noop_above_nothing_is_refused_by_checkpoint():
    points = (("functional", "a", 0), ("functional", "b", 5), ("policy", SHOT, kinds.FULL))
    with pytest.raises(CheckFailed, match=f"functional/b on {SHOT}: 5") as caught:
        check_score(judgement(1, *points), "noop", 1, 0)
    assert "policy" not in caught.value.what


def test_exactly_everything_and_exactly_nothing_pass():
    check_score(judgement(kinds.FULL), "oracle", 1, kinds.FULL)
    check_score(judgement(0), "noop", 1, 0)


@pytest.fixture
def frozen(folder):
    """A frozen case as freezing writes it, its kit aside."""
    store = folder.store
    data = store.put_bytes(b"x")
    trees = save_package(
        store,
        brief=b"# Build\n",
        contract=default_contract().format(),
        evidence=Tree.of([TreeEntry.file("a.png", data, 1)]),
        starter=Tree.of([TreeEntry.file("index.html", data, 1)]),
    )
    case = CaseFile("page", 1, "frozen-evidence/reconstruct", "A page", ("global_visual", "policy"))
    made = frozen_case(case, trees, data, data)
    check_out(store, trees.package, folder.cases / "page")
    (folder.cases / "page" / CASE_FILE).write_text(case.format())
    (folder.cases / "page" / FROZEN_FILE).write_bytes(made.format())
    return made


def test_a_frozen_case_is_found_as_it_was_frozen(folder, frozen):
    assert load_frozen(folder, "page") == (frozen, default_contract())


@pytest.mark.parametrize("name", ["brief.md", "evidence/a.png", "starter/index.html", "starter/more.css"])
def test_a_case_changed_after_it_was_frozen_isrefused_by(folder, frozen, name):
    (folder.cases / "page" / name).write_bytes(b"# Other\n")
    with pytest.raises(InputError, match="changed after"):
        load_frozen(folder, "page")


def test_a_case_that_is_not_frozen_says_how_to(folder, frozen):
    (folder.cases / "page" / FROZEN_FILE).unlink()
    with pytest.raises(InputError, match="rbl case freeze"):
        load_frozen(folder, "page")


def test_freezing_a_frozen_version_again_is_a_conflict(folder, frozen, site):
    before = (folder.cases / "page" / FROZEN_FILE).read_bytes()
    with pytest.raises(Conflict, match="version 2"):
        freeze(folder, nothing_runs, nothing_runs, site, "page", recipient="age1", title="A page")
    assert (folder.cases / "page" / FROZEN_FILE).read_bytes() == before


GOOD = (kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0))


def test_checks_of_exactly_this_case_are_accepted(folder, frozen):
    (folder.cases / "page" / CHECKS_FILE).write_bytes(Checks(frozen.digest, GOOD).format())
    assert checks_of(folder, frozen) == GOOD


@pytest.mark.parametrize(
    "checks",
    [
        None,
        Checks(Digest.of(b"another"), GOOD),
        GOOD[:1],
        (GOOD[0], kinds.Check(agent="noop", run=1, score=1)),
        (),
    ],
)
def test_missing_stale_or_failing_checks_keep_a_case_from_being_published(folder, frozen, checks):
    if checks is not None:
        found = checks if isinstance(checks, Checks) else Checks(frozen.digest, checks)
        (folder.cases / "page" / CHECKS_FILE).write_bytes(found.format())
    with pytest.raises(CheckFailed, match="rbl case verify page"):
        checks_of(folder, frozen)


def test_a_missing_recipient_is_named_with_its_file(folder):
    with pytest.raises(Unavailable) as caught:
        recipient(folder)
    assert caught.value.where.endswith("kits/recipient.txt")
    (folder.kits / "recipient.txt").write_text("age1abc\n")
    assert recipient(folder) == "age1abc"
