"""Ledgers made at random: the result artifact equals what a reader computes from the raw records by other means."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ledger.records import kinds
from ledger.release.draft import Draft
from store import canonical
from store.digest import Digest
from tests.unit.ledger.release.story import WEIGHTS, PureLog, Story
from tests.unit.ledger.release.test_results import SCHEMA

ENTRIES, CASES, REPEATS = ["a", "b"], ["docs", "home", "shop"], 2
KINDS = ["scored", "scored", "scored", "ungradeable", "timeout", "failure", "retried", "withdrawn", "reinstated"]

slots = st.fixed_dictionaries(
    {
        (entry, case, repeat): st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6), st.integers(0, 10**6))
        for entry in ENTRIES
        for case in CASES
        for repeat in range(1, REPEATS + 1)
    }
)


def tell(plan, gone, min_valid):
    log = PureLog()
    story = Story(log.say)
    story.plan(ENTRIES, CASES, repeats=REPEATS, min_valid=min_valid)
    for (entry, case, repeat), (what, visual, functional) in plan.items():
        scores = {"global_visual": visual, "functional": functional}
        if what == "retried":
            first = story.attempt(entry, case, repeat, outcome="harness-failure")
            story.attempt(entry, case, repeat, number=2, retry_of=first.id, scores=scores)
        elif what == "failure":
            story.attempt(entry, case, repeat, outcome="harness-failure")
        elif what in {"ungradeable", "timeout"}:
            story.attempt(entry, case, repeat, outcome=what)
        else:
            told = story.attempt(entry, case, repeat, scores=scores)
            if what in {"withdrawn", "reinstated"}:
                sidecar = story.withdraw("attempt", told.id, told.opened.digest)
                if what == "reinstated":
                    story.withdraw("attempt", told.id, told.opened.digest, reinstates=sidecar.digest)
    for case in gone:
        story.withdraw("case", case, story.cases[case].digest, reason="case-defect")
    return log, story


@settings(max_examples=60, deadline=None)
@given(slots, st.sets(st.sampled_from(CASES), max_size=2), st.integers(1, 2))
def test_results_equal_an_independent_recomputation(plan, gone, min_valid):
    log, story = tell(plan, gone, min_valid)
    head = kinds.Head(size=len(log.records), root=Digest.of(b"root"))
    draft = Draft.of(log.records, head, story.schedule.digest)
    assert draft.findings() == []
    results = canonical.loads(draft.results)
    jsonschema.Draft202012Validator(SCHEMA).validate(results)

    active = [case for case in CASES if case not in gone]
    for row in results["rows"]:
        totals = defaultdict(list)
        ends = Counter()
        for (entry, case, _), (what, visual, functional) in plan.items():
            if entry != row["entry"]:
                continue
            counted = what in {"scored", "retried", "reinstated"} and case not in gone
            ends["scored" if counted else "withdrawn" if case in gone else what] += 1
            if counted:
                weight = WEIGHTS["global_visual"] + WEIGHTS["functional"]
                total = Fraction(WEIGHTS["global_visual"] * visual + WEIGHTS["functional"] * functional, weight)
                totals[case].append(round(total))
        means = [np.mean(totals[case]) for case in active if len(totals[case]) >= min_valid]
        assert (row["rank"] is not None) == (len(means) == len(active) > 0)
        assert (row["score"] is None) == (not means)
        if means:
            assert math.isclose(row["score"], np.mean(means), abs_tol=0.501)
        if active:
            assert math.isclose(row["worst"], np.mean([sum(totals[case]) / REPEATS for case in active]), abs_tol=0.501)
        if len(means) > 1:
            low, high = stats.t.interval(0.95, len(means) - 1, np.mean(means), stats.sem(means) or 1e-300)
            assert math.isclose(row["interval"]["low"], low, rel_tol=1e-9, abs_tol=0.501)
            assert math.isclose(row["interval"]["high"], high, rel_tol=1e-9, abs_tol=0.501)
        else:
            assert row["interval"] is None
        assert row["scheduled"] == len(CASES) * REPEATS == sum(ends.values())
        assert row["valid"] == ends["scored"]
        excluded = row["excluded"]
        for name, what in [("timeout", "timeout"), ("ungradeable", "ungradeable"), ("harness-failure", "failure")]:
            assert math.isclose(excluded[name], 1e6 * ends[what] / row["scheduled"], abs_tol=0.501), name
        assert sum(row["counts"].values()) == row["opened"]


@settings(max_examples=15, deadline=None)
@given(slots)
def test_every_attempt_is_a_leaf_and_a_line_of_the_results_once(plan):
    log, story = tell(plan, set(), 1)
    head = kinds.Head(size=len(log.records), root=Digest.of(b"root"))
    draft = Draft.of(log.records, head, story.schedule.digest)
    listed = [item["id"] for item in canonical.loads(draft.results)["attempts"]]
    leaves = [item for item in canonical.loads(draft.leaves)["leaves"] if item["type"] == "attempt"]
    assert sorted(listed) == sorted(item["id"] for item in leaves) == sorted(told.id for told in story.told)
    assert draft.attempts == len(listed)


@pytest.mark.parametrize("drop", ["opened", "closed", "evaluation"])
def test_a_record_that_vanishes_shows(drop):
    log, story = tell({("a", "docs", 1): ("scored", 1, 2)}, set(), 1)
    gone = getattr(story.told[0], drop)
    kept = [record for record in log.records if record is not gone]
    head = kinds.Head(size=len(log.records), root=Digest.of(b"root"))
    found = {finding.rule for finding in Draft.of(kept, head, story.schedule.digest).findings()}
    assert found & {"open", "unopened", "verdict"}
