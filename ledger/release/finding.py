"""What a release check found: the rule that is broken, the record it is about, and what follows from it.

    Finding("retry", "…__r01__9f03ab12", "try 2 follows an attempt that was scored", "the retry may not count")

Rules are stable names, so that machines and vectors can tell findings apart:

    name         two releases share a name           container    not formal, or not made in a container
    pin          the trust root is not the pinned    environment  image, browser, fonts, evaluator, limits differ
    checkpoint   signature, size or origin           order        declared or recorded too late
    log          a bundle or tile is not the log's   schedule     an attempt that no slot of the schedule allows
    proof        inclusion or consistency            open         opened and never closed
    record       a record does not verify            unopened     scheduled and never opened
    object       missing, corrupt, or no tree        retry        a try that the protocol does not allow
    reference    a record that is not there          withdrawal   a sidecar that does not hold
    verdict      a score its evidence contradicts    results, leaves, root, file   shipped and recomputed differ
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.errors import CheckFailed

__all__ = ["Finding", "refuse"]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: a stable name.
        where: attempt, record, digest or file.
        what: what is wrong.
        consequence: what can no longer be believed, or may not happen.
    """

    rule: str
    where: str
    what: str
    consequence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what} ({self.where}): {self.consequence}"


def refuse(what: str, findings: Iterable[Finding], *, fix: str = "") -> None:
    """Raise when there is any finding.

    Raises:
        CheckFailed: naming each of them.
    """
    found = sorted(findings)
    if found:
        lines = "\n  ".join(str(finding) for finding in found)
        raise CheckFailed(f"{what}, {len(found)} finding{'s' if len(found) > 1 else ''}:\n  {lines}", fix=fix)
