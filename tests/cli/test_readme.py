"""The README's commands, run as they stand there; and what becomes of a run that is interrupted."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
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


def test_an_interrupted_run_ends_at_once_and_recover_closes_what_it_left(rbl, place):
    bench = place / "bench"
    assert rbl("-C", bench, "entry", "freeze", "nap", "--", "sleep", "600").code == 0
    words = [rbl.program, "-v", "-C", str(bench), "attempt", "run", "--entry", "nap", "--case", "page"]
    heard = ["env", "--default-signal=INT"]  # which a shell that runs the tests in the background ignores
    with subprocess.Popen([*heard, *words], env=rbl.environment, stderr=subprocess.PIPE, text=True) as running:
        said = []
        for line in running.stderr:
            said.append(line)
            if line.endswith("  started\n"):
                running.send_signal(signal.SIGINT)
        assert running.wait() == 130
    assert "rbl attempt recover" in said[-1]
    [attempt] = rbl("-C", bench, "ledger", "status", "--json").document["open_attempts"]
    closed = rbl("-C", bench, "attempt", "recover", "--json").document
    assert [(row["id"], row["outcome"], row["reason"]) for row in closed["attempts"]] == [
        (attempt, "harness-failure", "lost")
    ]
    assert closed["removed"]
    assert rbl("-C", bench, "ledger", "status", "--json").document["open_attempts"] == []


def test_a_diagnostic_attempt_says_each_line_with_its_total(rbl, place):
    bench = place / "bench"
    answer = rbl("-C", bench, "attempt", "run", "--entry", "mine", "--case", "page", "--json")
    [row] = answer.document["attempts"]
    assert answer.err.splitlines()[-1].startswith(f"[1/1] {row['id']}  scored  0.")
    assert (row["purpose"], row["outcome"]) == ("diagnostic", "scored")
    artifacts = rbl("-C", bench, "attempt", "show", row["id"], "--json").document["artifacts"]
    [changes] = [item["digest"] for item in artifacts if item["name"] == "changes.diff"]
    assert "+<body><h1>Tea by the pot</h1>" in rbl("-C", bench, "store", "cat", changes).out


def test_an_attempt_that_the_harness_cannot_finish_ends_with_4(rbl, place, tmp_path):
    bench = tmp_path / "bench"
    shutil.copytree(place / "bench", bench)
    shutil.copytree(rbl.environment["RBL_STATE_HOME"], tmp_path / "state")
    apart = {"RBL_STATE_HOME": str(tmp_path / "state")}
    package = rbl("-C", bench, "case", "show", "page", **apart).document["package"].removeprefix("sha256:")
    path = bench / "objects" / "sha256" / package[:2] / package[2:]
    path.chmod(0o644)
    path.write_bytes(b"not the package")
    answer = rbl("-C", bench, "attempt", "run", "--entry", "baseline", "--case", "page", "--json", **apart)
    assert answer.code == 4, answer.err
    [row] = json.loads(answer.out)["attempts"]
    assert (row["outcome"], row["score"]) == ("harness-failure", None)


def test_the_make_targets_that_the_readme_names_are_there():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_pages_that_the_readme_links_to_are_there():
    for link in re.findall(r"\]\(([^)#]+)", README):
        if "://" not in link:
            assert (Path(__file__).parents[2] / link).exists(), link
