"""Starts the sealed evaluator as a process of its own, and carries what it signed back to the ledger.

    python -P -m sealed evaluate < request.json      # → outbox/<leaf>.dsse, outbox/objects/<hex>
    python -P -m sealed verdict  < request.json      # → the pure part only, nothing written
    python -P -m sealed digest                       # → the evaluator's digest

This module never sees a selector, a threshold or a weight: it hands over digests, paths and two record leaves, and
takes an envelope that the evaluator signed with its own key. The evaluator never runs Candidate code; the runner never
reads the kit.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ledger.folder import Folder
from ledger.records import kinds
from ledger.records.envelope import Envelope
from runners.backend import BackendFailure
from store.canonical import Json
from store.digest import Digest

__all__ = ["Request", "evaluate", "evaluator_digest", "verdict"]

_SECONDS = 600
"""Longest evaluation. Grading is arithmetic on a few pictures; a minute is already far off."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the evaluator is asked.

    Attributes:
        attempt: the attempt's id.
        case_leaf: leaf bytes of the `case` record.
        captures_leaf: leaf bytes of the `captures` record.
        weights: the protocol's public dimension weights.
        after: head of the log the verdict is made after.
        issued_at: RFC 3339 in UTC.
        revealed: whether the kit is read in clear, which nobody's identity is needed for.
    """

    attempt: str
    case_leaf: bytes
    captures_leaf: bytes
    weights: dict[str, int]
    after: kinds.Head
    issued_at: str
    revealed: bool = False


@cache
def evaluator_digest() -> Digest:
    """The digest of the evaluator's code and of the libraries that its numbers depend on."""
    return Digest.parse(_start("digest", b"").decode().strip())


def evaluate(folder: Folder, request: Request) -> Envelope:
    """Have an attempt judged. The evaluator's objects are in the store when this returns.

    Returns:
        The signed `evaluation` or `evaluation-failed` record, not yet appended.

    Raises:
        BackendFailure: reason `evaluator`, when the process gave no record.
    """
    with tempfile.TemporaryDirectory(prefix="rbl-outbox-") as name:
        outbox = Path(name)
        answer = json.loads(_start("evaluate", json.dumps(_document(folder, request, outbox)).encode()))
        for path in sorted((outbox / "objects").glob("*")):
            if folder.store.put_file(path).hex != path.name:
                raise BackendFailure("evaluator", "the evaluator named an object by another digest", where=path.name)
        leaf = Digest.parse(answer["record"])
        return Envelope.parse((outbox / f"{leaf.hex}.dsse").read_bytes())


def verdict(folder: Folder, request: Request) -> dict[str, Any]:
    """The pure part of a verdict, computed again; nothing is signed or written.

    Returns:
        The JSON form of `kinds.Verdict`.
    """
    with tempfile.TemporaryDirectory(prefix="rbl-outbox-") as name:
        found: dict[str, Any] = json.loads(
            _start("verdict", json.dumps(_document(folder, request, Path(name))).encode())
        )
        return found


def _document(folder: Folder, request: Request, outbox: Path) -> Json:
    (outbox / "objects").mkdir()
    return {
        "origin": folder.config.origin,
        "after": {"size": request.after.size, "root": str(request.after.root)},
        "attempt": request.attempt,
        "case_leaf": base64.b64encode(request.case_leaf).decode(),
        "captures_leaf": base64.b64encode(request.captures_leaf).decode(),
        "protocol_weights": request.weights,
        "objects": str(folder.objects.resolve()),
        "key": str(folder.keys.path("evaluator")),
        "identity": str(folder.keys.identity_path),
        "outbox": str(outbox),
        "issued_at": request.issued_at,
        "revealed": request.revealed,
    }


def _start(verb: str, request: bytes) -> bytes:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "sealed", verb],
            input=request,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendFailure("evaluator", f"the evaluator did not finish: {error}") from error
    if done.returncode != 0:
        raise BackendFailure(
            "evaluator",
            f"the evaluator ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}",
            fix="run `rbl doctor`; the attempt may be retried",
        )
    return done.stdout
