"""What is said once attempts are made: who may say it, what it must cite, and what may not follow it."""

from __future__ import annotations

import msgspec
import pytest

from ledger.records import kinds
from ledger.records.keys import Signer
from store.digest import Digest
from tests.unit.ledger.records.sequel import ballot, calibration, erasure, preferences, reveal
from tests.unit.ledger.records.world import SIGNERS, World
from tests.unit.ledger.release.story import COMMITMENT, ORIGIN, Story

ELSE = Digest.of(b"something else")
but = msgspec.structs.replace


@pytest.fixture
def world():
    return World()


@pytest.fixture
def story(world):
    told = Story(world.say)
    told.plan(["a", "b"], ["c", "d"], repeats=2, max_tries=3)
    return told


@pytest.fixture
def ballots(world, story):
    """Two attempts on one case, and a batch that compares them."""
    one, other = story.attempt("a", "c", 1), story.attempt("b", "c", 1)
    return one, other, world.say(lambda base: preferences(base, ballot(one.captures, other.captures)))


def test_a_reveal_is_the_committed_kit_of_a_case_that_is_there_once(world, story):
    body = reveal(world.base, story.cases["c"])
    world.refuses("commitment", but(body, kit=ELSE))
    world.refuses("unknown-reference", but(body, case=but(body.case, record=ELSE)))
    world.refuses("unknown-reference", but(body, case=but(body.case, version=2)))
    world.refuses("unknown-reference", but(body, case=but(body.case, record=story.split.digest)))
    world.admit(world.sign(body))
    world.refuses("redefined", reveal(world.base, story.cases["c"], detail="again"))


def test_nothing_is_revealed_while_an_attempt_could_read_it(world, story):
    told = story.attempt("a", "d", 1, outcome="timeout", close=False)
    refused = world.refuses("revealed", reveal(world.base, story.cases["c"]))  # the same kit as that of d
    assert told.id in str(refused)
    chain = kinds.Chain(attempt=told.id, seq=1, prev=told.opened.digest)
    world.say(
        lambda base: kinds.AttemptClosed(
            **base,
            chain=chain,
            outcome="timeout",
            reason="wall-clock",
            detail="",
            last_step="",
            notes=[],
            evaluation=None,
            milliseconds=1,
            events=None,
        )
    )
    assert world.say(lambda base: reveal(base, story.cases["c"]))


def test_no_formal_attempt_is_opened_on_a_revealed_kit(world, story):
    before = story.attempt("a", "c", 1, outcome="harness-failure")
    world.say(lambda base: reveal(base, story.cases["c"]))

    def again(**fields):
        chain = kinds.Chain(attempt="new", seq=0, prev=None)
        return but(before.opened.body, **{"after": world.head, "chain": chain, "repeat": 2, **fields})

    world.refuses("revealed", again())
    world.refuses("revealed", again(repeat=1, try_=2, retry_of=before.id))  # nor is an old one tried again
    ref = kinds.CaseRef(id="d", version=1, record=story.cases["d"].digest)
    world.refuses("revealed", again(case=ref))  # another case with the same kit
    assert world.admit(world.sign(again(purpose="diagnostic", schedule=None)))


def test_an_erasure_cites_a_record_that_is_there_and_each_object_once(world, story):
    case = story.cases["c"]
    body = erasure(world.base, case, case.body.package)
    world.refuses("unknown-reference", but(body, record=ELSE))
    with pytest.raises(Exception, match="/objects"):
        world.sign(but(body, objects=[ELSE, ELSE]))
    assert world.admit(world.sign(body))
    assert world.admit(world.sign(but(body, detail="it came back")))  # the same bytes may be taken in again


def test_a_ballot_compares_two_pages_of_one_case_once(world, story, ballots):
    one, other, batch = ballots
    foreign = story.attempt("a", "d", 1)
    sound = batch.body.ballots[0]

    def refused(rule, *given):
        world.refuses(rule, preferences(world.base, *given))

    refused("unknown-reference", but(sound, left=ELSE))
    refused("unknown-reference", but(sound, right=other.evaluation.digest))
    refused("duplicate-reference", ballot(one.captures, one.captures))
    refused("duplicate-reference", sound, sound)
    refused("duplicate-reference", sound, ballot(other.captures, one.captures))
    refused("other-case", ballot(one.captures, foreign.captures))
    world.say(lambda base: preferences(base, sound, but(sound, shot="home.phone.initial")))


def test_a_calibration_counts_the_ballots_that_it_cites(world, ballots):
    *_, batch = ballots
    body = calibration(world.base, batch)
    world.refuses("ballots", but(body, ballots=2))
    world.refuses("unknown-reference", but(body, preferences=[ELSE]))
    world.refuses("unknown-reference", but(body, preferences=[world.records[1].digest]))
    world.admit(world.sign(body))
    world.refuses("redefined", calibration(world.base, batch, report=ELSE))


@pytest.mark.parametrize("wrong", ["root", "curator", "runner", "log", "witness"])
def test_nobody_else_may_say_them(world, story, ballots, wrong):
    *_, batch = ballots
    signer: Signer = SIGNERS[wrong]
    for body in (
        reveal(world.base, story.cases["c"]),
        erasure(world.base, story.cases["c"], ELSE),
        but(batch.body, after=world.head),
        calibration(world.base, batch),
    ):
        world.refuses("role", body, signer)


def test_each_is_bound_to_its_ledger_and_announces_what_it_brings(world, story, ballots):
    *_, batch = ballots
    other = {**world.base, "ledger": f"{ORIGIN}/other"}
    world.refuses("origin", reveal(other, story.cases["c"]))
    world.refuses("origin", preferences(other, *batch.body.ballots))
    from ledger.records.statement import subjects_of

    assert [item.digest for item in subjects_of(reveal(world.base, story.cases["c"]))] == [COMMITMENT]
    assert [item.name for item in subjects_of(calibration(world.base, batch))] == ["report"]
