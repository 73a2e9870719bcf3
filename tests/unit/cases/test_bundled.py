"""The bundled case: complete, buildable without anything to install, and fair to solve."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from cases.bundled import NAMES, SCRIPT, bundled
from cases.contract import Contract
from cases.package import CaseFile
from cases.plan import derive
from cases.reconstruct.author import AuthorKit
from cases.toml import read_toml
from store.errors import InputError


def build(workspace):
    subprocess.run([sys.executable, "-P", "build.py"], cwd=workspace, check=True)
    return workspace / "dist"


@pytest.fixture(params=NAMES)
def case(request):
    return bundled(request.param)


def test_its_files_read(case):
    file = read_toml(case.case, CaseFile)
    contract = Contract.parse(case.contract.read_bytes())
    kit = read_toml(case.kit, AuthorKit)
    shots = {shot.id for shot in derive(contract).shots}
    declared = [*(kit.regions or ()), *(kit.functional or ()), *(kit.workflow or ())]
    assert file.id == case.root.name
    assert declared
    assert {row.shot for row in declared} <= shots
    assert {row.shot for row in kit.workflow or ()} & {shot for shot in shots if not shot.endswith(".initial")}
    assert set(kit.viewports) == {view.name for view in contract.viewports}


def test_its_brief_says_every_state_and_picture(case):
    text = case.brief.read_text()
    for shot in derive(Contract.parse(case.contract.read_bytes())).shots:
        assert f"{shot.id}.png" in text


def test_source_and_starter_build_with_the_same_recipe(case, tmp_path):
    assert (case.source / "build.py").read_bytes() == (case.starter / "build.py").read_bytes()
    for name, root in (("source", case.source), ("starter", case.starter)):
        shutil.copytree(root, tmp_path / name)
        assert (build(tmp_path / name) / "index.html").is_file()
    assert re.search(r"<body>\s*</body>", (tmp_path / "starter" / "dist" / "index.html").read_text())


def test_its_build_is_deterministic(case, tmp_path):
    shutil.copytree(case.source, tmp_path / "site")
    first = {path.name: path.read_bytes() for path in build(tmp_path / "site").rglob("*") if path.is_file()}
    assert first == {path.name: path.read_bytes() for path in build(tmp_path / "site").rglob("*") if path.is_file()}


def test_nothing_of_it_asks_another_host(case):
    for path in [*case.source.rglob("*"), *case.starter.rglob("*"), *case.solution.rglob("*")]:
        if path.suffix in {".html", ".css", ".js"}:
            assert not re.search(r"(https?:)?//[a-z]", path.read_text()), path


def test_every_link_of_its_page_resolves_to_a_file(case, tmp_path):
    shutil.copytree(case.source, tmp_path / "site")
    site = build(tmp_path / "site")
    page = (site / "index.html").read_text()
    assert "<!-- include" not in page
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert (site / name).is_file(), name


def test_the_scripted_agent_does_most_of_it_and_not_all(case, tmp_path):
    shutil.copytree(case.starter, tmp_path / "work")
    shutil.copytree(case.source, tmp_path / "reference")
    assert SCRIPT[1] == "/agent/run.py"
    subprocess.run([sys.executable, str(case.solution / "run.py")], cwd=tmp_path / "work", check=True)
    found, wanted = build(tmp_path / "work"), build(tmp_path / "reference")
    ids = [set(re.findall(r'id="([a-z-]+)"', (site / "index.html").read_text())) for site in (found, wanted)]
    assert 0 < len(ids[1] - ids[0]) < len(ids[1]) / 3
    assert (found / "style.css").read_text() != (wanted / "style.css").read_text()


def test_a_case_that_is_not_bundled_is_refused():
    with pytest.raises(InputError, match="bindery"):
        bundled("nothing")
