"""The evaluator's process: one request on standard input, one answer on standard output.

    python -P -m sealed evaluate < request.json    # {"outcome":"evaluated","record":"sha256:…"}; fills the outbox
    python -P -m sealed verdict < request.json     # the verdict alone, for a regrade; the outbox stays empty
    python -P -m sealed check < request.json       # {"checkpoints":[…],"verdict":{…}}, for the curator of a case
    python -P -m sealed digest                     # sha256:…, the evaluator's digest

`evaluate` always leaves a signed record when its key can be read: an `evaluation`, or an `evaluation-failed` that says
why, which permits a retry. It exits 0 in both cases. The other verbs, and a key that cannot be read, fail with the
error's exit code and one line on standard error. The request's form is in `sealed.request`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from ledger.records import kinds
from sealed.code import evaluator_digest
from sealed.request import Request, judge
from sealed.verdict import Decision
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import CheckFailed, HarnessError, InputError, RblError, RuleBroken, Unavailable

_LONGEST_DETAIL: Final = 2000


def evaluate(request: Request) -> Json:
    """Judge, sign, and leave the record and its encrypted detail in the outbox."""
    from ledger.records.keys import Signer
    from ledger.records.statement import sign_statement
    from sealed.separation import separate

    separation = separate(request.places)
    signer = Signer.load(request.places.key)
    body: kinds.Body
    outcome = "failed"
    try:
        decision = judge(request)
    except RblError as error:
        sys.stderr.write(f"{error}\n")
        body = _failed(request, *_public(error))
    except Exception as error:  # noqa: BLE001 - a defect must end as a signed failure, never as a lost or guessed score
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        body = _failed(request, "evaluator", f"an internal failure ({type(error).__name__})")
    else:
        body, outcome = _evaluation(request, decision, separation), "evaluated"
    envelope = sign_statement(body, [signer])
    _write(_outbox(request) / f"{envelope.digest.hex}.dsse", envelope.format())
    return {"record": str(envelope.digest), "outcome": outcome}


def verdict(request: Request) -> Json:
    """The pure part: the JSON form of the verdict."""
    return _verdict(judge(request))


def check(request: Request) -> Json:
    """The verdict with every checkpoint in the clear, for whoever made the kit and holds its identity."""
    decision = judge(request)
    checkpoints = [
        {
            "dimension": dimension,
            "name": item.name,
            "shot": item.shot,
            "score": item.value,
            "note": ", ".join(f"{key} {value}" for key, value in item.seen.items() if value is not None),
        }
        for dimension, marks in decision.marks.items()
        for item in marks.checkpoints
    ]
    return {"verdict": _verdict(decision), "checkpoints": checkpoints}


def main(arguments: list[str]) -> int:
    """Answer one request.

    Args:
        arguments: the verb.

    Returns:
        The exit code.
    """
    try:
        if arguments == ["digest"]:
            sys.stdout.write(f"{evaluator_digest()}\n")
            return 0
        if len(arguments) != 1 or arguments[0] not in _VERBS:
            raise InputError("unknown request", fix=f"use one of digest, {', '.join(_VERBS)}")
        answer = _VERBS[arguments[0]](Request.parse(sys.stdin.buffer.read()))
        sys.stdout.write(canonical.dumps(answer).decode() + "\n")
    except RblError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _evaluation(request: Request, decision: Decision, separation: kinds.Separation) -> kinds.Evaluation:
    from cases.age import recipient_of, seal

    sealed = seal(decision.detail, recipient_of(request.places.identity.read_text("ascii")))
    detail = Digest.of(sealed)
    _write(_outbox(request) / "objects" / detail.hex, sealed)
    return kinds.Evaluation(
        ledger=request.origin,
        after=request.after,
        issued_at=request.issued_at,
        attempt=request.attempt,
        case=request.case_digest,
        captures=request.captures_digest,
        evaluator=evaluator_digest(),
        commitment=request.case.sealed.commitment,
        verdict=decision.verdict,
        detail=detail,
        separation=separation,
    )


def _failed(request: Request, reason: str, detail: str) -> kinds.EvaluationFailed:
    return kinds.EvaluationFailed(
        ledger=request.origin,
        after=request.after,
        issued_at=request.issued_at,
        attempt=request.attempt,
        case=request.case_digest,
        captures=request.captures_digest,
        evaluator=evaluator_digest(),
        reason=reason,
        detail=detail[:_LONGEST_DETAIL],
    )


def _public(error: RblError) -> tuple[str, str]:
    """The code of a failure, and what may be said of it in public: the text of an error may name sealed material."""
    match error:
        case RuleBroken(rule="commitment") | Unavailable():
            return "kit", error.what
        case RuleBroken() | HarnessError():
            return "case", str(error)
        case CheckFailed():
            return "captures", str(error)
        case _:
            return "case", "the captures cannot be judged by this kit and these weights"


def _verdict(decision: Decision) -> Json:
    return msgspec.to_builtins(decision.verdict, enc_hook=str)


def _outbox(request: Request) -> Path:
    outbox = request.places.outbox
    if outbox is None:
        raise InputError("a request to evaluate names an outbox", where="standard input")
    (outbox / "objects").mkdir(parents=True, exist_ok=True)
    return outbox


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise HarnessError(f"the outbox cannot be written: {error.strerror}", where=str(path)) from error


_VERBS: Final[dict[str, Callable[[Request], Json]]] = {"evaluate": evaluate, "verdict": verdict, "check": check}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
