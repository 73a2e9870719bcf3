"""A log in memory behind a gate: real keys and signatures, real roots, no files.

world = World()
story = Story(world.say)              # tells records through the gate
world.refuses("chain", body)          # the rule that a body breaks, and nothing has changed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ledger.log import merkle
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.gate import Gate
from ledger.records.keys import Signer
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from store.digest import Digest
from store.errors import RecordRejected
from tests.unit.ledger.release.story import ORIGIN

TIME = "2026-11-30T23:05:01Z"
ROLE_OF = {kind: role for role, granted in kinds.ROLE_KINDS.items() for kind in granted}
SIGNERS = {role: Signer.from_seed(bytes([number]) * 32) for number, role in enumerate(kinds.ROLE_KINDS, 1)}
EXTRA = [Signer.from_seed(bytes([100 + number]) * 32) for number in range(4)]


def listed(signer: Signer, distrusted_from: int | None = None) -> kinds.PublicKey:
    return kinds.PublicKey(keyid=signer.keyid, public=signer.public_text, distrusted_from=distrusted_from)


def trust_root(
    version: int = 1,
    *,
    after: kinds.Head | None = None,
    keys: Sequence[kinds.PublicKey] | None = None,
    ledger: str = ORIGIN,
    **grants: kinds.Grant,
) -> kinds.TrustRoot:
    """One key a role, unless a grant says otherwise; underscores stand for the dashes of role names."""
    roles = {
        role: kinds.Grant(keys=[signer.keyid], threshold=1, kinds=list(kinds.ROLE_KINDS[role]))
        for role, signer in SIGNERS.items()
    }
    roles |= {role.replace("_", "-"): grant for role, grant in grants.items()}
    return kinds.TrustRoot(
        ledger=ledger,
        after=after,
        issued_at=TIME,
        version=version,
        keys=list(keys) if keys is not None else [listed(signer) for signer in (*SIGNERS.values(), *EXTRA)],
        roles=roles,
    )


class World:
    """A log of admitted records."""

    def __init__(self, root: kinds.TrustRoot | None = None, signers: Sequence[Signer] = (SIGNERS["root"],)) -> None:
        self.leaves: list[bytes] = []
        self.records: list[Record] = []
        self.gate = Gate(ORIGIN, self.root_at)
        self.admit(sign_statement(root or trust_root(), signers))

    def root_at(self, size: int) -> Digest:
        assert 1 <= size <= len(self.leaves), "asked for a root that the log never had"
        return Digest.from_raw(merkle.root([merkle.leaf_hash(leaf) for leaf in self.leaves[:size]]))

    @property
    def head(self) -> kinds.Head:
        return kinds.Head(size=len(self.leaves), root=self.root_at(len(self.leaves)))

    @property
    def base(self) -> dict[str, Any]:
        return {"ledger": ORIGIN, "after": self.head, "issued_at": TIME}

    def admit(self, envelope: Envelope) -> Record:
        record = self.gate.admit(envelope, self.gate.size)
        self.leaves.append(envelope.format())
        self.records.append(record)
        return record

    def sign(self, body: kinds.Body, *signers: Signer) -> Envelope:
        role = ROLE_OF[kinds.kind_of(type(body))]
        return sign_statement(body, signers or [SIGNERS[role]])

    def say(self, make: Callable[[dict[str, Any]], kinds.Body]) -> Record:
        return self.admit(self.sign(make(self.base)))

    def refuses(self, rule: str, body: kinds.Body | Envelope, *signers: Signer) -> RecordRejected:
        """Check that the gate refuses this by exactly that rule, and that it is as it was."""
        envelope = self.sign(body, *signers) if isinstance(body, kinds.Body) else body
        before, root = self.gate.size, self.gate.trust.root
        with pytest.raises(RecordRejected) as caught:
            self.gate.admit(envelope, before)
        assert caught.value.rule == rule, str(caught.value)
        assert self.gate.size == before
        assert self.gate.trust.root == root
        assert self.gate.known(envelope.payload_digest) is None or rule == "duplicate"
        assert caught.value.where
        return caught.value
