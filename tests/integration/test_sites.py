"""Real pages from the npm registry, all the way: freeze, verify, six attempts, release, verification, elsewhere too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile

import pytest

SITES = {"resume": "startbootstrap-resume", "creative": "startbootstrap-creative"}

# Takes the page as it is and drops one section: what an agent that forgot something would hand in.
EDIT = """
import pathlib, re, shutil
site, work = pathlib.Path("/agent/site"), pathlib.Path("/workspace")
shutil.copytree(site, work, dirs_exist_ok=True)
page = work / "index.html"
text = page.read_text("utf-8")
sections = list(re.finditer(r"<section.*?</section>", text, re.S))
drop = sections[len(sections) // 2]
page.write_text(text[: drop.start()] + text[drop.end() :], "utf-8")
"""

pytestmark = [pytest.mark.docker, pytest.mark.sites]


@pytest.fixture(scope="module")
def fetched(tmp_path_factory):
    """The `dist/` folders of the packages, fetched now: none of their text is kept here."""
    place = tmp_path_factory.mktemp("npm")
    sites = {}
    for case, package in SITES.items():
        subprocess.run(["npm", "pack", "--silent", package], cwd=place, check=True, capture_output=True)
        with tarfile.open(next(place.glob(f"{package}-*.tgz"))) as tar:
            tar.extractall(place / case, filter="data")
        sites[case] = place / case / "package" / "dist"
    return sites


def rbl(homes, *words, ok=(0,), **more):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rbl", *map(str, words)],
        env=homes | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in ok, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def released(homes, fetched, tmp_path_factory):
    """A folder with a release over both pages: three entries, two repeats."""
    place = tmp_path_factory.mktemp("sites")
    folder = place / "bench"
    rbl(homes, "init", folder)
    for case, site in fetched.items():
        rbl(homes, "-C", folder, "case", "freeze", site, "--id", case, "--permission", "MIT")
        rbl(homes, "-C", folder, "case", "verify", case)
        rbl(homes, "-C", folder, "case", "publish", case)
        agent = place / f"agent-{case}"
        shutil.copytree(site, agent / "site")
        (agent / "edit.py").write_text(EDIT)
    rbl(homes, "-C", folder, "split", "freeze", "pages", *fetched)
    rbl(homes, "-C", folder, "protocol", "freeze", "rules", "--repeats", 2)
    rbl(homes, "-C", folder, "entry", "freeze", "oracle", "--agent", "oracle")
    rbl(homes, "-C", folder, "entry", "freeze", "noop", "--agent", "noop")
    both = place / "agent"
    for case in fetched:
        shutil.copytree(place / f"agent-{case}", both / case)
    (both / "edit.py").write_text(
        "import pathlib, re, shutil\n"
        'brief = pathlib.Path("/task/brief.md").read_text("utf-8").splitlines()[0]\n'
        'case = next(name for name in ("resume", "creative") if name in brief)\n'
        + EDIT.replace('"/agent/site"', 'f"/agent/{case}/site"')
    )
    rbl(homes, "-C", folder, "entry", "freeze", "edit", "--files", both, "--", "python3", "/agent/edit.py")
    words = ["--entry", "oracle", "--entry", "noop", "--entry", "edit"]
    rbl(homes, "-C", folder, "schedule", "freeze", "all", "--split", "pages", "--protocol", "rules", *words)
    rows = json.loads(rbl(homes, "-C", folder, "attempt", "run", "--schedule", "all", "-j", 2, "--json"))["attempts"]
    cut = json.loads(rbl(homes, "-C", folder, "release", "freeze", "first", "--schedule", "all", "--json"))
    return folder, rows, cut


def test_the_oracle_gets_all_the_starter_nothing_and_a_dropped_section_something_between(released):
    _, rows, _ = released
    assert len(rows) == 12
    assert {row["outcome"] for row in rows} == {"scored"}
    for row in rows:
        if row["entry"] == "edit":
            assert 0 < row["score"] < 1_000_000, row
        else:
            assert row["score"] == {"oracle": 1_000_000, "noop": 0}[row["entry"]], row


def test_the_same_work_gets_the_same_score_each_time(released):
    _, rows, _ = released
    for case in SITES:
        assert len({row["score"] for row in rows if (row["entry"], row["case"]) == ("edit", case)}) == 1


def test_the_release_verifies_and_a_regrade_gives_the_same_bytes(released, homes):
    folder, rows, cut = released
    found = json.loads(rbl(homes, "-C", folder, "release", "verify", "first", "--digest", cut["digest"], "--json"))
    assert found["ok"]
    assert [step["ok"] for step in found["steps"]] == [True] * 8
    edit = next(row for row in rows if row["entry"] == "edit")
    assert json.loads(rbl(homes, "-C", folder, "attempt", "regrade", edit["id"], "--json"))["same"]


def test_a_copy_verifies_elsewhere_under_another_locale_zone_and_process_count(released, homes, tmp_path):
    folder, _, cut = released
    copy = tmp_path / "une copie"
    shutil.copytree(folder, copy, symlinks=True)
    first = json.loads(rbl(homes, "-C", folder, "release", "verify", "first", "--processes", 1, "--json"))
    elsewhere = {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "7"}
    stranger = {"RBL_CONFIG_HOME": str(tmp_path / "c"), "RBL_STATE_HOME": str(tmp_path / "s"), "HOME": str(tmp_path)}
    words = ["-C", copy, "release", "verify", "first", "--processes", 3, "--json"]
    second = json.loads(rbl(homes, *words, **elsewhere, **stranger))
    assert second["digest"] == first["digest"] == cut["digest"]
    assert second["ok"]
    assert (folder / "releases/first/results.json").read_bytes() == (copy / "releases/first/results.json").read_bytes()
