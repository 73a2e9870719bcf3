"""One benchmark folder for the integration tests: a published case of a small page, entries, protocol, schedule."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ledger.declarations import freeze_entry, freeze_protocol, freeze_schedule, freeze_split
from ledger.records import kinds
from rbl.workspace import create, open_backend
from runners import curation
from runners.evaluator_process import evaluator_digest
from runners.judge import EvaluatorJudge, recipient
from runners.publishing import publish_case
from store.directory import put_tree

SITES = Path(__file__).parent.parent / "sites"
MIB = 1024 * 1024
LIMITS = kinds.Limits(seconds=60, memory=1024 * MIB, cpus=2000, pids=256, workspace=64 * MIB)

SLEEPER = """
import pathlib, shutil, sys, time
shutil.copytree("/agent/site", "/workspace", dirs_exist_ok=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """Keys and state of this test session, apart from the user's."""
    place = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        yield dict(os.environ)


@pytest.fixture(scope="session")
def bench(homes, tmp_path_factory):
    """A folder with the case `plain`, the entries noop, oracle, half and nap, and a schedule for the first three."""
    folder = create(tmp_path_factory.mktemp("bench") / "bench", None)
    backend = open_backend(folder, "docker")
    judge = EvaluatorJudge(folder)
    investigation = curation.Declared(contract=SITES / "plain.contract.json")
    curation.freeze(
        folder,
        backend,
        judge,
        SITES / "plain",
        "plain",
        recipient=recipient(folder),
        title="A plain page",
        limits=LIMITS,
        declared=investigation,
    )
    curation.verify_case(folder, backend, judge, "plain", runs=1)
    publish_case(folder, "plain")
    agents = tmp_path_factory.mktemp("agent")
    (agents / "nap.py").write_text(SLEEPER)
    (agents / "site").mkdir()
    for file in (SITES / "plain").iterdir():
        (agents / "site" / file.name).write_bytes(file.read_bytes())
    files = put_tree(folder.store, agents)
    freeze_entry(folder, "noop", agent=kinds.Agent(adapter="noop", version="1", argv=[], files=None))
    freeze_entry(folder, "oracle", agent=kinds.Agent(adapter="oracle", version="1", argv=[], files=None))
    for name, seconds in (("half", "0"), ("nap", "3")):
        argv = ["python3", "/agent/nap.py", seconds]
        freeze_entry(folder, name, agent=kinds.Agent(adapter="command", version="1", argv=argv, files=files))
    freeze_split(folder, "plain", ["plain"])
    freeze_protocol(
        folder,
        "rules",
        limits=LIMITS,
        repeats=2,
        max_tries=2,
        environment=backend.environment(),
        evaluator=evaluator_digest(),
        weights={dimension: 1 for dimension in kinds.DIMENSIONS if dimension != "policy"},
    )
    freeze_schedule(folder, "all", split="plain", protocol="rules", entries=["noop", "oracle"], repeats=1)
    return folder
