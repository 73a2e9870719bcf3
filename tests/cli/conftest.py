"""The installed command, run as a process with homes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.release.freeze import freeze
from tests.unit.ledger.release.bench import begin, tell_everything

SITES = Path(__file__).parent.parent / "sites"


class Command:
    """Runs `rbl`; each answer has `code`, `out` and `err`."""

    def __init__(self, place: Path) -> None:
        self.program = str(Path(sys.executable).parent / "rbl")
        self.environment = os.environ | {
            "RBL_CONFIG_HOME": str(place / "config"),
            "RBL_STATE_HOME": str(place / "state"),
            "NO_COLOR": "1",
        }

    def __call__(self, *words, cwd=None, **more):
        done = subprocess.run(
            [self.program, *map(str, words)],
            env=self.environment | more,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "a defect of rbl" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)


class Answer:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def document(self):
        """The one JSON document on standard output."""
        assert self.code == 0, (self.out, self.err)
        return json.loads(self.out)


def explained(answer, code, *said):
    """The answer is an error that says what, with this exit code and these words, and nothing else."""
    assert answer.code == code, (answer.out, answer.err)
    assert answer.out == ""
    assert "error: " in answer.err
    for text in said:
        assert str(text) in answer.err, answer.err


@pytest.fixture(scope="module")
def rbl(tmp_path_factory):
    return Command(tmp_path_factory.mktemp("homes"))


@pytest.fixture(scope="module")
def folder(rbl, tmp_path_factory):
    """A fresh benchmark folder."""
    place = tmp_path_factory.mktemp("cli") / "bench"
    assert rbl("init", place).code == 0
    return place


@pytest.fixture(scope="module")
def story(rbl, tmp_path_factory):
    """What was told into a folder with attempts of every outcome and the release `r1`: real records, nothing run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", rbl.environment["RBL_CONFIG_HOME"])
        patch.setenv("RBL_STATE_HOME", rbl.environment["RBL_STATE_HOME"])
        folder = begin(tmp_path_factory.mktemp("released") / "bench")
        story = tell_everything(folder, beside=False)
        freeze(folder, "r1", "s1")
    story.folder = folder
    return story


@pytest.fixture(scope="module")
def released(story):
    return story.folder.root


@pytest.fixture
def copied(rbl, released, tmp_path):
    """A command with homes of its own, and a folder with a release that may be changed."""
    command = Command(tmp_path)
    for name in ("RBL_CONFIG_HOME", "RBL_STATE_HOME"):
        subprocess.run(["cp", "-a", rbl.environment[name], command.environment[name]], check=True)
    subprocess.run(["cp", "-a", str(released), str(tmp_path / "bench")], check=True)
    return command, tmp_path / "bench"
