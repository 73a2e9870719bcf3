"""Verifies a release in eight steps, from the signed head to the root, trusting nothing in the folder.

    ✓ checkpoint   412 records at sha256:91fe…, trust root 1 is the pinned one
    ✓ tree         412 records give the root; 11 files of the log compared; cutoff 410 is an earlier state of it
    ✓ records      412 envelopes: signature, role at their index, schema, canonical form, chain
    ✓ objects      3120 objects, 41882010 bytes hashed
    ✓ declared     12 attempts: declared before they were opened, container-made, every slot accounted for once
    ✓ retries      1 retry and 1 withdrawal, each allowed
    ✓ aggregation  results.json recomputed from the records: 18204 bytes, the same
    ✓ root         sha256:c0ff… over 24 leaves, the same as recorded

Each step is a function and gives one line. A step that needs what an earlier one could not establish is not reached,
and says so. Reads only; uses neither clock, locale nor the folder's place, so two machines print the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ledger.erasure import erased
from ledger.folder import Folder
from ledger.log.policy import Policy
from ledger.records import kinds
from ledger.release import evidence
from ledger.release.declared import declared
from ledger.release.finding import Finding
from ledger.release.leaves import parse_leaves
from ledger.release.package import format_summary
from ledger.release.retries import retries, withdrawals
from ledger.release.walk import NotReachedError, Walk
from store.digest import Digest

__all__ = ["STEPS", "Step", "Verification", "verify"]

_NUMBERS: Final = "the published numbers do not follow from the records"
_ROOT: Final = "the release digest does not stand for this release"


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the output."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of it.

    Attributes:
        ok: whether every step holds.
        steps: the eight, in order.
        digest: the release digest of the record that was verified; null when none was found.
        findings: what is wrong, in the order in which it was found.
    """

    ok: bool
    steps: tuple[Step, ...]
    digest: Digest | None
    findings: tuple[Finding, ...]


def verify(
    folder: Folder,
    name: str,
    *,
    pin: Digest | None = None,
    processes: int | None = None,
    policy: Policy | None = None,
) -> Verification:
    """Verify a release.

    Args:
        folder: a benchmark folder, or what was copied of one: `rbl.toml`, `trust/`, `log/`, `objects/`, `releases/`.
        name: of the release.
        pin: digest of trust root 1, known from elsewhere; null believes what this machine has pinned, or else the
            folder's own, and the first line says which.
        processes: that check signatures and hashes; the number of processors when null. Changes no result.
        policy: who must have cosigned a head that includes the release; null demands nobody.
    """
    walk = Walk(folder, name, pin, processes, policy)
    steps: list[Step] = []
    for title, step in STEPS.items():
        before = len(walk.findings)
        reached = True
        try:
            detail = step(walk)
        except NotReachedError as missing:
            reached, detail = False, f"not reached: {missing}"
        found = walk.findings[before:]
        if found:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            detail = f"{found[0]}{more}"
        steps.append(Step(title, ok=reached and not found, detail=detail))
    return Verification(
        ok=all(step.ok for step in steps),
        steps=tuple(steps),
        digest=None if walk.record is None else walk.record.body.root,
        findings=tuple(walk.findings),
    )


def _checkpoint(walk: Walk) -> str:
    """The signed head, the trust root that it rests on, and the head that the release folder brings."""
    whose = walk.open_head()
    walk.open_package()
    head = walk.head
    if head is None:
        raise NotReachedError("no signed head")
    return f"{head.size} records at {head.root}, {whose}"


def _tree(walk: Walk) -> str:
    """The tree from its leaves, every file of the log, and the two proofs."""
    rebuilt = walk.rebuild()
    cutoff = walk.check_proofs()
    beyond = f", {rebuilt.beyond} beyond the head not looked at" if rebuilt.beyond else ""
    return (
        f"{len(rebuilt.entries)} records give the root; {rebuilt.files} files of the log compared{beyond}; "
        f"cutoff {cutoff} is an earlier state of it"
    )


def _records(walk: Walk) -> str:
    """Every envelope under the rules of admission, the trust roots' copies, the release record, and its witnesses."""
    records = walk.admit()
    walk.find_record()
    walk.check_distrust()
    cosigned = walk.check_witnesses()
    return f"{len(records)} envelopes: signature, role at their index, schema, canonical form, chain{cosigned}"


def _objects(walk: Walk) -> str:
    """The bytes of every object that the release's records reach."""
    draft, record = walk.draft(), walk.release()
    named = evidence.needed(draft.cut, draft.scope, record.body)
    gone = erased(record for record in walk.records or () if isinstance(record.body, kinds.Erasure))
    checked = evidence.check(walk.store(), named, gone, processes=walk.processes)
    walk.findings += checked.findings
    missed = "".join(f"; not here: {what}" for what in checked.erased)
    return f"{checked.objects} objects, {checked.bytes} bytes hashed{missed}"


def _declared(walk: Walk) -> str:
    """What was fixed beforehand, and that each scheduled attempt is accounted for."""
    draft = walk.draft()
    walk.findings += declared(draft.cut, draft.scope)
    return f"{draft.attempts} attempts: declared before they were opened, container-made, every slot accounted for once"


def _retries(walk: Walk) -> str:
    """Retries and withdrawals."""
    draft = walk.draft()
    walk.findings += retries(draft.cut, draft.scope)
    walk.findings += withdrawals(draft.cut, draft.scope)
    again = sum(attempt.opened.body.try_ > 1 for attempt in draft.scope.attempts(draft.cut))
    return f"{again} retries and {len(draft.cut.withdrawals)} withdrawals, each allowed"


def _aggregation(walk: Walk) -> str:
    """The result artifact, computed again and compared byte for byte."""
    draft, record = walk.draft(), walk.release()
    digest = Digest.of(draft.results)
    if digest != record.body.results:
        what = f"recomputed {digest}, the record says {record.body.results}"
        walk.find("results", f"release {walk.name}", what, _NUMBERS)
    walk.compare("results.json", draft.results, _NUMBERS)
    return f"results.json recomputed from the records: {len(draft.results)} bytes, the same"


def _root(walk: Walk) -> str:
    """The leaves, the root, and what the record and the folder say of them."""
    draft, record = walk.draft(), walk.release()
    body = record.body
    if Digest.of(draft.leaves) != body.leaves:
        what = f"recomputed {Digest.of(draft.leaves)}, the record says {body.leaves}"
        walk.find("leaves", f"release {walk.name}", what, _ROOT)
    if draft.root != body.root:
        walk.find("root", f"release {walk.name}", f"recomputed {draft.root}, the record says {body.root}", _ROOT)
    said = {"split": body.split, "protocol": body.protocol, "attempts": body.attempts, "name": body.name}
    scope = draft.scope
    true = {
        "split": scope.split.digest,
        "protocol": scope.protocol.digest,
        "attempts": draft.attempts,
        "name": walk.name,
    }
    for what, value in said.items():
        if value != true[what]:
            walk.find("root", f"release {walk.name}", f"its {what} is {value}, the records give {true[what]}", _ROOT)
    walk.compare("leaves.json", draft.leaves, _ROOT)
    if walk.proofs is not None:
        walk.compare("release.json", format_summary(record, walk.proofs.head), _ROOT)
    count = len(parse_leaves(draft.leaves))
    return f"{draft.root} over {count} leaves, the same as recorded{walk.withdrawn_since()}"


STEPS: Final[dict[str, Callable[[Walk], str]]] = {
    "checkpoint": _checkpoint,
    "tree": _tree,
    "records": _records,
    "objects": _objects,
    "declared": _declared,
    "retries": _retries,
    "aggregation": _aggregation,
    "root": _root,
}
"""The eight steps: name to function, in their order. Each returns its line for when nothing was found."""
