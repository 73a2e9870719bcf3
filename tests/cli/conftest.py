"""The installed command, run as a process with homes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SITES = Path(__file__).parent.parent / "sites"


class Command:
    """Runs `rbl`; each answer has `code`, `out` and `err`."""

    def __init__(self, place: Path) -> None:
        self.environment = os.environ | {
            "RBL_CONFIG_HOME": str(place / "config"),
            "RBL_STATE_HOME": str(place / "state"),
            "NO_COLOR": "1",
        }

    def __call__(self, *words, cwd=None, **more):
        done = subprocess.run(
            [str(Path(sys.executable).parent / "rbl"), *map(str, words)],
            env=self.environment | more,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)


class Answer:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture(scope="module")
def rbl(tmp_path_factory):
    return Command(tmp_path_factory.mktemp("homes"))


@pytest.fixture(scope="module")
def folder(rbl, tmp_path_factory):
    """A fresh benchmark folder."""
    place = tmp_path_factory.mktemp("cli") / "bench"
    assert rbl("init", place).code == 0
    return place
