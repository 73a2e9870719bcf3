"""What an attempt comes to: a pure rule over what production, build and render reported, decided top down.

    decide(produced, built, rendered) -> Decision("timeout", "wall-clock", ...)

Harness failures never come from here: they are raised where harness-side evidence exists (`BackendFailure`), so nothing
that a Candidate prints, exits with or leaves behind can become one. `gradeable` means that the evaluator has the word.
"""

from __future__ import annotations

from dataclasses import dataclass

from ledger.records import kinds
from runners.backend import Built, Produced, Rendered

__all__ = ["Decision", "decide"]


@dataclass(frozen=True, slots=True)
class Decision:
    """An outcome and its reason code. `outcome` is null when the attempt is gradeable."""

    outcome: kinds.Outcome | None
    reason: str
    notes: tuple[str, ...]


def decide(produced: Produced, built: Built | None, rendered: Rendered | None) -> Decision:
    """Decide an attempt's outcome from what its rooms reported.

    Args:
        produced: the Candidate's run.
        built: its build; null when there was nothing to build.
        rendered: its captures; null when there was nothing to render.
    """
    notes = _notes(produced)
    if produced.timed_out:
        return Decision("timeout", "wall-clock", notes)
    if produced.workspace is None:
        return Decision("ungradeable", produced.refused or "no-output", notes)
    if built is None or built.output is None:
        return Decision("ungradeable", (built.reason if built else None) or "build-failed", notes)
    if rendered is None or rendered.failed is not None:
        return Decision("ungradeable", (rendered.failed if rendered else None) or "render-failed", notes)
    return Decision(None, "ok", notes)


def _notes(produced: Produced) -> tuple[str, ...]:
    found = list(produced.notes)
    if produced.exit_code not in {0, None}:
        found.append("exit-nonzero")
    if produced.memory_killed:
        found.append("memory-kill")
    return tuple(dict.fromkeys(found))
