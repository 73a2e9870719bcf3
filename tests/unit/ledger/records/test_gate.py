"""Admission: for each rule a record that breaks it and nothing else; a refusal changes nothing."""

from __future__ import annotations

import msgspec
import pytest

from ledger.log import merkle
from ledger.records import kinds
from ledger.records.envelope import Envelope, sign
from ledger.records.examined import examine
from ledger.records.gate import Gate
from ledger.records.statement import Statement
from store import canonical
from store.digest import Digest
from store.errors import RecordRejected
from tests.unit.ledger.records.world import ROLE_OF, SIGNERS, World, trust_root
from tests.unit.ledger.release.story import COMMITMENT, EVALUATOR, LIMITS, ORIGIN, Story, environment

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


# ------------------------------------------------------------------------------------------ bodies that would pass


def opening(world, story, **fields):
    body = kinds.AttemptOpened(
        **world.base,
        chain=kinds.Chain(attempt="new", seq=0, prev=None),
        schedule=story.schedule.digest,
        entry=kinds.Ref(id="a", record=story.entries["a"].digest),
        case=kinds.CaseRef(id="c", version=1, record=story.cases["c"].digest),
        repeat=1,
        try_=1,
        retry_of=None,
        purpose="formal",
        backend="docker",
        limits=LIMITS,
        environment=environment(),
        harness="rbl 0.1.0",
    )
    return but(body, **fields)


def follow(record, seq=None):
    chain = record.body.chain
    return kinds.Chain(attempt=chain.attempt, seq=chain.seq + 1 if seq is None else seq, prev=record.digest)


def artifacts(world, chain, *classes):
    items = [
        kinds.Artifact(name=f"{number}", class_=class_, media_type="text/plain", digest=ELSE, size=1)
        for number, class_ in enumerate(classes)
    ]
    return kinds.Artifacts(**world.base, chain=chain, workspace=None, build=None, items=items)


def captures(world, story, chain, **fields):
    body = kinds.Captures(
        **world.base,
        chain=chain,
        build=ELSE,
        plan=story.cases["c"].body.plan,
        environment=environment(),
        shots=[kinds.Shot(id="home.desktop.initial", tree=ELSE, error=None)],
        sweep=ELSE,
    )
    return but(body, **fields)


def closing(world, chain, outcome="timeout", **fields):
    reason = {"scored": "ok", "timeout": "wall-clock", "harness-failure": "engine"}[outcome]
    body = kinds.AttemptClosed(
        **world.base,
        chain=chain,
        outcome=outcome,
        reason=reason,
        detail="",
        last_step="",
        notes=[],
        evaluation=None,
        milliseconds=1,
        events=None,
    )
    return but(body, **fields)


def evaluation(world, attempt, case, captured, **fields):
    verdict = kinds.Verdict(
        dimensions={"functional": kinds.Tally(score=1, passed=1, total=1)},
        weights={"functional": 1},
        gate=kinds.FULL,
        total=1,
        inputs=[ELSE],
        detail=ELSE,
    )
    body = kinds.Evaluation(
        **world.base,
        attempt=attempt,
        case=case,
        captures=captured,
        evaluator=EVALUATOR,
        commitment=COMMITMENT,
        verdict=verdict,
        detail=ELSE,
        separation="process",
    )
    return but(body, **fields)


def failure(world, attempt, case, captured):
    return kinds.EvaluationFailed(
        **world.base,
        attempt=attempt,
        case=case,
        captures=captured,
        evaluator=EVALUATOR,
        reason="evaluator",
        detail="",
    )


# ------------------------------------------------------------------------------------------------- the whole record


def test_a_whole_story_is_admitted(world, story):
    story.attempt("a", "c", 1)
    lost = story.attempt("a", "c", 2, outcome="harness-failure")
    story.attempt("a", "c", 2, number=2, retry_of=lost.id, outcome="timeout")
    gone = story.attempt("b", "c", 1, outcome="ungradeable", reason="build-failed")
    first = story.withdraw("attempt", gone.id, gone.closed.digest)
    story.withdraw("attempt", gone.id, gone.closed.digest, reinstates=first.digest)
    assert [record.index for record in world.records] == list(range(len(world.leaves)))
    assert {record.role for record in world.records} == {ROLE_OF[record.kind] for record in world.records}
    for record, leaf in zip(world.records, world.leaves, strict=True):
        assert record.digest == Digest.of(leaf)
        assert world.gate.known(record.payload_digest) == record.index


def test_the_two_ways_of_admission_give_the_same(world, story):
    story.attempt("a", "c", 1)
    public = {signer.keyid: signer.public for signer in SIGNERS.values()}
    other = Gate(ORIGIN, world.root_at)
    records = []
    for index, leaf in enumerate(world.leaves):
        found = examine(leaf, public)
        assert (found is None) == (index == 0), "trust roots are looked at whole"
        record = other.admit(Envelope.parse(leaf), index) if found is None else other.admit_examined(found, index)
        records.append(record)
    assert records == world.records


def test_what_is_not_in_order_is_not_examined(world, story):
    public = {signer.keyid: signer.public for signer in SIGNERS.values()}
    leaf = world.leaves[1]
    assert examine(leaf, public)
    assert examine(leaf, {}) is None
    assert examine(leaf[:-1], public) is None
    envelope = Envelope.parse(leaf)
    assert examine(sign(b"{}", [SIGNERS["curator"]]).format(), public) is None
    assert (
        examine(Envelope(envelope.payload + b" ", envelope.payload_type, envelope.signatures).format(), public) is None
    )
    forged = sign(envelope.payload, [SIGNERS["runner"]]).signatures
    hinted = tuple(type(item)(SIGNERS["curator"].keyid, item.sig) for item in forged)
    assert examine(Envelope(envelope.payload, envelope.payload_type, hinted).format(), public) is None


@pytest.mark.parametrize("signers", [["runner"], ["nobody"], ["release-manager", "runner"], ["release-manager"] * 2])
def test_examined_signatures_are_still_judged_by_role(world, story, signers):
    body = Statement.of(but(story.entries["a"].body, id="new"))
    found = examine(
        sign(body.format(), [SIGNERS["release-manager"]]).format(),
        {SIGNERS["release-manager"].keyid: SIGNERS["release-manager"].public},
    )
    keyids = tuple(SIGNERS[name].keyid if name in SIGNERS else "0" * 64 for name in signers)
    with pytest.raises(RecordRejected) as caught:
        world.gate.admit_examined(but(found, keyids=keyids), world.gate.size)
    assert caught.value.rule in {"role", "unknown-key", "one-signature"}


def test_a_record_has_one_place(world, story):
    envelope = world.sign(opening(world, story))
    for index in (0, world.gate.size - 1, world.gate.size + 1):
        with pytest.raises(RecordRejected) as caught:
            world.gate.admit(envelope, index)
        assert caught.value.rule == "order"


def test_a_payload_is_admitted_once(world, story):
    leaf = world.leaves[-1]
    assert world.refuses("duplicate", Envelope.parse(leaf)).where == f"record {world.gate.size}"


def test_a_record_of_another_ledger_is_refused(world, story):
    world.refuses("origin", opening(world, story, ledger="example.org/other"))


def test_a_record_of_an_unknown_kind_is_refused(world):
    value = {
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": {},
        "predicateType": "urn:rbl:gossip:v1",
        "subject": [],
    }
    world.refuses("kind", sign(canonical.dumps(value), [SIGNERS["curator"]]))


def test_a_record_outside_its_schema_is_refused(world, story):
    value = msgspec.json.decode(world.sign(opening(world, story)).payload)
    value["predicate"]["repeat"] = 0
    world.refuses("schema", sign(canonical.dumps(value), [SIGNERS["runner"]]))


def test_a_record_that_is_not_canonical_is_refused(world, story):
    payload = world.sign(opening(world, story)).payload
    world.refuses("canonical", sign(payload.replace(b'"repeat":1', b'"repeat": 1'), [SIGNERS["runner"]]))


def test_a_record_with_another_subject_is_refused(world, story):
    value = msgspec.json.decode(world.sign(opening(world, story)).payload)
    value["subject"][0]["digest"]["sha256"] = "0" * 64
    world.refuses("subject", sign(canonical.dumps(value), [SIGNERS["runner"]]))


def test_after_is_a_head_that_the_log_really_had(world, story):
    size = world.gate.size
    for head in (
        kinds.Head(size=size, root=ELSE),
        kinds.Head(size=size + 1, root=ELSE),
        kinds.Head(size=size - 1, root=world.root_at(size)),
        kinds.Head(size=0, root=Digest.from_raw(merkle.EMPTY_ROOT)),
    ):
        world.refuses("after", opening(world, story, after=head))
    assert world.admit(world.sign(opening(world, story, after=kinds.Head(size=1, root=world.root_at(1)))))


# ------------------------------------------------------------------------------------------------- declarations


@pytest.mark.parametrize("name", ["case", "split", "protocol", "schedule", "entry"])
def test_a_name_stands_for_one_content(world, story, name):
    record = {"case": story.cases["c"], "entry": story.entries["a"]}.get(name) or getattr(story, name)
    world.refuses("redefined", but(record.body, issued_at="2027-01-01T00:00:00Z"))


def test_a_split_names_cases_that_are_there(world, story):
    body = but(story.split.body, name="other")
    c, d = body.cases
    world.refuses("unknown-reference", but(body, cases=[but(c, record=ELSE)]))
    world.refuses("unknown-reference", but(body, cases=[but(c, record=d.record)]))
    world.refuses("unknown-reference", but(body, cases=[but(c, version=2)]))
    world.refuses("unknown-reference", but(body, cases=[but(c, record=story.entries["a"].digest)]))
    second = world.say(lambda base: but(story.cases["c"].body, version=2, supersedes=c.record, **base))
    world.refuses("duplicate-reference", but(body, cases=[c, kinds.CaseRef(id="c", version=2, record=second.digest)]))


def test_a_case_supersedes_an_earlier_version_of_itself(world, story):
    body = but(story.cases["c"].body, version=2)
    world.refuses("unknown-reference", but(body, supersedes=story.cases["d"].digest))
    world.refuses("unknown-reference", but(body, supersedes=ELSE))
    world.refuses("unknown-reference", but(body, source=ELSE))
    world.refuses("unknown-reference", but(body, source=story.cases["d"].digest))
    second = world.admit(world.sign(but(body, supersedes=story.cases["c"].digest)))
    third = but(body, version=1, id="c")
    world.refuses("redefined", but(third, supersedes=second.digest))


def test_a_schedule_names_what_is_there(world, story):
    body = but(story.schedule.body, name="s2")
    a, b = body.entries
    world.refuses("unknown-reference", but(body, split=ELSE))
    world.refuses("unknown-reference", but(body, split=body.protocol))
    world.refuses("unknown-reference", but(body, protocol=body.split))
    world.refuses("unknown-reference", but(body, entries=[but(a, record=ELSE)]))
    world.refuses("unknown-reference", but(body, entries=[but(a, record=b.record)]))
    world.refuses("not-scheduled", but(body, repeats=3))
    assert world.admit(world.sign(but(body, entries=[b])))


def test_a_withdrawal_names_a_record_of_its_target(world, story):
    told = story.attempt("a", "c", 1)
    other = story.attempt("a", "c", 2)

    def body(kind, name, record, reinstates=None):
        return kinds.Withdrawal(
            **world.base,
            target=kinds.Target(kind=kind, id=name, record=record),
            reason="leak",
            detail="",
            author="me",
            expected=None,
            observed=None,
            reinstates=reinstates,
        )

    world.refuses("unknown-reference", body("attempt", told.id, ELSE))
    world.refuses("unknown-reference", body("attempt", told.id, other.closed.digest))
    world.refuses("unknown-reference", body("case", told.id, told.closed.digest))
    world.refuses("unknown-reference", body("case", "d", story.cases["c"].digest))
    world.refuses("unknown-reference", body("release", "c", story.cases["c"].digest))
    world.refuses("unknown-reference", body("attempt", told.id, told.closed.digest, ELSE))
    world.refuses("unknown-reference", body("attempt", told.id, told.closed.digest, told.closed.digest))
    first = world.admit(world.sign(body("attempt", told.id, told.evaluation.digest)))
    world.refuses("reinstates", body("attempt", other.id, other.closed.digest, first.digest))
    second = world.admit(world.sign(body("attempt", told.id, told.opened.digest, first.digest)))
    world.refuses("reinstates", body("attempt", told.id, told.opened.digest, first.digest))
    world.refuses("reinstates", body("attempt", told.id, told.opened.digest, second.digest))
    assert world.admit(world.sign(body("case", "c", story.cases["c"].digest)))


def test_a_release_is_of_a_schedule_and_below_a_head_that_was(world, story):
    schedule = story.schedule
    body = kinds.Release(
        **world.base,
        name="r",
        split=schedule.body.split,
        protocol=schedule.body.protocol,
        schedule=schedule.digest,
        cutoff=world.head,
        attempts=0,
        results=ELSE,
        leaves=ELSE,
        root=ELSE,
    )
    world.refuses("after", but(body, cutoff=kinds.Head(size=world.gate.size, root=ELSE)))
    world.refuses("after", but(body, cutoff=kinds.Head(size=world.gate.size + 1, root=ELSE)))
    world.refuses("unknown-reference", but(body, schedule=ELSE))
    world.refuses("unknown-reference", but(body, protocol=ELSE))
    assert world.admit(world.sign(body))


# ------------------------------------------------------------------------------------------------- openings


def test_an_opening_names_what_is_there(world, story):
    body = opening(world, story)
    world.refuses("unknown-reference", but(body, entry=but(body.entry, record=ELSE)))
    world.refuses("unknown-reference", but(body, entry=but(body.entry, id="b")))
    world.refuses("unknown-reference", but(body, case=but(body.case, version=2)))
    world.refuses("unknown-reference", but(body, case=but(body.case, record=story.split.digest)))
    world.refuses("unknown-reference", but(body, schedule=ELSE))
    world.refuses("unknown-reference", but(body, schedule=story.split.digest))
    assert world.admit(world.sign(body))


def test_an_opening_begins_the_chain(world, story):
    body = opening(world, story)
    world.refuses("chain", but(body, chain=but(body.chain, seq=1)))
    world.refuses("chain", but(body, chain=but(body.chain, prev=ELSE)))


def test_an_opening_was_promised_by_its_schedule(world, story):
    schedule = world.admit(world.sign(but(story.schedule.body, name="s2", entries=story.schedule.body.entries[1:])))
    world.refuses("not-scheduled", opening(world, story, schedule=schedule.digest))
    world.refuses("not-scheduled", opening(world, story, repeat=3))
    case = world.admit(world.sign(but(story.cases["c"].body, id="e")))
    ref = kinds.CaseRef(id="e", version=1, record=case.digest)
    world.refuses("not-scheduled", opening(world, story, case=ref))
    assert world.admit(world.sign(opening(world, story, case=ref, schedule=None, purpose="diagnostic")))


def test_an_attempt_is_opened_once(world, story):
    told = story.attempt("a", "c", 1)
    taken = kinds.Chain(attempt=told.id, seq=0, prev=None)
    world.refuses("duplicate-attempt", opening(world, story, repeat=2, chain=taken))
    world.refuses("duplicate-attempt", opening(world, story))
    assert world.admit(world.sign(opening(world, story, schedule=None, purpose="diagnostic")))


def test_only_a_closed_harness_failure_is_tried_again(world, story):
    for entry, outcome in (("a", "scored"), ("b", "timeout")):
        told = story.attempt(entry, "c", 1, outcome=outcome)
        again = opening(world, story, entry=told.opened.body.entry, try_=2, retry_of=told.id)
        world.refuses("retry", again)
    still = story.attempt("a", "c", 2, close=False, outcome="timeout")
    world.refuses("retry", opening(world, story, repeat=2, try_=2, retry_of=still.id))


def test_a_retry_is_of_the_same_repeat_and_the_next_try(world, story):
    lost = story.attempt("a", "c", 1, outcome="harness-failure")
    body = opening(world, story, try_=2, retry_of=lost.id)
    world.refuses("retry", but(body, retry_of=None))
    world.refuses("retry", but(body, retry_of="nobody"))
    world.refuses("retry", but(body, try_=3))
    world.refuses("retry", but(body, repeat=2))
    world.refuses("retry", but(body, entry=kinds.Ref(id="b", record=story.entries["b"].digest)))
    world.refuses("retry", but(body, case=kinds.CaseRef(id="d", version=1, record=story.cases["d"].digest)))
    world.refuses("retry", but(body, schedule=None))
    assert world.admit(world.sign(body))


def test_a_first_try_is_no_retry(world, story):
    lost = story.attempt("a", "c", 1, outcome="harness-failure")
    world.refuses("retry", opening(world, story, repeat=2, try_=1, retry_of=lost.id))


def test_tries_end_where_the_protocol_says(world, story):
    last = None
    for number in (1, 2, 3):
        last = story.attempt("a", "c", 1, number=number, retry_of=last and last.id, outcome="harness-failure")
    world.refuses("retry", opening(world, story, try_=4, retry_of=last.id))


def test_captures_that_were_seen_are_not_made_again_unless_the_evaluator_failed(world, story):
    seen = story.attempt("a", "c", 1, outcome="harness-failure", captured=True)
    world.refuses("retry", opening(world, story, try_=2, retry_of=seen.id))
    failed = story.attempt("b", "c", 1, outcome="harness-failure", captured=True, failed=True)
    assert world.admit(world.sign(opening(world, story, entry=failed.opened.body.entry, try_=2, retry_of=failed.id)))


# ------------------------------------------------------------------------------------------------- the chain


def test_nothing_is_said_of_an_attempt_that_was_not_opened(world, story):
    chain = kinds.Chain(attempt="nobody", seq=1, prev=ELSE)
    story.attempt("a", "c", 1)
    world.refuses("not-opened", artifacts(world, chain))
    world.refuses("not-opened", captures(world, story, chain))
    world.refuses("not-opened", closing(world, chain))
    world.refuses("not-opened", evaluation(world, "nobody", story.cases["c"].digest, ELSE))
    world.refuses("not-opened", failure(world, "nobody", story.cases["c"].digest, ELSE))


def test_a_missing_or_doubled_record_breaks_the_chain(world, story):
    opened = world.admit(world.sign(opening(world, story)))
    for chain in (
        follow(opened, seq=0),
        follow(opened, seq=2),
        but(follow(opened), prev=None),
        but(follow(opened), prev=ELSE),
    ):
        world.refuses("chain", artifacts(world, chain, "log"))
    first = world.admit(world.sign(artifacts(world, follow(opened), "log")))
    world.refuses("chain", artifacts(world, follow(opened), "diff"))
    world.refuses("chain", closing(world, follow(opened)))
    assert world.admit(world.sign(closing(world, follow(first))))


def test_the_chain_is_of_one_attempt(world, story):
    one = world.admit(world.sign(opening(world, story)))
    two = opening(world, story, chain=kinds.Chain(attempt="two", seq=0, prev=None), repeat=2)
    world.admit(world.sign(two))
    world.refuses("chain", artifacts(world, kinds.Chain(attempt="two", seq=1, prev=one.digest), "log"))


def test_an_attempt_is_closed_once(world, story):
    told = story.attempt("a", "c", 1, outcome="timeout")
    world.refuses("closed-twice", closing(world, follow(told.closed)))


def test_after_the_closing_only_late_artifacts_follow(world, story):
    told = story.attempt("a", "c", 1, outcome="timeout")
    chain = follow(told.closed)
    world.refuses("closed", artifacts(world, chain, "log"))
    world.refuses("closed", artifacts(world, chain, "late", "log"))
    world.refuses("closed", artifacts(world, chain))
    world.refuses("closed", captures(world, story, chain))
    world.refuses("chain", artifacts(world, but(chain, prev=told.opened.digest), "late"))
    first = world.admit(world.sign(artifacts(world, chain, "late")))
    world.refuses("chain", artifacts(world, follow(first), "late"))
    assert world.admit(world.sign(artifacts(world, but(chain, seq=chain.seq + 1), "late")))


# ------------------------------------------------------------------------------------------- captures and verdicts


def test_an_attempt_is_captured_once_by_the_plan_of_its_case(world, story):
    opened = world.admit(world.sign(opening(world, story)))
    chain = follow(opened)
    world.refuses("plan", captures(world, story, chain, plan=ELSE))
    shot = kinds.Shot(id="home", tree=ELSE, error=None)
    world.refuses("duplicate-reference", captures(world, story, chain, shots=[shot, but(shot, tree=COMMITMENT)]))
    first = world.admit(world.sign(captures(world, story, chain)))
    world.refuses("captures-twice", captures(world, story, follow(first)))


def test_a_verdict_is_on_the_captures_of_its_own_attempt(world, story):
    told = story.attempt("a", "c", 1)
    other = story.attempt("a", "d", 1)
    c, d = story.cases["c"].digest, story.cases["d"].digest
    body = evaluation(world, told.id, c, told.captures.digest)
    world.refuses("other-attempt", but(body, captures=other.captures.digest))
    world.refuses("unknown-reference", but(body, captures=ELSE))
    world.refuses("unknown-reference", but(body, captures=told.closed.digest))
    world.refuses("other-case", but(body, case=d))
    world.refuses("commitment", but(body, commitment=ELSE))
    assert world.admit(world.sign(body)), "a regrade may follow the closing"
    failed = failure(world, told.id, c, told.captures.digest)
    world.refuses("other-attempt", but(failed, captures=other.captures.digest))
    world.refuses("other-case", but(failed, case=d))


def test_a_verdict_waits_for_captures(world, story):
    done = story.attempt("a", "d", 1)
    opened = world.admit(world.sign(opening(world, story)))
    world.refuses(
        "other-attempt", evaluation(world, opened.body.chain.attempt, story.cases["c"].digest, done.captures.digest)
    )


def test_scored_rests_on_a_verdict_of_the_same_attempt(world, story):
    other = story.attempt("a", "c", 2)
    opened = world.admit(world.sign(opening(world, story)))
    seen = world.admit(world.sign(captures(world, story, follow(opened))))
    body = closing(world, follow(seen), "scored", evaluation=other.evaluation.digest)
    world.refuses("other-attempt", body)
    world.refuses("unknown-reference", but(body, evaluation=ELSE))
    world.refuses("unknown-reference", but(body, evaluation=seen.digest))
    case = story.cases["c"].digest
    failed = world.admit(world.sign(failure(world, "new", case, seen.digest)))
    world.refuses("unknown-reference", but(body, evaluation=failed.digest))
    verdict = world.admit(world.sign(evaluation(world, "new", case, seen.digest)))
    assert world.admit(world.sign(but(body, evaluation=verdict.digest)))


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "withdrawn"},
        {"outcome": "scored", "reason": "ok", "evaluation": None},
        {"outcome": "timeout", "reason": "engine"},
        {"outcome": "timeout", "reason": "wall-clock", "evaluation": str(ELSE)},
    ],
)
def test_a_closing_that_says_what_no_closing_may_is_outside_its_schema(world, story, fields):
    opened = world.admit(world.sign(opening(world, story)))
    value = msgspec.json.decode(world.sign(closing(world, follow(opened))).payload)
    value["predicate"] |= fields
    world.refuses("schema", sign(canonical.dumps(value), [SIGNERS["runner"]]))


def test_a_gate_of_another_origin_admits_nothing_of_this_one():
    envelope = Envelope.parse(World().leaves[0])
    with pytest.raises(RecordRejected) as caught:
        Gate("example.org/other", lambda size: ELSE).admit(envelope, 0)
    assert caught.value.rule == "origin"
    assert trust_root().ledger == ORIGIN
