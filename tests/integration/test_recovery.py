"""A harness killed at any step leaves an attempt that recovery closes exactly once, and nothing that lives."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ledger.reader import Ledger
from rbl.workspace import open_backend
from runners.lifecycle import STEPS
from runners.recovery import recover

pytestmark = pytest.mark.docker

KILLED = """
import os, signal, sys
from pathlib import Path
from ledger.folder import Folder
from ledger.reader import Ledger
from rbl.runs import plan_run
from rbl.workspace import open_backend
from runners.lifecycle import run_attempt

folder = Folder.open(Path(sys.argv[1]))
backend = open_backend(folder, "docker")
slot = plan_run(folder, backend, schedule=None, entry="half", case="plain", repeats=1).slots[0]

def watch(attempt, step):
    if step == sys.argv[2]:
        print(attempt, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

run_attempt(folder, backend, slot, watch)
"""


def docker(*words):
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout.split()


def test_a_harness_killed_after_each_step_leaves_one_closing_and_nothing_alive(bench):
    killed = {}
    for step in STEPS:
        done = subprocess.run(
            [sys.executable, "-P", "-c", KILLED, str(bench.root), step], capture_output=True, text=True, check=False
        )
        assert done.returncode == -9, (step, done.stderr)
        killed[step] = done.stdout.strip()
    before = {step: Ledger.open(bench).attempt(attempt).closed for step, attempt in killed.items()}
    assert [step for step, closed in before.items() if closed is not None] == ["closed", "cleaned"]

    found, _ = recover(bench, open_backend(bench, "docker"))

    assert {item.attempt for item in found} == {killed[step] for step in STEPS if before[step] is None}
    for step, attempt in killed.items():
        records = Ledger.open(bench).attempt(attempt)
        closings = [record for record in records.all() if record.kind == "attempt-closed"]
        assert len(closings) == 1, step
        lost = STEPS.index(step) < STEPS.index("archived")
        assert (records.closed.body.outcome, records.closed.body.reason) == (
            ("harness-failure", "lost") if lost else ("scored", "ok")
        ), step
        if before[step] is None:
            assert records.closed.body.last_step in {step, "evaluated"}
        else:
            assert records.closed.digest == before[step].digest
    again, removed = recover(bench, open_backend(bench, "docker"))
    assert (again, removed) == ([], [])
    label = f"label=org.reconbench.folder={open_backend(bench, 'docker').folder}"
    assert docker("ps", "--all", "--quiet", "--filter", label) == []
    assert docker("volume", "ls", "--quiet", "--filter", label) == []
    assert not list(bench.attempts.glob(".*.partial"))
