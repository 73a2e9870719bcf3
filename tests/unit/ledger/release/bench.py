"""A real benchmark folder for release tests: real keys, real log, real objects; only the attempts are told, not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledger import sequencer
from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.records import kinds
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from tests.unit.ledger.release.story import ORIGIN, Story

ROLE_OF = {kind: role for role, kinds_of in kinds.ROLE_KINDS.items() for kind in kinds_of}


def begin(root: Path) -> Folder:
    """A folder with a key for every role and the first trust root in its log."""
    folder = Folder.create(root, ORIGIN)
    signers = {role: folder.keys.create(role) for role in kinds.ROLE_KINDS if role != "witness"}
    keys = [
        kinds.PublicKey(keyid=signer.keyid, public=signer.public_text, distrusted_from=None)
        for signer in signers.values()
    ]
    roles = {
        role: kinds.Grant(keys=[signer.keyid], threshold=1, kinds=list(kinds.ROLE_KINDS[role]))
        for role, signer in signers.items()
    }
    root = kinds.TrustRoot(
        ledger=ORIGIN, after=None, issued_at="2026-11-30T23:05:01Z", version=1, keys=keys, roles=roles
    )
    sequencer.begin(folder, root, [signers["root"]])
    return folder


def say(folder: Folder) -> Callable[[Callable[[dict[str, Any]], kinds.Body]], Record]:
    def one(make: Callable[[dict[str, Any]], kinds.Body]) -> Record:
        folder.store.flush()
        body = make({"ledger": ORIGIN, "after": read_checkpoint(folder).head, "issued_at": "2026-11-30T23:05:01Z"})
        envelope = sign_statement(body, [folder.keys.signer(ROLE_OF[kinds.kind_of(type(body))])])
        with sequencer.Sequencer.open(folder) as appender:
            return appender.append_records([envelope])[0]

    return one


def tell(folder: Folder) -> Story:
    return Story(say(folder), folder.store.put_bytes)


def tell_everything(folder: Folder, *, beside: bool = True) -> Story:
    """Every outcome, a retry, a withdrawal, a reinstatement, a partial entry, and an attempt beside the schedule."""
    story = tell(folder)
    story.plan(["oracle", "partial"], ["pricing", "docs"], repeats=2)
    for case in ("pricing", "docs"):
        for repeat in (1, 2):
            story.attempt("oracle", case, repeat, scores={"global_visual": 1_000_000, "functional": 1_000_000 - repeat})
    first = story.attempt("partial", "pricing", 1, outcome="harness-failure")
    story.attempt("partial", "pricing", 1, number=2, retry_of=first.id, scores={"functional": 333_333})
    gone = story.attempt("partial", "pricing", 2, scores={"functional": 900_000})
    story.withdraw("attempt", gone.id, gone.closed.digest)
    story.attempt("partial", "docs", 1, outcome="timeout")
    story.attempt("partial", "docs", 2, outcome="ungradeable", reason="build-failed")
    if beside:
        story.attempt("partial", "docs", 2, purpose="diagnostic", backend="native", outcome="timeout", scheduled=False)
    back = story.told[0]
    lifted = story.withdraw("attempt", back.id, back.closed.digest)
    story.withdraw("attempt", back.id, back.closed.digest, reinstates=lifted.digest)
    return story
