"""What is frozen before the first attempt (split, protocol, entries, schedule), and withdrawals after it.

Each function resolves the names it is given to records, announces one record and returns it. Freezing a name that is
there with the same content returns the record there is; with other content it is a conflict: nothing is redefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ledger.announce import Stamp, announce
from ledger.folder import Folder
from ledger.naming import case_version
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest
from store.errors import Conflict, InputError

__all__ = ["freeze_entry", "freeze_protocol", "freeze_schedule", "freeze_split", "withdraw_attempt"]


def freeze_split(folder: Folder, name: str, cases: Sequence[str]) -> Record[kinds.Split]:
    """Freeze a list of case versions.

    Args:
        folder: the benchmark folder.
        name: of the split.
        cases: ids, each the newest version, or `id@version`.

    Raises:
        InputError: a case is unknown, or the list is empty or names one twice.
        Conflict: the name stands for another list.
    """
    if not cases:
        raise InputError("a split needs at least one case", fix="name cases that `rbl case list` shows")
    ledger = Ledger.open(folder)
    found = [_case(ledger, text) for text in cases]
    refs = [kinds.CaseRef(id=case.body.id, version=case.body.version, record=case.digest) for case in found]
    if len({ref.id for ref in refs}) != len(refs):
        raise InputError("a case stands twice in the split", fix="name each case once")
    return _once(
        folder,
        ledger,
        "curator",
        lambda stamp: kinds.Split(
            ledger=stamp.ledger, after=stamp.after, issued_at=stamp.issued_at, name=name, cases=refs
        ),
    )


def freeze_protocol(
    folder: Folder,
    name: str,
    *,
    limits: kinds.Limits,
    repeats: int,
    max_tries: int,
    environment: kinds.RenderEnvironment,
    evaluator: Digest,
    weights: dict[str, int],
    min_valid: int = 1,
    level: int = 950_000,
) -> Record[kinds.Protocol]:
    """Freeze the rules.

    Args:
        folder: the benchmark folder.
        name: of the protocol.
        limits: caps over every case's own.
        repeats: attempts of each entry on each case.
        max_tries: how often a harness failure may be tried, the first included.
        environment: what draws pages; every counted attempt must match it.
        evaluator: the evaluator's digest; every counted verdict must match it.
        weights: of the dimensions, positive integers.
        min_valid: scored attempts that cover a case.
        level: of the intervals, in millionths.

    Raises:
        Conflict: the name stands for other rules.
    """
    return _once(
        folder,
        Ledger.open(folder),
        "release-manager",
        lambda stamp: kinds.Protocol(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            name=name,
            limits=limits,
            repeats=repeats,
            max_tries=max_tries,
            environment=environment,
            evaluator=evaluator,
            weights=weights,
            aggregation="mean-of-case-means/v1",
            min_valid=min_valid,
            interval="t",
            level=level,
        ),
    )


def freeze_entry(
    folder: Folder,
    entry: str,
    *,
    agent: kinds.Agent,
    model: str | None = None,
    reasoning_effort: str | None = None,
    tool_profile: str = "shell",
    sandbox: str = "docker/runc",
) -> Record[kinds.Entry]:
    """Freeze what is ranked.

    Args:
        folder: the benchmark folder.
        entry: its id.
        agent: what acts; its files are in the store already.
        model, reasoning_effort, tool_profile, sandbox: the rest of its identity.

    Raises:
        Conflict: the id stands for something else.
    """
    return _once(
        folder,
        Ledger.open(folder),
        "release-manager",
        lambda stamp: kinds.Entry(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            id=entry,
            agent=agent,
            model=model,
            reasoning_effort=reasoning_effort,
            tool_profile=tool_profile,
            skills=None,
            runtime="default",
            evidence_condition="full",
            sandbox=sandbox,
            limits=None,
        ),
    )


def freeze_schedule(
    folder: Folder, name: str, *, split: str, protocol: str, entries: Sequence[str], repeats: int | None = None
) -> Record[kinds.Schedule]:
    """Freeze the attempts that will be made: every entry × every case of the split × repeats.

    Args:
        folder: the benchmark folder.
        name: of the schedule.
        split, protocol: their names.
        entries: their ids.
        repeats: at most the protocol's, which is the default.

    Raises:
        InputError: a name is unknown, or there are more repeats than the protocol allows.
        Conflict: the name stands for other attempts.
    """
    ledger = Ledger.open(folder)
    rules = ledger.protocol(protocol)
    wanted = rules.body.repeats if repeats is None else repeats
    if not 1 <= wanted <= rules.body.repeats:
        raise InputError(
            f"{wanted} repeats, and the protocol {protocol} allows 1 to {rules.body.repeats}",
            fix="give fewer --repeats, or freeze another protocol",
        )
    if not entries:
        raise InputError("a schedule needs at least one entry", fix="name entries that `rbl entry list` shows")
    found = [ledger.entry(entry) for entry in dict.fromkeys(entries)]
    cases = ledger.split(split)
    return _once(
        folder,
        ledger,
        "release-manager",
        lambda stamp: kinds.Schedule(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            name=name,
            split=cases.digest,
            protocol=rules.digest,
            entries=[kinds.Ref(id=entry.body.id, record=entry.digest) for entry in found],
            repeats=wanted,
        ),
    )


def withdraw_attempt(
    folder: Folder,
    attempt: str,
    *,
    reason: str,
    detail: str,
    author: str,
    expected: Digest | None = None,
    observed: Digest | None = None,
    reinstate: bool = False,
) -> Record[kinds.Withdrawal]:
    """Append a withdrawal sidecar, or the one that lifts the standing one. The bytes stay.

    Args:
        folder: the benchmark folder.
        attempt: id or prefix.
        reason: a reason code of the withdrawal schema.
        detail: free text for the reviewer.
        author: who says so.
        expected, observed: the two digests of a `digest-mismatch`.
        reinstate: lift the standing withdrawal.

    Raises:
        InputError: a mismatch is claimed without its two digests, or there is nothing to lift.
        Conflict: it is withdrawn already.
    """
    if reason == "digest-mismatch" and (expected is None or observed is None):
        raise InputError("a digest mismatch cites two digests", fix="give --expected and --observed")
    records = Ledger.open(folder).attempt(attempt)
    standing = records.standing_withdrawal
    if reinstate and standing is None:
        raise InputError("the attempt is not withdrawn", where=records.id)
    if not reinstate and standing is not None:
        raise Conflict("the attempt is withdrawn already", where=str(standing.digest), fix="--reinstate lifts it")
    record = records.opened if records.closed is None else records.closed
    return announce(
        folder,
        "release-manager",
        lambda stamp: kinds.Withdrawal(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            target=kinds.Target(kind="attempt", id=records.id, record=record.digest),
            reason=reason,
            detail=detail,
            author=author,
            expected=expected,
            observed=observed,
            reinstates=standing.digest if reinstate and standing is not None else None,
        ),
    )


def _once(folder: Folder, ledger: Ledger, role: kinds.Role, make: Callable[[Stamp], kinds.B]) -> Record[kinds.B]:
    body = make(Stamp.now(folder))
    for record in ledger.of(type(body)):
        if _name(record.body) == _name(body):
            if _content(record.body) == _content(body):
                return record
            kind = kinds.kind_of(type(body))
            raise Conflict(f"the {kind} {_name(body)} is frozen with other content", fix="choose another name")
    return announce(folder, role, make)


def _name(body: kinds.Body) -> str:
    return str(getattr(body, "name", None) or getattr(body, "id", ""))


def _content(body: kinds.Body) -> dict[str, object]:
    return {key: value for key, value in kinds.to_json(body).items() if key not in {"after", "issued_at"}}


def _case(ledger: Ledger, text: str) -> Record[kinds.Case]:
    return ledger.case(*case_version(text))
