"""The attacks on attempts: what an operator who wants another number writes into an otherwise honest log.

Each is one record that no gate would have admitted; see `tests.vectors.attacks` for how they are told.
"""

from __future__ import annotations

import msgspec

from ledger.records import kinds
from ledger.records.envelope import Envelope
from store.digest import Digest
from tests.unit.ledger.records.world import SIGNERS
from tests.vectors.attacks import attack, last
from tests.vectors.scenes import Scene, planned

but = msgspec.structs.replace
ELSE = Digest.of(b"another")


def again(scene: Scene, body: kinds.Body, **fields) -> None:
    """Force a record like one that is there, with some fields changed, made after the present head."""
    scene.force(but(body, **{"after": scene.head, **fields}))


def chain(attempt: str, seq: int, prev: Digest | None) -> kinds.Chain:
    return kinds.Chain(attempt=attempt, seq=seq, prev=prev)


def captured() -> tuple[Scene, object]:
    """An attempt with captures and a verdict, still open."""
    scene = planned()
    return scene, scene.story.attempt("a", "pricing", 1, close=False)


@attack("chain", "a record of an attempt has the number of one before it", "duplicate chain.seq")
def chain_number_twice():
    scene, told = captured()
    artifacts = scene.records[-3].body
    assert isinstance(artifacts, kinds.Artifacts)
    again(scene, artifacts, chain=chain(told.id, 1, told.opened.digest))
    return last(scene)


@attack("chain", "a number is missing between two records of an attempt", "missing chain.seq")
def chain_number_missing():
    scene, told = captured()
    again(scene, scene.records[-3].body, chain=chain(told.id, 4, told.captures.digest))
    return last(scene)


@attack("chain", "a record follows another one of its attempt than the last", "omission")
def chain_over_an_omitted_record():
    scene, told = captured()
    again(scene, scene.records[-3].body, chain=chain(told.id, 3, told.opened.digest))
    return last(scene)


@attack("not-opened", "an attempt begins without an opening", "attempts vanish until they succeed")
def attempt_without_an_opening():
    scene, told = captured()
    again(scene, scene.records[-3].body, chain=chain("20261130T230501Z__x__y__r01__0", 1, told.opened.digest))
    return last(scene)


@attack("duplicate-attempt", "an attempt is opened twice", "silent retries")
def attempt_opened_twice():
    scene, told = captured()
    again(scene, told.opened.body)
    return last(scene)


@attack("duplicate-attempt", "a second attempt for the same slot and try", "silent retries")
def slot_taken_twice():
    scene, told = captured()
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None))
    return last(scene)


@attack("not-scheduled", "a third repeat, where the schedule has two", "best of more than declared")
def repeat_beyond_the_schedule():
    scene, told = captured()
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), repeat=3)
    return last(scene)


@attack("retry", "a timeout is tried again", "timeouts leave the denominator")
def timeout_tried_again():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1, outcome="timeout")
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), try_=2, retry_of=told.id)
    return last(scene)


@attack("retry", "a scored attempt is tried again", "best of n")
def score_tried_again():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1)
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), try_=2, retry_of=told.id)
    return last(scene)


@attack("retry", "a captured run is called a harness failure, and tried again", "killing a run whose score is seen")
def captured_run_tried_again():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1, outcome="harness-failure", captured=True)
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), try_=2, retry_of=told.id)
    return last(scene)


@attack("retry", "more tries than the protocol allows", "extra retry")
def one_try_too_many():
    scene = planned()
    first = scene.story.attempt("a", "pricing", 1, outcome="harness-failure")
    told = scene.story.attempt("a", "pricing", 1, outcome="harness-failure", number=2, retry_of=first.id)
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), try_=3, retry_of=told.id)
    return last(scene)


@attack("closed-twice", "an attempt is closed again with another outcome", "statuses are edited")
def closed_again():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1, outcome="timeout")
    again(
        scene, told.closed.body, chain=chain(told.id, 2, told.closed.digest), outcome="harness-failure", reason="engine"
    )
    return last(scene)


@attack("closed", "artifacts that are not marked late follow the closing", "evidence grows afterwards")
def evidence_after_the_closing():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1)
    artifacts = next(record.body for record in scene.records if isinstance(record.body, kinds.Artifacts))
    again(scene, artifacts, chain=chain(told.id, 4, told.closed.digest))
    return last(scene)


@attack("captures-twice", "an attempt is captured again", "pictures are taken until they please")
def captured_again():
    scene, told = captured()
    again(scene, told.captures.body, chain=chain(told.id, 3, told.captures.digest))
    return last(scene)


@attack("plan", "captures by another probe plan than the case's", "an easier plan")
def captured_by_another_plan():
    _, told = captured()
    fresh = planned()
    fresh.story.attempt("a", "pricing", 1, outcome="timeout", close=False)
    opened = fresh.records[-1]
    fresh.force(
        but(told.captures.body, after=fresh.head, plan=ELSE, chain=chain(opened.body.chain.attempt, 1, opened.digest))
    )
    return last(fresh)


def verdict() -> tuple[Scene, kinds.Evaluation]:
    scene, told = captured()
    return scene, told.evaluation.body


@attack("other-attempt", "a verdict on the captures of one attempt is given to another", "swapped evaluation")
def verdict_on_other_captures():
    scene, first = verdict()
    other = scene.story.attempt("a", "pricing", 2, close=False)
    again(scene, first, attempt=other.id)
    return last(scene)


@attack("other-attempt", "an attempt closes with the verdict of another", "swapped evaluation; CVE-2022-36056")
def closed_with_another_verdict():
    scene = planned()
    good = scene.story.attempt("a", "pricing", 1, scores={"functional": 1_000_000})
    bad = scene.story.attempt("a", "pricing", 2, scores={"functional": 0}, close=False)
    again(scene, good.closed.body, chain=chain(bad.id, 3, bad.captures.digest), evaluation=good.evaluation.digest)
    return last(scene)


@attack("other-case", "a verdict names another case than the attempt's", "swapped evaluation")
def verdict_on_another_case():
    scene = Scene()
    scene.story.plan(["a"], ["pricing", "docs"], repeats=1)
    told = scene.story.attempt("a", "pricing", 1, close=False)
    again(scene, told.evaluation.body, case=scene.story.cases["docs"].digest)
    return last(scene)


@attack("commitment", "judged with another kit than the case committed to", "an easier kit")
def verdict_with_another_kit():
    scene, first = verdict()
    again(scene, first, commitment=ELSE)
    return last(scene)


@attack("twin", "the same evaluator gives the same captures another verdict", "regrading until it pleases")
def verdict_differs():
    scene, first = verdict()
    found = but(first.verdict, total=first.verdict.total - 1)
    scene.say(lambda base: but(first, **{**base, "verdict": found}))
    return scene.given(), f"record {len(scene.leaves) - 1}"


@attack("signature", "the total of a signed verdict is raised, and the log is signed again over it", "edited verdict")
def verdict_edited():
    scene, first = verdict()
    envelope = Envelope.parse(scene.leaves.pop())
    total = f'"total":{first.verdict.total}'.encode()
    assert envelope.payload.count(total) == 1
    payload = envelope.payload.replace(total, b'"total":999999')
    scene.force(Envelope(payload, envelope.payload_type, envelope.signatures))
    return last(scene)


@attack("role", "the runner's key signs a verdict", "the evaluator is another than the runner")
def verdict_by_the_runner():
    scene, first = verdict()
    scene.force(but(first, after=scene.head), SIGNERS["runner"])
    return last(scene)


@attack("redefined", "an entry is declared again with other contents", "rules declared after the fact")
def entry_declared_again():
    scene = planned()
    again(scene, scene.story.entries["a"].body, tool_profile="everything")
    return last(scene)


@attack("unknown-reference", "a schedule cites a protocol that is not in the log", "dangling citation")
def schedule_without_its_protocol():
    scene = planned()
    again(scene, scene.story.schedule.body, name="s2", protocol=ELSE)
    return last(scene)


@attack("unknown-reference", "a schedule cites an entry where the protocol should be", "wrong kind cited")
def schedule_with_an_entry_as_protocol():
    scene = planned()
    again(scene, scene.story.schedule.body, name="s2", protocol=scene.story.entries["a"].digest)
    return last(scene)


@attack(
    "duplicate-reference", "a split names two versions of one case, which then counts twice", "weighting by repetition"
)
def case_twice_in_a_split():
    scene = planned()
    split, case = scene.story.split.body, scene.story.cases["pricing"]
    newer = scene.say(lambda base: but(case.body, **{**base, "version": 2, "supersedes": case.digest}))
    second = kinds.CaseRef(id="pricing", version=2, record=newer.digest)
    again(scene, split, name="twice", cases=[split.cases[0], second])
    return last(scene)


@attack("unknown-reference", "a withdrawal of one attempt cites the record of another", "withdrawal of the wrong run")
def withdrawal_of_another():
    scene = planned()
    first = scene.story.attempt("a", "pricing", 1)
    second = scene.story.attempt("a", "pricing", 2)
    lifted = scene.story.withdraw("attempt", second.id, second.closed.digest)
    scene.force(
        but(
            lifted.body,
            after=scene.head,
            target=kinds.Target(kind="attempt", id=first.id, record=second.closed.digest),
        )
    )
    return last(scene)


@attack("reinstates", "a withdrawal is lifted twice", "reinstatement")
def lifted_twice():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1)
    first = scene.story.withdraw("attempt", told.id, told.closed.digest)
    lifted = scene.story.withdraw("attempt", told.id, told.closed.digest, reinstates=first.digest)
    again(scene, lifted.body, author="another")
    return last(scene)
