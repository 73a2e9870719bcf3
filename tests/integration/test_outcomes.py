"""Each outcome from a real attempt, with its reason, its retries and its place in a release's denominators."""

from __future__ import annotations

import json

import pytest

from ledger.declarations import freeze_entry, freeze_protocol, freeze_schedule, withdraw_attempt
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.release.freeze import freeze
from ledger.release.verify import verify
from rbl.runs import plan_run, run_all
from rbl.workspace import open_backend
from store.directory import put_tree

pytestmark = pytest.mark.docker

SCRIPTS = {
    # entry: what it runs
    "honest": "cp /agent/site/* /workspace/",
    "crashes": "cp /agent/site/* /workspace/; echo '5 passed'; exit 3",
    "empty": "rm -rf /workspace/* ",
    "sleeper": "trap '' TERM; cp /agent/site/* /workspace/; sleep 600 & wait; sleep 600",
}


@pytest.fixture(scope="module")
def outcomes(bench, tmp_path_factory):
    """A schedule of every sort of entry, worked off; its rows by entry."""
    place = tmp_path_factory.mktemp("outcomes")
    (place / "site").mkdir()
    page = (bench.cases / "plain" / "evidence").iterdir()
    assert next(page).suffix == ".png"
    (place / "site" / "index.html").write_text("<!doctype html><title>x</title><h1>Tea by the pot</h1>")
    files = put_tree(bench.store, place)
    for name, script in SCRIPTS.items():
        argv = ["sh", "-c", script]
        freeze_entry(bench, name, agent=kinds.Agent(adapter="command", version="1", argv=argv, files=files))
    missing = kinds.Agent(adapter="command", version="1", argv=["no-such-program"], files=None)
    freeze_entry(bench, "absent", agent=missing)
    rules = Ledger.open(bench).protocol("rules").body
    freeze_protocol(
        bench,
        "short",
        limits=kinds.Limits(seconds=8, memory=1 << 30, cpus=2000, pids=256, workspace=64 << 20),
        repeats=1,
        max_tries=2,
        environment=rules.environment,
        evaluator=rules.evaluator,
        weights=rules.weights,
    )
    entries = [*SCRIPTS, "absent"]
    freeze_schedule(bench, "outcomes", split="plain", protocol="short", entries=entries)
    backend = open_backend(bench, "docker")
    planned = plan_run(bench, backend, schedule="outcomes", entry=None, case=None, repeats=1)
    rows = run_all(bench, backend, planned, workers=2, say=lambda _: None)
    assert planned.exhausted(rows)
    return rows


def of(rows, entry):
    return [row for row in rows if row["entry"] == entry]


def test_work_that_can_be_graded_is_scored_whatever_its_exit_code(outcomes, bench):
    [honest], [crashes] = of(outcomes, "honest"), of(outcomes, "crashes")
    assert (honest["outcome"], crashes["outcome"]) == ("scored", "scored")
    assert honest["score"] == crashes["score"] > 0
    assert Ledger.open(bench).attempt(crashes["id"]).closed.body.notes == ["exit-nonzero"]


def test_nothing_handed_in_is_ungradeable(outcomes):
    [row] = of(outcomes, "empty")
    assert (row["outcome"], row["score"]) == ("ungradeable", None)


def test_the_deadline_is_a_timeout_though_the_work_was_there_and_term_was_ignored(outcomes):
    [row] = of(outcomes, "sleeper")
    assert (row["outcome"], row["reason"], row["try"]) == ("timeout", "wall-clock", 1)


def test_an_agent_that_cannot_be_started_is_the_harness_s_failure_and_retried_as_often_as_allowed(outcomes, bench):
    rows = of(outcomes, "absent")
    assert [(row["outcome"], row["reason"], row["try"]) for row in rows] == [
        ("harness-failure", "preflight", 1),
        ("harness-failure", "preflight", 2),
    ]
    assert Ledger.open(bench).attempt(rows[1]["id"]).opened.body.retry_of == rows[0]["id"]


def test_running_again_makes_nothing_that_is_there(outcomes, bench):
    backend = open_backend(bench, "docker")
    assert plan_run(bench, backend, schedule="outcomes", entry=None, case=None, repeats=1).slots == []


def test_a_release_prints_each_in_its_bucket_and_verifies_after_a_withdrawal(outcomes, bench):
    freeze(bench, "before", "outcomes")
    [honest] = of(outcomes, "honest")
    withdraw_attempt(bench, honest["id"], reason="leak", detail="a key in the log", author="a reviewer")
    freeze(bench, "after", "outcomes")
    rows = {}
    for name in ("before", "after"):
        found = verify(bench, name)
        assert found.ok, found.findings
        results = json.loads(bench.store.get(Ledger.open(bench).release(name).body.results))
        rows[name] = {row["entry"]: row for row in results["rows"]}
    counts = {entry: row["counts"] for entry, row in rows["before"].items()}
    assert counts["honest"]["scored"] == counts["crashes"]["scored"] == 1
    assert counts["empty"]["ungradeable"] == counts["sleeper"]["timeout"] == 1
    assert sum(number for name, number in counts["absent"].items() if name.startswith("harness-failure")) == 2
    assert rows["after"]["honest"]["counts"]["withdrawn"] == 1
    assert rows["after"]["honest"]["score"] is None
    assert rows["after"]["honest"]["before_withdrawals"] == rows["before"]["honest"]["score"]
