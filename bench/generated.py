"""Generates a ledger of any size: real keys, real records, five to an attempt, appended by the sequencer.

    ledger = Generated.make(Path("scratch"), records=20_000)
    ledger.folder, ledger.attempts           # a benchmark folder; the ids of its attempts

The records say nothing true: the objects they name exist nowhere. Everything that a verifier of the log looks at is as
it would be. Keys and what is remembered of the log go below the same place, by the two environment variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ledger import sequencer
from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.keys import Signer
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer
from store.digest import Digest

__all__ = ["BATCH", "Generated"]

ORIGIN: Final = "bench.example/generated"
BATCH: Final = 256
_CHECKPOINT: Final = 64 * BATCH  # records between two signed checkpoints
_WHEN: Final = "2026-11-30T23:05:01Z"
_LIMITS: Final = kinds.Limits(seconds=600, memory=1 << 31, cpus=2000, pids=512, workspace=1 << 30)
_ENVIRONMENT: Final = kinds.RenderEnvironment(
    image=Digest.of(b"image"),
    browser="chromium 150.0",
    fonts=Digest.of(b"fonts"),
    driver=Digest.of(b"driver"),
    seccomp=Digest.of(b"seccomp"),
    backend="docker",
)
_SHOTS: Final = tuple(f"home.{width}.{state}" for width in ("desktop", "mobile") for state in ("initial", "menu"))
_ROLES: Final = {kind: role for role, names in kinds.ROLE_KINDS.items() for kind in names}
_CASES: Final = 40
_ENTRIES: Final = 10


@dataclass
class Generated:
    """A benchmark folder with a log.

    Attributes:
        folder: the folder.
        signers: the key of each role.
        attempts: the ids of the attempts, in the order they were opened.
    """

    folder: Folder
    signers: dict[str, Signer]
    attempts: list[str] = field(default_factory=list)
    _base: dict[str, Any] = field(default_factory=dict)
    _cases: list[kinds.CaseRef] = field(default_factory=list)
    _entries: list[kinds.Ref] = field(default_factory=list)
    _schedule: Digest | None = None

    @classmethod
    def make(cls, place: Path, records: int) -> Generated:
        """A log of about so many records, the declarations and the last whole attempt included."""
        found = cls.begin(place, attempts=records // 5 + 1)
        with Sequencer.open(found.folder) as appender:
            waiting: list[Envelope] = []
            for envelope in found.told(records // 5):
                waiting.append(envelope)
                if len(waiting) == BATCH:
                    appender.append(waiting, integrate=appender.size % _CHECKPOINT < BATCH)
                    waiting = []
            appender.append(waiting)
        return found

    @classmethod
    def begin(cls, place: Path, attempts: int) -> Generated:
        """A log of the declarations that so many attempts need."""
        os.environ["RBL_CONFIG_HOME"] = str(place / "config")
        os.environ["RBL_STATE_HOME"] = str(place / "state")
        folder = Folder.create(place / "bench", ORIGIN)
        roles = {role: names for role, names in kinds.ROLE_KINDS.items() if role not in {"witness", "rater"}}
        signers: dict[str, Signer] = {role: folder.keys.create(role) for role in roles}
        body = kinds.TrustRoot(
            ledger=ORIGIN,
            after=None,
            issued_at=_WHEN,
            version=1,
            keys=[
                kinds.PublicKey(keyid=signer.keyid, public=signer.public_text, distrusted_from=None)
                for signer in signers.values()
            ],
            roles={
                role: kinds.Grant(keys=[signers[role].keyid], threshold=1, kinds=list(names))
                for role, names in roles.items()
            },
        )
        sequencer.begin(folder, body, [signers["root"]])
        found = cls(folder, signers)
        found._declare(-(-attempts // (_CASES * _ENTRIES)))
        return found

    def sign(self, body: kinds.Body) -> Envelope:
        """The body, signed by the key of its role."""
        return sign_statement(body, [self.signers[_ROLES[kinds.kind_of(type(body))]]])

    def told(self, attempts: int) -> Iterator[Envelope]:
        """So many attempts more, five records each; they are to be appended in this order."""
        for _ in range(attempts):
            yield from self._attempt(len(self.attempts))

    def bulk(self, count: int, start: int = 0) -> list[Envelope]:
        """Records that need nothing but the trust root: sources, each of another id."""
        self._refresh()
        return [
            self.sign(
                kinds.Source(
                    **self._base,
                    id=f"source-{number}",
                    lead="https://example.org/lead",
                    origin="https://example.org/origin",
                    artifact=Digest.of(b"%d" % number),
                    differences=["none"],
                    permission="granted by its author",
                )
            )
            for number in range(start, start + count)
        ]

    # ------------------------------------------------------------------------------------------------ inside

    def _refresh(self) -> None:
        self._base = {"ledger": ORIGIN, "after": read_checkpoint(self.folder).head, "issued_at": _WHEN}

    def _declare(self, repeats: int) -> None:
        def say(make: Callable[[dict[str, Any]], kinds.Body]) -> Digest:
            self._refresh()
            envelope = self.sign(make(self._base))
            with Sequencer.open(self.folder) as appender:
                appender.append([envelope])
            return envelope.digest

        for number in range(_CASES):
            made = say(lambda base, number=number: _case(base, f"case-{number}"))  # type: ignore[misc]
            self._cases.append(kinds.CaseRef(id=f"case-{number}", version=1, record=made))
        split = say(lambda base: kinds.Split(**base, name="s", cases=self._cases))
        protocol = say(lambda base: _protocol(base, repeats))
        for number in range(_ENTRIES):
            made = say(lambda base, number=number: _entry(base, f"entry-{number}"))  # type: ignore[misc]
            self._entries.append(kinds.Ref(id=f"entry-{number}", record=made))
        self._schedule = say(
            lambda base: kinds.Schedule(
                **base, name="all", split=split, protocol=protocol, entries=self._entries, repeats=repeats
            )
        )
        self._refresh()

    def _attempt(self, number: int) -> Iterator[Envelope]:
        rest, place = divmod(number, _CASES * _ENTRIES)
        case, entry, repeat = self._cases[place % _CASES], self._entries[place // _CASES], rest + 1
        name = f"20261130T230501Z__{case.id}__{entry.id}__r{repeat:02}__{number:08x}"
        self.attempts.append(name)
        base, made = self._base, Digest.of(name.encode())
        opened = self.sign(
            kinds.AttemptOpened(
                **base,
                chain=kinds.Chain(attempt=name, seq=0, prev=None),
                schedule=self._schedule,
                entry=entry,
                case=case,
                repeat=repeat,
                try_=1,
                retry_of=None,
                purpose="formal",
                backend="docker",
                limits=_LIMITS,
                environment=_ENVIRONMENT,
                harness="rbl 0.1.0",
            )
        )
        yield opened
        items = [
            kinds.Artifact(name=kind, class_=kind, media_type="application/json", digest=made, size=number)
            for kind in ("manifest", "workspace", "diff", "log")
        ]
        artifacts = self.sign(
            kinds.Artifacts(
                **base,
                chain=kinds.Chain(attempt=name, seq=1, prev=opened.digest),
                workspace=made,
                build=made,
                items=items,  # type: ignore[arg-type]
            )
        )
        yield artifacts
        captures = self.sign(
            kinds.Captures(
                **base,
                chain=kinds.Chain(attempt=name, seq=2, prev=artifacts.digest),
                build=made,
                plan=_digest("plan"),
                environment=_ENVIRONMENT,
                shots=[kinds.Shot(id=shot, tree=Digest.of(f"{name}{shot}".encode()), error=None) for shot in _SHOTS],
                sweep=made,
            )
        )
        yield captures
        evaluation = self.sign(_evaluation(base, name, case.record, captures.digest, number))
        yield evaluation
        yield self.sign(
            kinds.AttemptClosed(
                **base,
                chain=kinds.Chain(attempt=name, seq=3, prev=captures.digest),
                outcome="scored",
                reason="ok",
                detail="",
                last_step="evaluated",
                notes=[],
                evaluation=evaluation.digest,
                milliseconds=number,
                events=made,
            )
        )


def _digest(name: str) -> Digest:
    return Digest.of(name.encode())


def _case(base: dict[str, Any], name: str) -> kinds.Case:
    return kinds.Case(
        **base,
        id=name,
        version=1,
        track="frozen-evidence/reconstruct",
        title=name,
        package=_digest(f"package {name}"),
        evidence=_digest(f"evidence {name}"),
        starter=_digest("starter"),
        contract=_digest("contract"),
        plan=_digest("plan"),
        sealed=kinds.Sealed(commitment=_digest("kit"), kit=_digest(f"kit {name}")),
        limits=_LIMITS,
        dimensions=["global_visual", "functional"],
        environment=_ENVIRONMENT,
        checks=[kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0)],
        source=None,
        supersedes=None,
    )


def _protocol(base: dict[str, Any], repeats: int) -> kinds.Protocol:
    return kinds.Protocol(
        **base,
        name="p",
        limits=_LIMITS,
        repeats=repeats,
        max_tries=2,
        environment=_ENVIRONMENT,
        evaluator=_digest("evaluator"),
        weights={"global_visual": 3, "functional": 2},
        aggregation="mean-of-case-means/v1",
        min_valid=1,
        interval="t",
        level=950_000,
    )


def _entry(base: dict[str, Any], name: str) -> kinds.Entry:
    return kinds.Entry(
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


def _evaluation(base: dict[str, Any], attempt: str, case: Digest, captures: Digest, number: int) -> kinds.Evaluation:
    score = number * 7919 % 1_000_001
    return kinds.Evaluation(
        **base,
        attempt=attempt,
        case=case,
        captures=captures,
        evaluator=_digest("evaluator"),
        commitment=_digest("kit"),
        verdict=kinds.Verdict(
            dimensions={
                "global_visual": kinds.Tally(score=score, passed=score // 100_000, total=10),
                "functional": kinds.Tally(score=score, passed=score // 100_000, total=10),
            },
            weights={"global_visual": 3, "functional": 2},
            gate=kinds.FULL,
            total=score,
            inputs=[_digest("kit"), _digest("plan")],
            detail=_digest(f"detail {number}"),
        ),
        detail=_digest(f"encrypted {number}"),
        separation="process",
    )
