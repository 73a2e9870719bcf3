"""The README's commands, run as they stand there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SITES

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")

pytestmark = pytest.mark.docker


def block(after):
    """The commands of the first code block after a piece of text."""
    text = README[README.index(after) :]
    return re.search(r"```\n(.*?)```", text, re.DOTALL)[1].strip()


@pytest.fixture(scope="module")
def place(rbl, tmp_path_factory):
    """A folder that holds what the operator's commands name, and the folder they make."""
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(SITES / "plain", place / "site")
    (place / "solution").mkdir()
    (place / "solution" / "run.sh").write_text("sed -i 's|<body>|<body><h1>Tea by the pot</h1>|' index.html\n")
    commands = block("**The operator**")
    done = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=place,
        env=rbl.environment | {"PATH": f"{Path(sys.executable).parent}:{rbl.environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_the_operator_s_commands_end_in_a_release(rbl, place):
    assert rbl("-C", place / "bench", "release", "show", "first").code == 0
    assert "mine" in rbl("-C", place / "bench", "report", "first").out


def test_the_auditor_s_command_verifies_it(rbl, place):
    [command] = block("**The auditor**").splitlines()
    answer = rbl(*shlex.split(command)[1:], cwd=place)
    assert answer.code == 0, answer.out
    steps = re.search(r"Eight steps, one line each: ([^.]*)\.", README)[1].replace("\n", " ").split(", ")
    assert [line.split()[1] for line in answer.out.splitlines()[:8]] == steps


def test_the_reviewer_s_commands_follow_an_attempt_and_withdraw_it(rbl, place):
    listed = rbl("-C", place / "bench", "attempt", "list").out
    attempt = re.search(r"^(\S+__mine__r01__\S+)", listed, re.MULTILINE)[1]
    for command in block("**The reviewer**").splitlines():
        words = ["-C", str(place / "bench"), *shlex.split(command)[1:]]
        answer = rbl(*[attempt if word.startswith("2026") else word for word in words])
        assert answer.code == 0, answer.err
    assert rbl("-C", place / "bench", "release", "verify", "first").code == 0


def test_the_make_targets_that_the_readme_names_are_there():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_pages_that_the_readme_links_to_are_there():
    for link in re.findall(r"\]\(([^)#]+)", README):
        if "://" not in link:
            assert (Path(__file__).parents[2] / link).exists(), link
