"""Tells a small benchmark as records: cases, entries, a schedule, attempts of every outcome, withdrawals.

    story = Story(say, put)                 # say: append one record; put: store one object
    story.plan(entries=["a", "b"], cases=["c1", "c2"], repeats=2)
    story.attempt("a", "c1", 1, total={"functional": 700_000})
    story.attempt("a", "c1", 2, outcome="timeout")

`PureLog` is the ledger for tests of pure rules: records with digests, no signatures and no log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.cutoff import Cut, Scope
from ledger.release.declared import total_of
from store import canonical
from store.digest import Digest

ORIGIN = "example.org/bench"
WEIGHTS = {"global_visual": 3, "functional": 2, "responsive": 1}
LIMITS = kinds.Limits(seconds=60, memory=1 << 30, cpus=1000, pids=256, workspace=1 << 28)
EVALUATOR = Digest.of(b"evaluator")
COMMITMENT = Digest.of(b"kit plaintext")

Say = Callable[[Callable[[dict[str, Any]], kinds.Body]], Record]
Put = Callable[[bytes], Digest]


def environment(backend: kinds.Backend = "docker", image: bytes = b"image") -> kinds.RenderEnvironment:
    return kinds.RenderEnvironment(
        image=Digest.of(image),
        browser="chromium 150.0",
        fonts=Digest.of(b"fonts"),
        driver=Digest.of(b"driver"),
        seccomp=Digest.of(b"seccomp"),
        backend=backend,
    )


class PureLog:
    """Records without signatures: a leaf digest is that of the canonical body."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def say(self, make: Callable[[dict[str, Any]], kinds.Body]) -> Record:
        size = len(self.records)
        after = kinds.Head(size=size, root=Digest.of(str(size).encode()))
        body = make({"ledger": ORIGIN, "after": after, "issued_at": "2026-11-30T23:05:01Z"})
        data = canonical.dumps(kinds.to_json(body))
        record = Record(
            index=size,
            digest=Digest.of(b"leaf" + data),
            payload_digest=Digest.of(data),
            body=body,
            kind=kinds.kind_of(type(body)),
            keyids=("0" * 64,),
        )
        self.records.append(record)
        return record

    def cut(self) -> Cut:
        return Cut.of(self.records, len(self.records))

    def change(self, record: Record, **fields: Any) -> Record:
        """Put another body in a record's place, keeping its digest: what a rule must notice by itself."""
        new = replace(record, body=msgspec.structs.replace(record.body, **fields))
        self.records[record.index] = new
        return new


@dataclass
class Told:
    """The records of one attempt."""

    id: str
    opened: Record[kinds.AttemptOpened]
    captures: Record[kinds.Captures] | None = None
    evaluation: Record[kinds.Evaluation] | None = None
    failure: Record[kinds.EvaluationFailed] | None = None
    closed: Record[kinds.AttemptClosed] | None = None


@dataclass
class Story:
    say: Say
    put: Put = Digest.of
    cases: dict[str, Record[kinds.Case]] = field(default_factory=dict)
    entries: dict[str, Record[kinds.Entry]] = field(default_factory=dict)
    schedule: Record[kinds.Schedule] = None  # type: ignore[assignment]
    protocol: Record[kinds.Protocol] = None  # type: ignore[assignment]
    split: Record[kinds.Split] = None  # type: ignore[assignment]
    told: list[Told] = field(default_factory=list)

    def tree(self, files: Mapping[str, bytes]) -> Digest:
        from store.tree import Tree, TreeEntry

        tree = Tree.of([TreeEntry.file(name, self.put(data), len(data)) for name, data in files.items()])
        return self.put(tree.format())

    def plan(
        self,
        entries: Iterable[str],
        cases: Iterable[str],
        *,
        repeats: int = 2,
        max_tries: int = 2,
        min_valid: int = 1,
        dimensions: Iterable[str] = ("global_visual", "functional"),
    ) -> None:
        cases, entries = list(cases), list(entries)
        for name in cases:
            self.cases[name] = self.case(name, list(dimensions))
        refs = [kinds.CaseRef(id=name, version=1, record=self.cases[name].digest) for name in cases]
        self.split = self.say(lambda base: kinds.Split(**base, name="dev", cases=refs))
        self.protocol = self.say(
            lambda base: kinds.Protocol(
                **base,
                name="p1",
                limits=LIMITS,
                repeats=repeats,
                max_tries=max_tries,
                environment=environment(),
                evaluator=EVALUATOR,
                weights=WEIGHTS,
                aggregation="mean-of-case-means/v1",
                min_valid=min_valid,
                interval="t",
                level=950_000,
            )
        )
        for name in entries:
            self.entries[name] = self.say(
                lambda base, name=name: kinds.Entry(
                    **base,
                    id=name,
                    agent=kinds.Agent(adapter="command", version="1", argv=["agent", name], files=None),
                    model=None,
                    reasoning_effort=None,
                    tool_profile="shell",
                    skills=None,
                    runtime="default",
                    evidence_condition="full",
                    sandbox="docker/runc",
                    limits=None,
                )
            )
        named = [kinds.Ref(id=name, record=self.entries[name].digest) for name in entries]
        self.schedule = self.say(
            lambda base: kinds.Schedule(
                **base,
                name="s1",
                split=self.split.digest,
                protocol=self.protocol.digest,
                entries=named,
                repeats=repeats,
            )
        )

    def case(self, name: str, dimensions: list[Any]) -> Record[kinds.Case]:
        starter = self.tree({"index.html": b"<h1>starter</h1>"})
        evidence = self.tree({"home.png": b"picture of " + name.encode()})
        package = self.tree({"brief.md": b"# " + name.encode(), "contract.json": b"{}"})
        return self.say(
            lambda base: kinds.Case(
                **base,
                id=name,
                version=1,
                track="frozen-evidence/reconstruct",
                title=name.title(),
                package=package,
                evidence=evidence,
                starter=starter,
                contract=self.put(b'{"contract":1}'),
                plan=self.put(b'{"plan":1}'),
                sealed=kinds.Sealed(commitment=COMMITMENT, kit=self.put(b"age " + name.encode())),
                limits=LIMITS,
                dimensions=dimensions,
                environment=environment(),
                checks=[
                    kinds.Check(agent="oracle", run=1, score=kinds.FULL),
                    kinds.Check(agent="noop", run=1, score=0),
                ],
                source=None,
                supersedes=None,
            )
        )

    def attempt(
        self,
        entry: str,
        case: str,
        repeat: int,
        *,
        outcome: kinds.Outcome = "scored",
        reason: str | None = None,
        scores: Mapping[str, int] | None = None,
        gate: int = kinds.FULL,
        number: int = 1,
        retry_of: str | None = None,
        purpose: kinds.Purpose = "formal",
        backend: kinds.Backend = "docker",
        captured: bool | None = None,
        failed: bool = False,
        close: bool = True,
        evaluator: Digest = EVALUATOR,
        scheduled: bool = True,
    ) -> Told:
        name = f"20261130T230501Z__{case}__{entry}__r{repeat:02}__{len(self.told):08x}"
        record = self.cases[case]
        opened = self.say(
            lambda base: kinds.AttemptOpened(
                **base,
                chain=kinds.Chain(attempt=name, seq=0, prev=None),
                schedule=self.schedule.digest if scheduled else None,
                entry=kinds.Ref(id=entry, record=self.entries[entry].digest),
                case=kinds.CaseRef(id=case, version=1, record=record.digest),
                repeat=repeat,
                try_=number,
                retry_of=retry_of,
                purpose=purpose,
                backend=backend,
                limits=LIMITS,
                environment=environment(backend),
                harness="rbl 0.1.0",
            )
        )
        told = Told(name, opened)
        self.told.append(told)
        last: Record = opened
        if captured if captured is not None else outcome == "scored":
            told.captures = last = self._captures(told, record, backend)
        if outcome == "scored":
            told.evaluation = self.evaluate(told, record, scores or {}, gate, evaluator)
        if failed and told.captures is not None:
            seen = told.captures.digest
            told.failure = self.say(
                lambda base: kinds.EvaluationFailed(
                    **base,
                    attempt=name,
                    case=record.digest,
                    captures=seen,
                    evaluator=evaluator,
                    reason="evaluator",
                    detail="out of memory",
                )
            )
        if close:
            default = {"scored": "ok", "ungradeable": "no-output", "timeout": "wall-clock"}.get(outcome, "engine")
            told.closed = self.say(
                lambda base: kinds.AttemptClosed(
                    **base,
                    chain=kinds.Chain(attempt=name, seq=3 if told.captures else 1, prev=last.digest),
                    outcome=outcome,
                    reason=reason or default,
                    detail="",
                    last_step="evaluated" if told.evaluation else "started",
                    notes=[],
                    evaluation=None if told.evaluation is None else told.evaluation.digest,
                    milliseconds=1234,
                    events=self.put(b'{"seq":0}\n' + name.encode()),
                )
            )
        return told

    def _captures(self, told: Told, case: Record[kinds.Case], backend: kinds.Backend) -> Record[kinds.Captures]:
        name = told.id
        build = self.tree({"index.html": b"<h1>built by " + name.encode() + b"</h1>"})
        manifest = self.put(b'{"attempt":"' + name.encode() + b'"}')
        artifacts = self.say(
            lambda base: kinds.Artifacts(
                **base,
                chain=kinds.Chain(attempt=name, seq=1, prev=told.opened.digest),
                workspace=build,
                build=build,
                items=[
                    kinds.Artifact(
                        name="manifest.json",
                        class_="manifest",
                        media_type="application/json",
                        digest=manifest,
                        size=len(name) + 14,
                    )
                ],
            )
        )
        shot = self.tree({"full.png": b"pixels of " + name.encode(), "page.json": b"{}"})
        return self.say(
            lambda base: kinds.Captures(
                **base,
                chain=kinds.Chain(attempt=name, seq=2, prev=artifacts.digest),
                build=build,
                plan=case.body.plan,
                environment=environment(backend),
                shots=[kinds.Shot(id="home.desktop.initial", tree=shot, error=None)],
                sweep=self.put(b'{"widths":[]}'),
            )
        )

    def evaluate(
        self,
        told: Told,
        case: Record[kinds.Case],
        scores: Mapping[str, int],
        gate: int = kinds.FULL,
        evaluator: Digest = EVALUATOR,
    ) -> Record[kinds.Evaluation]:
        assert told.captures is not None
        captures, seen = told.captures.digest, told.captures.body
        used = {name: scores.get(name, 500_000) for name in case.body.dimensions}
        verdict = kinds.Verdict(
            dimensions={
                name: kinds.Tally(score=score, passed=score // 100_000, total=10) for name, score in used.items()
            },
            weights={name: WEIGHTS[name] for name in used},
            gate=gate,
            total=0,
            inputs=sorted({COMMITMENT, seen.plan, seen.sweep, *(shot.tree for shot in seen.shots if shot.tree)}),
            detail=Digest.of(b"plaintext detail of " + told.id.encode()),
        )
        verdict = msgspec.structs.replace(verdict, total=total_of(verdict))
        return self.say(
            lambda base: kinds.Evaluation(
                **base,
                attempt=told.id,
                case=case.digest,
                captures=captures,
                evaluator=evaluator,
                commitment=COMMITMENT,
                verdict=verdict,
                detail=self.put(b"age detail of " + told.id.encode()),
                separation="process",
            )
        )

    def withdraw(
        self,
        kind: Any,
        name: str,
        record: Digest,
        *,
        reason: str = "leak",
        reinstates: Digest | None = None,
        expected: Digest | None = None,
        observed: Digest | None = None,
        author: str = "an operator",
    ) -> Record[kinds.Withdrawal]:
        return self.say(
            lambda base: kinds.Withdrawal(
                **base,
                target=kinds.Target(kind=kind, id=name, record=record),
                reason=reason,
                detail="seen in review",
                author=author,
                expected=expected,
                observed=observed,
                reinstates=reinstates,
            )
        )


def scope_of(log: PureLog, story: Story) -> Scope:
    return Scope.of(log.cut(), story.schedule.digest)
