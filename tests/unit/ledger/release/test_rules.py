"""What may not happen in a release: one test a rule, each a small story with one thing wrong."""

from __future__ import annotations

import msgspec
import pytest

from ledger.records import kinds
from ledger.release.declared import declared, limits_for, total_of
from ledger.release.retries import retries, withdrawals
from store.digest import Digest
from tests.unit.ledger.release.story import LIMITS, PureLog, Story, environment, scope_of

ELSE = Digest.of(b"something else")


@pytest.fixture
def log():
    return PureLog()


@pytest.fixture
def story(log):
    told = Story(log.say)
    told.plan(["a"], ["pricing"], repeats=1, max_tries=3)
    return told


def found(log, story):
    cut, scope = log.cut(), scope_of(log, story)
    return [*declared(cut, scope), *retries(cut, scope), *withdrawals(cut, scope)]


def rules(log, story):
    return {finding.rule for finding in found(log, story)}


def test_a_clean_ledger_has_no_findings(log, story):
    first = story.attempt("a", "pricing", 1, outcome="harness-failure")
    second = story.attempt(
        "a", "pricing", 1, outcome="harness-failure", captured=True, failed=True, number=2, retry_of=first.id
    )
    third = story.attempt("a", "pricing", 1, number=3, retry_of=second.id)
    sidecar = story.withdraw("attempt", third.id, third.opened.digest)
    story.withdraw("attempt", third.id, third.opened.digest, reinstates=sidecar.digest)
    assert found(log, story) == []


def test_rules_declared_after_the_opening_are_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(told.opened, after=kinds.Head(size=story.schedule.index, root=ELSE))
    assert rules(log, story) == {"order"}


def test_artifacts_made_before_the_opening_was_public_are_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(log.records[told.opened.index + 1], after=kinds.Head(size=told.opened.index, root=ELSE))
    assert rules(log, story) == {"order"}


def test_a_verdict_made_before_the_captures_were_public_is_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(told.evaluation, after=kinds.Head(size=told.captures.index, root=ELSE))
    assert rules(log, story) == {"order"}


def test_an_attempt_made_on_the_host_may_not_count(log, story):
    story.attempt("a", "pricing", 1, backend="native")
    assert rules(log, story) == {"container", "environment"}


@pytest.mark.parametrize("record", ["opened", "captures"])
def test_another_image_than_the_protocols_refuses_to_merge(log, story, record):
    told = story.attempt("a", "pricing", 1)
    log.change(getattr(told, record), environment=environment(image=b"another image"))
    (finding,) = found(log, story)
    assert (finding.rule, finding.where) == ("environment", told.id)
    assert "image" in finding.what


def test_a_reference_captured_elsewhere_is_noticed(log, story):
    story.attempt("a", "pricing", 1)
    log.change(story.cases["pricing"], environment=environment(image=b"another image"))
    assert rules(log, story) == {"environment"}


@pytest.mark.parametrize("change", [{"plan": ELSE}, {"build": ELSE}])
def test_another_probe_plan_or_build_is_noticed(log, story, change):
    told = story.attempt("a", "pricing", 1)
    log.change(told.captures, **change)
    assert "environment" in rules(log, story)


def test_more_time_than_allowed_is_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(told.opened, limits=msgspec.structs.replace(LIMITS, seconds=61))
    (finding,) = found(log, story)
    assert "seconds" in finding.what


def test_limits_are_the_smallest_of_case_protocol_and_entry(story):
    case, protocol, entry = story.cases["pricing"].body, story.protocol.body, story.entries["a"].body
    small = msgspec.structs.replace(LIMITS, pids=7)
    assert limits_for(case, protocol, msgspec.structs.replace(entry, limits=small)) == small
    assert limits_for(msgspec.structs.replace(case, limits=small), protocol, entry) == small


def test_an_attempt_in_no_slot_is_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    for change in (
        {"repeat": 2},
        {"entry": kinds.Ref(id="z", record=ELSE)},
        {"entry": kinds.Ref(id="a", record=ELSE)},
        {"case": kinds.CaseRef(id="pricing", version=2, record=told.opened.body.case.record)},
    ):
        log.change(told.opened, **change)
        assert "schedule" in rules(log, story)


def test_more_repeats_than_the_protocol_has_are_noticed(log, story):
    story.attempt("a", "pricing", 1)
    log.change(story.protocol, repeats=0)
    assert "schedule" in rules(log, story)


def test_a_score_under_another_evaluator_is_noticed(log, story):
    story.attempt("a", "pricing", 1, evaluator=ELSE)
    (finding,) = found(log, story)
    assert finding.rule == "verdict"
    assert ELSE.short in finding.what


def test_a_closing_that_rests_on_another_verdict_is_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(told.closed, evaluation=ELSE)
    assert rules(log, story) == {"verdict"}


def test_a_differing_twin_is_noticed_and_an_equal_one_is_not(log, story):
    told = story.attempt("a", "pricing", 1, scores={"functional": 1})
    story.evaluate(told, story.cases["pricing"], {"functional": 1})
    assert found(log, story) == []
    story.evaluate(told, story.cases["pricing"], {"functional": 2})
    assert rules(log, story) == {"verdict"}


@pytest.mark.parametrize(
    "change",
    [
        {"total": 500_001},
        {"gate": 1},
        {"weights": {"global_visual": 1, "functional": 2}},
        {"dimensions": {"functional": kinds.Tally(score=500_000, passed=1, total=2)}},
        {"inputs": []},
    ],
    ids=["total", "gate", "weights", "dimensions", "inputs"],
)
def test_a_verdict_that_contradicts_itself_is_noticed(log, story, change):
    told = story.attempt("a", "pricing", 1)
    log.change(told.evaluation, verdict=msgspec.structs.replace(told.evaluation.body.verdict, **change))
    assert rules(log, story) == {"verdict"}


@pytest.mark.parametrize("change", [{"case": ELSE}, {"commitment": ELSE}])
def test_a_verdict_on_another_kit_is_noticed(log, story, change):
    told = story.attempt("a", "pricing", 1)
    log.change(told.evaluation, **change)
    assert rules(log, story) == {"verdict"}


def test_a_closing_may_not_say_withdrawn(log, story):
    told = story.attempt("a", "pricing", 1, outcome="timeout")
    log.change(told.closed, outcome="withdrawn")
    assert rules(log, story) == {"verdict"}


def test_the_gate_closes_the_total():
    verdict = kinds.Verdict(
        dimensions={
            "functional": kinds.Tally(score=1, passed=1, total=1),
            "global_visual": kinds.Tally(score=2, passed=1, total=1),
            "policy": kinds.Tally(score=0, passed=1, total=1),
        },
        weights={"functional": 1, "global_visual": 1, "policy": 5},
        gate=kinds.FULL,
        total=2,
        inputs=[],
        detail=ELSE,
    )
    assert total_of(verdict) == 2  # 3/2, half to even
    assert total_of(msgspec.structs.replace(verdict, gate=0)) == 0


@pytest.mark.parametrize("outcome", ["scored", "timeout", "ungradeable"])
def test_what_is_no_harness_failure_may_not_be_tried_again(log, story, outcome):
    first = story.attempt("a", "pricing", 1, outcome=outcome)
    story.attempt("a", "pricing", 1, number=2, retry_of=first.id)
    assert rules(log, story) == {"retry"}


def test_a_retry_needs_the_last_try_closed(log, story):
    first = story.attempt("a", "pricing", 1, outcome="harness-failure", close=False)
    story.attempt("a", "pricing", 1, number=2, retry_of=first.id)
    assert rules(log, story) == {"retry", "open"}


def test_a_retry_names_the_try_before_it(log, story):
    story.attempt("a", "pricing", 1, outcome="harness-failure")
    story.attempt("a", "pricing", 1, number=2, retry_of=None)
    assert rules(log, story) == {"retry"}


def test_a_slot_is_not_run_twice_without_a_retry(log, story):
    story.attempt("a", "pricing", 1)
    story.attempt("a", "pricing", 1)
    assert rules(log, story) == {"retry"}


def test_a_first_try_that_says_it_is_a_second_is_noticed(log, story):
    story.attempt("a", "pricing", 1, number=2, retry_of="…")
    assert rules(log, story) == {"retry"}


def test_more_tries_than_the_protocol_allows_are_noticed(log, story):
    last = None
    for number in range(1, 5):
        last = story.attempt("a", "pricing", 1, outcome="harness-failure", number=number, retry_of=last and last.id)
    (finding,) = found(log, story)
    assert "4 tries, the protocol allows 3" in finding.what


def test_a_run_that_was_captured_may_not_be_dropped(log, story):
    first = story.attempt("a", "pricing", 1, outcome="harness-failure", captured=True)
    assert rules(log, story) == {"retry"}
    story.attempt("a", "pricing", 1, number=2, retry_of=first.id)
    assert len(found(log, story)) == 2


def test_an_evaluators_failure_under_another_digest_excuses_nothing(log, story):
    story.attempt("a", "pricing", 1, outcome="harness-failure", captured=True, failed=True, evaluator=ELSE)
    assert rules(log, story) == {"retry"}


def test_a_score_may_not_be_dropped_as_a_harness_failure(log, story):
    told = story.attempt("a", "pricing", 1)
    log.change(told.closed, outcome="harness-failure", evaluation=None)
    (finding,) = found(log, story)
    assert "a verdict exists" in finding.what


def test_a_withdrawn_failure_needs_no_excuse(log, story):
    told = story.attempt("a", "pricing", 1, outcome="harness-failure", captured=True)
    story.withdraw("attempt", told.id, told.closed.digest)
    assert found(log, story) == []


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "because"},
        {"author": " "},
        {"reason": "digest-mismatch"},
        {"reason": "digest-mismatch", "expected": ELSE, "observed": ELSE},
    ],
    ids=["reason", "author", "no digests", "equal digests"],
)
def test_a_withdrawal_without_grounds_is_noticed(log, story, change):
    told = story.attempt("a", "pricing", 1)
    story.withdraw("attempt", told.id, told.closed.digest, **change)
    assert rules(log, story) == {"withdrawal"}


def test_a_mismatch_with_its_two_digests_holds(log, story):
    told = story.attempt("a", "pricing", 1)
    story.withdraw(
        "attempt", told.id, told.closed.digest, reason="digest-mismatch", expected=ELSE, observed=Digest.of(b"")
    )
    assert found(log, story) == []


def test_a_withdrawal_with_a_foreign_record_is_noticed(log, story):
    told = story.attempt("a", "pricing", 1)
    story.withdraw("attempt", told.id, ELSE)
    assert rules(log, story) == {"withdrawal"}


def test_a_reinstatement_needs_a_standing_withdrawal(log, story):
    told = story.attempt("a", "pricing", 1)
    story.withdraw("attempt", told.id, told.closed.digest, reinstates=ELSE)
    assert rules(log, story) == {"withdrawal"}


def test_a_withdrawal_is_lifted_once(log, story):
    told = story.attempt("a", "pricing", 1)
    first = story.withdraw("attempt", told.id, told.closed.digest)
    story.withdraw("attempt", told.id, told.closed.digest, reinstates=first.digest)
    story.withdraw("attempt", told.id, told.closed.digest, reinstates=first.digest)
    assert rules(log, story) == {"withdrawal"}
