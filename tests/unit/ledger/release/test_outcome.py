"""Each scheduled attempt ends in exactly one bucket, and what is missing shows."""

from __future__ import annotations

import pytest

from ledger.release.cutoff import Cut, Scope
from ledger.release.outcome import BUCKETS, gaps, scheduled, standings, withdrawn
from store.digest import Digest
from store.errors import CheckFailed
from tests.unit.ledger.release.story import PureLog, Story, scope_of


@pytest.fixture
def log():
    return PureLog()


@pytest.fixture
def story(log):
    told = Story(log.say)
    told.plan(["a", "b"], ["pricing", "docs"], repeats=2)
    return told


def buckets(log, story):
    return {standing.attempt.id: standing.bucket for standing in standings(log.cut(), scope_of(log, story))}


@pytest.mark.parametrize(
    ("outcome", "bucket"),
    [
        ("scored", "scored"),
        ("ungradeable", "ungradeable"),
        ("timeout", "timeout"),
        ("harness-failure", "harness-failure-exhausted"),
    ],
)
def test_a_closing_decides_the_bucket(log, story, outcome, bucket):
    told = story.attempt("a", "pricing", 1, outcome=outcome)
    assert buckets(log, story) == {told.id: bucket}


def test_a_retried_failure_is_told_from_an_exhausted_one(log, story):
    first = story.attempt("a", "pricing", 1, outcome="harness-failure")
    second = story.attempt("a", "pricing", 1, outcome="harness-failure", number=2, retry_of=first.id)
    assert buckets(log, story) == {first.id: "harness-failure-retried", second.id: "harness-failure-exhausted"}


def test_a_withdrawal_overrides_and_keeps_what_was_closed(log, story):
    told = story.attempt("a", "pricing", 1)
    sidecar = story.withdraw("attempt", told.id, told.closed.digest, reason="leak")
    (standing,) = standings(log.cut(), scope_of(log, story))
    assert (standing.bucket, standing.reason, standing.closing) == ("withdrawn", "leak", "scored")
    assert (standing.total, standing.total_before_withdrawal) == (None, 500_000)
    assert standing.withdrawal == sidecar


def test_a_reinstatement_lifts_the_withdrawal_it_names(log, story):
    told = story.attempt("a", "pricing", 1)
    first = story.withdraw("attempt", told.id, told.closed.digest)
    story.withdraw("attempt", told.id, told.closed.digest, reinstates=first.digest)
    assert buckets(log, story) == {told.id: "scored"}
    story.withdraw("attempt", told.id, told.closed.digest)
    assert buckets(log, story) == {told.id: "withdrawn"}


def test_one_reinstatement_does_not_lift_two_withdrawals(log, story):
    told = story.attempt("a", "pricing", 1)
    first = story.withdraw("attempt", told.id, told.closed.digest)
    second = story.withdraw("attempt", told.id, told.closed.digest, reason="other")
    story.withdraw("attempt", told.id, told.closed.digest, reinstates=first.digest)
    assert withdrawn(log.cut().withdrawals) == {("attempt", told.id): second}


def test_a_reinstatement_of_something_else_lifts_nothing(log, story):
    told, other = story.attempt("a", "pricing", 1), story.attempt("b", "pricing", 1)
    first = story.withdraw("attempt", told.id, told.closed.digest)
    story.withdraw("attempt", other.id, other.closed.digest, reinstates=first.digest)
    assert buckets(log, story)[told.id] == "withdrawn"


def test_withdrawing_a_case_withdraws_its_attempts(log, story):
    told, other = story.attempt("a", "pricing", 1), story.attempt("a", "docs", 1)
    story.withdraw("case", "pricing", story.cases["pricing"].digest, reason="case-defect")
    assert buckets(log, story) == {told.id: "withdrawn", other.id: "scored"}


def test_nothing_after_the_cutoff_is_seen(log, story):
    told = story.attempt("a", "pricing", 1)
    size = len(log.records)
    story.withdraw("attempt", told.id, told.closed.digest)
    early = Cut.of(log.records, size)
    (standing,) = standings(early, Scope.of(early, story.schedule.digest))
    assert standing.bucket == "scored"


def test_the_first_evaluation_under_the_protocols_evaluator_counts(log, story):
    told = story.attempt("a", "pricing", 1, scores={"functional": 100_000, "global_visual": 100_000})
    other = story.evaluate(told, story.cases["pricing"], {}, evaluator=Digest.of(b"another"))
    twin = story.evaluate(told, story.cases["pricing"], {"functional": 900_000})
    (standing,) = standings(log.cut(), scope_of(log, story))
    assert standing.verdict == told.evaluation
    assert standing.verdict.digest not in {other.digest, twin.digest}


def test_a_second_closing_does_not_count(log, story):
    told = story.attempt("a", "pricing", 1, outcome="timeout")
    first = told.closed
    log.say(
        lambda base: type(first.body)(
            **{name: getattr(first.body, name) for name in first.body.__struct_fields__ if name not in base}
            | base
            | {"outcome": "ungradeable"}
        )
    )
    assert buckets(log, story) == {told.id: "timeout"}


def test_slots_never_opened_and_attempts_never_closed_are_findings(log, story):
    told = story.attempt("a", "pricing", 1, close=False)
    story.attempt("a", "pricing", 2)
    found = gaps(log.cut(), scope_of(log, story))
    assert [finding.where for finding in found if finding.rule == "open"] == [told.id]
    assert len([finding for finding in found if finding.rule == "unopened"]) == 8 - 2
    assert "b × docs × 2" in [finding.where for finding in found]


def test_every_slot_is_scheduled_once(log, story):
    slots = scheduled(scope_of(log, story))
    assert len(slots) == len(set(slots)) == 8


def test_diagnostic_and_foreign_attempts_are_beside_the_schedule(log, story):
    story.attempt("a", "pricing", 1, purpose="diagnostic", backend="native")
    story.attempt("a", "pricing", 1, scheduled=False)
    scope = scope_of(log, story)
    assert standings(log.cut(), scope) == []
    assert len(scope.outside(log.cut())) == 2


def test_every_bucket_has_a_place_in_the_tables():
    assert len(BUCKETS) == len(set(BUCKETS)) == 6


def test_a_schedule_that_names_a_later_record_is_refused(log, story):
    with pytest.raises(CheckFailed, match="no schedule record"):
        Scope.of(Cut.of(log.records, story.schedule.index), story.schedule.digest)
