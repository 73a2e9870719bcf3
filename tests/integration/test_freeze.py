"""Freezing real pages in the sandbox, sealing them, and running oracle and noop on them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from cases.age import new_identity, unseal
from cases.bundled import bundled
from cases.kit import commitment, open_kit
from cases.package import CaseFile, Package
from cases.plan import Plan
from cases.reconstruct.folder import load_frozen
from cases.reconstruct.frozen import CHECKS_FILE, Checks
from cases.toml import read_toml
from ledger.folder import Folder
from ledger.records import kinds
from runners.curation import Declared, freeze, freeze_authored, verify_case
from runners.judge import EvaluatorJudge, recipient
from runners.sandbox import Sandbox
from store.directory import load_tree
from store.errors import CheckFailed, Conflict, InputError

pytestmark = pytest.mark.docker

SITES = Path(__file__).parent.parent / "sites"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        made = Folder.create(tmp_path_factory.mktemp("bench") / "bench", "example.org/bench")
        made.keys.create("evaluator")
        identity, public = new_identity()
        made.keys.identity_path.write_text(identity, "ascii")
        (made.kits / "recipient.txt").write_text(f"{public}\n", "ascii")
        yield made


@pytest.fixture(scope="module")
def backend(folder):
    sandbox = Sandbox.open(folder.store, "freezetest01")
    yield sandbox
    assert sandbox.reap() == []


@pytest.fixture(scope="module")
def judge(folder):
    return EvaluatorJudge(folder)


@pytest.fixture(scope="module")
def plain(folder, backend, judge):
    return freeze(folder, backend, judge, SITES / "plain", "plain", recipient=recipient(folder), title="The plain page")


@pytest.fixture(scope="module")
def bindery(folder, backend, judge):
    return freeze_authored(folder, backend, judge, bundled().root, recipient=recipient(folder))


def kit_of(folder, frozen):
    data = unseal(folder.store.get(frozen.kit), folder.keys.identity_path.read_text())
    assert commitment(data) == frozen.commitment
    return open_kit(data)


def test_a_page_alone_becomes_a_case(folder, plain):
    root = folder.cases / "plain"
    assert sorted(path.name for path in root.iterdir()) == [
        "brief.md",
        "case.toml",
        "contract.json",
        "evidence",
        "frozen.json",
        "starter",
    ]
    assert sorted(path.name for path in (root / "evidence").iterdir()) == [
        "home.desktop.initial.png",
        "home.mobile.initial.png",
    ]
    assert load_frozen(folder, "plain")[0] == plain
    assert (folder.kits / "plain.age").read_bytes() == folder.store.get(plain.kit)
    assert Plan.parse(folder.store.get(plain.plan)).shots
    assert plain.environment.backend == "docker"


def test_the_public_package_says_nothing_of_what_is_sealed(folder, bindery):
    kit = kit_of(folder, bindery)
    package = load_tree(folder.store, bindery.package)
    public = b"".join(folder.store.get(entry.digest) for entry in package if entry.digest is not None)
    for assertion in kit.kit.assertions:
        assert assertion.name.encode() not in public
    assert kit.salt not in public
    assert {entry.path.split("/")[0] for entry in package} == {"brief.md", "contract.json", "evidence", "starter"}


def test_what_the_author_did_not_declare_is_read_off_the_page_and_confirmed(folder, plain):
    kit = kit_of(folder, plain).kit
    assert {"global_visual", "regional_visual", "functional", "responsive", "policy"} == set(plain.dimensions)
    assert {"welcome", "prices"} <= {region.name for region in kit.regions}
    assert {"heading-tea-by-the-pot", "link-prices"} <= {assertion.name for assertion in kit.assertions}


def test_what_the_author_declared_is_sealed_as_declared(folder, bindery):
    declared = bundled().kit.read_text()
    kit = kit_of(folder, bindery).kit
    names = re.findall(r'^name = "(.*)"$', declared, re.MULTILINE)
    assert [item.name for item in (*kit.regions, *kit.assertions)] == names
    assert Package.load(folder.cases / "bindery").case == read_toml(bundled().case, CaseFile)


@pytest.mark.parametrize(("name", "runs"), [("plain", 2), ("bindery", 1)])
def test_the_oracle_gets_everything_and_the_noop_nothing(folder, backend, judge, name, runs, request):
    frozen = request.getfixturevalue(name)
    checks = verify_case(folder, backend, judge, name, runs=runs)
    assert [(check.agent, check.run, check.score) for check in checks] == [
        *(("oracle", run, kinds.FULL) for run in range(1, runs + 1)),
        *(("noop", run, 0) for run in range(1, runs + 1)),
    ]
    kept = Checks.parse((folder.cases / name / CHECKS_FILE).read_bytes())
    assert kept == Checks(frozen.digest, tuple(checks))


def test_an_oracle_that_does_less_is_found_out(folder, backend, judge, plain, tmp_path):
    root = folder.cases / "plain"
    other = tmp_path / "kept"
    shutil.copytree(root, other)
    value = json.loads((root / "frozen.json").read_bytes())
    value["source"] = str(plain.starter)
    (root / "frozen.json").write_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    with pytest.raises(CheckFailed, match="oracle scored 0"):
        verify_case(folder, backend, judge, "plain", runs=1)
    shutil.rmtree(root)
    other.rename(root)


def test_a_declaration_that_does_not_hold_keeps_a_case_from_being_frozen(folder, backend, judge, tmp_path):
    kit = tmp_path / "kit.toml"
    kit.write_text(
        '[[functional]]\nname = "coffee"\nshot = "home.desktop.initial"\nexpect = "visible"\n'
        'target = { role = "heading", name = "Coffee" }\n'
    )
    with pytest.raises(InputError, match="coffee does not hold on the reference"):
        freeze(
            folder,
            backend,
            judge,
            SITES / "plain",
            "coffee",
            recipient=recipient(folder),
            title="Coffee",
            declared=Declared(kit=kit),
        )
    assert not (folder.cases / "coffee").exists()
    assert not (folder.kits / "coffee.age").exists()


def test_a_declaration_that_holds_on_the_starter_keeps_a_case_from_being_frozen(folder, backend, judge, tmp_path):
    kit = tmp_path / "kit.toml"
    kit.write_text('[[functional]]\nname = "address"\nshot = "home.desktop.initial"\nexpect = "url"\nvalue = "/"\n')
    with pytest.raises(InputError, match="address holds on the starter already"):
        freeze(
            folder,
            backend,
            judge,
            SITES / "plain",
            "address",
            recipient=recipient(folder),
            title="Address",
            declared=Declared(kit=kit),
        )


def test_a_missing_image_of_the_reference_is_found(folder, backend, judge, tmp_path):
    shutil.copytree(SITES / "plain", tmp_path / "site")
    page = tmp_path / "site" / "index.html"
    page.write_text(page.read_text().replace("</main>", '<img src="gone.png" alt="gone"></main>'))
    with pytest.raises(CheckFailed, match="0 of 1 images"):
        freeze(folder, backend, judge, tmp_path / "site", "gone", recipient=recipient(folder), title="Gone")


def test_a_new_version_takes_the_place_of_the_old_one(folder, backend, judge, plain):
    again = freeze(
        folder, backend, judge, SITES / "plain", "plain", recipient=recipient(folder), title="Plainer", version=2
    )
    assert (again.version, again.package != plain.package) == (2, True)
    assert load_frozen(folder, "plain")[0] == again
    assert again.evidence == plain.evidence
    with pytest.raises(Conflict):
        freeze(folder, backend, judge, SITES / "plain", "plain", recipient=recipient(folder), title="x", version=2)
