"""How a curator has captures judged before there is any attempt: the question, the answer, and who gives it.

    judge = EvaluatorJudge(folder)
    judgement = judge(case, captures)          # the evaluator's process, on a draft `case` record nobody appends
    judgement.verdict.total, judgement.failed()   # 981250, (Checkpoint("regional_visual", "hero", …, 850000),)

The kit is named by the draft and read from the store, sealed; it is opened in the evaluator's process only. Single
checkpoints are for the curator who made the kit: they mend a case, and never leave this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from ledger.folder import Folder
from ledger.records import kinds
from store.errors import CheckFailed, HarnessError, InputError, RblError, Unavailable

__all__ = ["Checkpoint", "EvaluatorJudge", "Judge", "Judgement", "recipient"]

RECIPIENT: Final = "recipient.txt"
"""File of the folder `kits/` with the evaluator's age recipient, which is public."""

_SECONDS: Final = 600
_ERRORS: Final[dict[int, type[RblError]]] = {
    error.exit_code: error for error in (CheckFailed, InputError, Unavailable, HarnessError)
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One thing that was judged.

    Attributes:
        dimension: the dimension it counts in.
        name: of the region or assertion; the shot's id where a whole shot is judged.
        shot: the shot it was judged on; empty where it is about the whole site.
        score: in millionths; an assertion has all or nothing.
        note: what was seen, in words; may be empty.
    """

    dimension: str
    name: str
    shot: str
    score: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with what it was made of."""

    verdict: kinds.Verdict
    checkpoints: tuple[Checkpoint, ...]

    def failed(self) -> tuple[Checkpoint, ...]:
        """Checkpoints below the full score."""
        return tuple(checkpoint for checkpoint in self.checkpoints if checkpoint.score != kinds.FULL)

    def scored(self) -> tuple[Checkpoint, ...]:
        """Checkpoints above nothing, the gate's left out: its are full where nothing was done wrong."""
        return tuple(point for point in self.checkpoints if point.score > 0 and point.dimension != "policy")


class Judge(Protocol):
    """Whoever can open the kit."""

    def __call__(self, case: kinds.Case, captures: kinds.Captures, weights: Mapping[str, int]) -> Judgement:
        """Judge captures by a case's kit.

        Args:
            case: a draft; its kit is in the store, sealed to the judge.
            captures: what was drawn; its shots are in the store.
            weights: of the dimensions.

        Raises:
            HarnessError: there is no judgement.
        """
        ...


class EvaluatorJudge:
    """Asks `python -P -m sealed check`: the evaluator's own code, with the identity that opens its kits.

    Args:
        folder: the benchmark folder, whose key ring holds the evaluator's identity.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def __call__(self, case: kinds.Case, captures: kinds.Captures, weights: Mapping[str, int]) -> Judgement:
        """Judge captures by a case's kit.

        Raises:
            RblError: of the class that the evaluator ended with: a kit that cannot be judged with is an InputError.
        """
        self._folder.store.flush()
        keys = self._folder.keys
        request = {
            "origin": case.ledger,
            "after": None,
            "attempt": captures.chain.attempt,
            "case": kinds.to_json(case),
            "captures": kinds.to_json(captures),
            "protocol_weights": dict(weights),
            "objects": str(self._folder.objects),
            "key": str(keys.path("evaluator")),
            "identity": str(keys.identity_path),
            "outbox": str(self._folder.root),
            "issued_at": captures.issued_at,
        }
        answer = json.loads(_ask(json.dumps(request).encode()))
        return Judgement(
            kinds.part(kinds.Verdict, answer["verdict"]), tuple(Checkpoint(**point) for point in answer["checkpoints"])
        )


def recipient(folder: Folder) -> str:
    """The age recipient of the folder's evaluator, to whom kits are sealed: `kits/recipient.txt`.

    Raises:
        Unavailable: the file is not there.
    """
    path = folder.kits / RECIPIENT
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            "nobody says whom kits are sealed to", where=str(path), fix="write the evaluator's age1… line there"
        ) from error


def _ask(request: bytes) -> bytes:
    command = [sys.executable, "-P", "-m", "sealed", "check"]
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"the evaluator did not finish: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        defect = "Traceback" in said  # an interpreter that dies ends with 1, as a check does that found something
        wanted = HarnessError if defect else _ERRORS.get(done.returncode, HarnessError)
        raise wanted(f"the evaluator cannot judge: {said}")
    return done.stdout
