"""Rules on what was fixed before an attempt, and on what it was made with. Pure; each function gives findings.

- *order*: case, protocol, entry, split and schedule stand in a head that the opening was made after; the opening in one
  that the artifacts were made after; the captures in one that the evaluation was made after.
- *container*: formal attempts ran in a container, the builds and captures too.
- *environment*: image, browser, fonts and driver are the protocol's, and so is the evaluator. Otherwise two attempts
  were not measured alike, and a mismatch refuses to merge.
- *schedule*: each attempt sits in a slot of the schedule, with the records that the schedule names, and no slot's first
  try stands twice.
- *verdict*: the evaluation is of this attempt's captures and this case's kit, and its total follows from its dimensions
  and the protocol's public weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.cutoff import Attempt, Cut, Scope
from ledger.release.finding import Finding
from ledger.release.outcome import gaps
from store.digest import Digest

__all__ = ["declared", "limits_for", "total_of"]

_LIMITS: Final = ("seconds", "memory", "cpus", "pids", "workspace")
_GATE: Final = "policy"


def declared(cut: Cut, scope: Scope) -> list[Finding]:
    """Everything that step five of the verification looks at, in log order of the attempts."""
    found = [*_schedule(scope), *gaps(cut, scope)]
    for attempt in scope.attempts(cut):
        found += _slot(scope, attempt)
        if _resolves(scope, attempt):
            found += _order(scope, attempt)
            found += _container(attempt)
            found += _environment(scope, attempt)
            found += _verdict(scope, attempt)
    return found


def limits_for(case: kinds.Case, protocol: kinds.Protocol, entry: kinds.Entry) -> kinds.Limits:
    """The most an attempt may use: the case's own limits, capped by the protocol's and by the entry's budget."""
    caps = [case.limits, protocol.limits, *([] if entry.limits is None else [entry.limits])]
    return kinds.Limits(**{name: min(getattr(cap, name) for cap in caps) for name in _LIMITS})


def total_of(verdict: kinds.Verdict) -> int:
    """The total that a verdict's own figures give, in millionths.

    gate × Σ weight × score / Σ weight over the dimensions but policy, which is the gate; rounded half to even once.
    """
    parts = {name: tally.score for name, tally in verdict.dimensions.items() if name != _GATE}
    weight = sum(verdict.weights.get(name, 0) for name in parts)
    if not weight:
        return 0
    mean = Fraction(sum(verdict.weights.get(name, 0) * score for name, score in parts.items()), weight)
    return round(mean * Fraction(verdict.gate, kinds.FULL))


def _schedule(scope: Scope) -> Iterator[Finding]:
    schedule, protocol = scope.schedule, scope.protocol.body
    if not 1 <= schedule.body.repeats <= protocol.repeats:
        yield Finding(
            "schedule",
            f"schedule {schedule.body.name}",
            f"{schedule.body.repeats} repeats, and the protocol has {protocol.repeats}",
            "attempts beyond the protocol would count",
        )
    for case in scope.cases.values():
        if case.body.environment != protocol.environment:
            yield Finding(
                "environment",
                f"case {case.body.id}",
                "its reference was captured in another environment than the protocol's",
                "its scores compare two renderers and not two pages",
            )


def _slot(scope: Scope, attempt: Attempt) -> Iterator[Finding]:
    body = attempt.opened.body
    consequence = "an attempt that nobody scheduled would count"
    entry, case = scope.entries.get(body.entry.id), scope.cases.get(body.case.id)
    if entry is None or entry.digest != body.entry.record:
        yield Finding("schedule", attempt.id, f"the schedule does not name entry {body.entry.id}", consequence)
    if case is None or case.digest != body.case.record or case.body.version != body.case.version:
        what = f"the split does not name case {body.case.id}@{body.case.version}"
        yield Finding("schedule", attempt.id, what, consequence)
    if not 1 <= body.repeat <= scope.schedule.body.repeats:
        what = f"repeat {body.repeat} of {scope.schedule.body.repeats}"
        yield Finding("schedule", attempt.id, what, consequence)


def _resolves(scope: Scope, attempt: Attempt) -> bool:
    body = attempt.opened.body
    return body.entry.id in scope.entries and body.case.id in scope.cases


def _order(scope: Scope, attempt: Attempt) -> Iterator[Finding]:
    body = attempt.opened.body
    before: list[Record] = [
        scope.schedule,
        scope.split,
        scope.protocol,
        scope.cases[body.case.id],
        scope.entries[body.entry.id],
    ]
    for record in before:
        if not _after(attempt.opened, record):
            yield Finding(
                "order",
                attempt.id,
                f"the {record.kind} (record {record.index}) was not declared before it was opened",
                "rules chosen after the fact prove nothing",
            )
    for record in attempt.artifacts:
        if not _after(record, attempt.opened):
            yield Finding(
                "order",
                attempt.id,
                f"artifacts (record {record.index}) were made before the opening stood in a signed head",
                "attempts could be made first and announced afterwards",
            )
    for verdict in attempt.evaluations:
        if attempt.captures is None or not _after(verdict, attempt.captures):
            yield Finding(
                "order",
                attempt.id,
                f"evaluation (record {verdict.index}) was made before the captures stood in a signed head",
                "a score could be seen first and the run dropped",
            )


def _after(late: Record, early: Record) -> bool:
    """Whether a record was made after a head that holds another, and stands behind it."""
    head = late.body.after
    return head is not None and head.size > early.index and late.index > early.index


def _container(attempt: Attempt) -> Iterator[Finding]:
    body = attempt.opened.body
    places = {"opening": body.backend, "environment": body.environment.backend}
    if attempt.captures is not None:
        places["captures"] = attempt.captures.body.environment.backend
    for place, backend in places.items():
        if backend != "docker":
            yield Finding(
                "container", attempt.id, f"its {place} says backend {backend}", "only container-made attempts may count"
            )


def _environment(scope: Scope, attempt: Attempt) -> Iterator[Finding]:
    protocol = scope.protocol.body
    body = attempt.opened.body
    case, entry = scope.cases[body.case.id].body, scope.entries[body.entry.id].body
    consequence = "it was not measured as the protocol says, so it may not be merged with the others"
    seen = {"opening": body.environment}
    if attempt.captures is not None:
        seen["captures"] = attempt.captures.body.environment
    for place, environment in seen.items():
        if environment != protocol.environment:
            names = ", ".join(
                name
                for name in environment.__struct_fields__
                if getattr(environment, name) != getattr(protocol.environment, name)
            )
            yield Finding("environment", attempt.id, f"its {place} differs in {names}", consequence)
    if attempt.captures is not None and attempt.captures.body.plan != case.plan:
        yield Finding("environment", attempt.id, "captured along another probe plan than the case's", consequence)
    if attempt.captures is not None and attempt.captures.body.build not in {
        record.body.build for record in attempt.artifacts
    }:
        yield Finding("environment", attempt.id, "captured another build than its artifacts name", consequence)
    allowed = limits_for(case, protocol, entry)
    over = [name for name in _LIMITS if getattr(body.limits, name) > getattr(allowed, name)]
    if over:
        yield Finding("environment", attempt.id, f"its limits exceed what is allowed: {', '.join(over)}", consequence)


def _verdict(scope: Scope, attempt: Attempt) -> Iterator[Finding]:
    closed = attempt.closed
    counted = attempt.verdict(scope.protocol.body.evaluator)
    if closed is not None and closed.body.outcome == "scored":
        if counted is None:
            evaluators = {record.body.evaluator for record in attempt.evaluations}
            what = "no evaluation under the protocol's evaluator"
            if evaluators:
                what += f", only under {', '.join(evaluator.short for evaluator in sorted(evaluators))}"
            yield Finding("verdict", attempt.id, f"closed as scored with {what}", "its score has no evidence")
            return
        if closed.body.evaluation != counted.digest:
            what = "its closing does not rest on the first evaluation under the protocol's evaluator"
            yield Finding("verdict", attempt.id, what, "a better verdict could be picked")
    if closed is not None and closed.body.outcome == "withdrawn":
        yield Finding(
            "verdict", attempt.id, "closed as withdrawn", "only a sidecar withdraws, so that both figures show"
        )
    if counted is not None:
        yield from _arithmetic(scope, attempt, counted.body)
        for twin in attempt.evaluations:
            same = twin.body.evaluator == counted.body.evaluator and twin.body.captures == counted.body.captures
            if same and twin.body.verdict != counted.body.verdict:
                what = f"two evaluations of one evaluator differ (records {counted.index} and {twin.index})"
                yield Finding("verdict", attempt.id, what, "scoring is not a function of its inputs")


def _arithmetic(scope: Scope, attempt: Attempt, body: kinds.Evaluation) -> Iterator[Finding]:
    case = scope.cases[attempt.opened.body.case.id]
    verdict = body.verdict
    if body.case != case.digest or body.commitment != case.body.sealed.commitment:
        yield Finding("verdict", attempt.id, "evaluated against another case or kit", "its score is of something else")
    if set(verdict.dimensions) != set(case.body.dimensions):
        yield Finding(
            "verdict", attempt.id, "evaluated in other dimensions than the case uses", "its total leaves something out"
        )
    seen = _seen(attempt) - set(verdict.inputs)
    if seen:
        what = f"its evaluation left out {len(seen)} of its captures"
        yield Finding("verdict", attempt.id, what, "its score is not of all that was seen")
    public = scope.protocol.body.weights
    wrong = sorted(
        name for name in verdict.dimensions if name != _GATE and verdict.weights.get(name) != public.get(name)
    )
    if wrong:
        what = f"weights of {', '.join(wrong)} are not the protocol's"
        yield Finding("verdict", attempt.id, what, "its total is of another protocol")
    if verdict.gate not in {0, kinds.FULL}:
        yield Finding("verdict", attempt.id, f"its gate is {verdict.gate}", "a gate is open or closed")
    if verdict.total != total_of(verdict):
        what = f"its total is {verdict.total}, its dimensions give {total_of(verdict)}"
        yield Finding("verdict", attempt.id, what, "the score does not follow from its parts")


def _seen(attempt: Attempt) -> set[Digest]:
    """The objects that an evaluation must have looked at."""
    if attempt.captures is None:
        return set()
    body = attempt.captures.body
    return {body.plan, body.sweep, *(shot.tree for shot in body.shots if shot.tree is not None)}
