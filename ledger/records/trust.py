"""Who may say what, at which index of the log: a fold over the `trust-root` records.

    state = TrustState()
    state.install(root_1, envelope, 0)                  # self-signed, pinned elsewhere by its digest
    state.check(envelope, "case", 41)                   # → ("curator", ("3f…",)), or RecordRejected

Loading rules, after TUF (specification 1.0.33, section 5.3):

1. Root 1 is signed by its own `root` role. Root n+1 is signed by the thresholds of root n **and** of root n+1, its version is
   exactly n+1, and it takes effect right after its own index.
2. A key id is a hint. A signature counts when a key that the role holds verifies it, whatever id stands beside it.
3. A threshold counts unique key *material*: one key under two ids counts once, and a root that lists it twice is refused.
4. A key distrusted from index i counts at no index from i on. What it signed before stays valid.

Validity is in log indices, never in wall time. Which records exist and whether they fit together is `gate`'s.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.keys import PUBLIC_BYTES, keyid_of, verify
from store.errors import RecordRejected

__all__ = ["Signed", "TrustState"]

MANY_SIGNERS = frozenset({"trust-root", "release", "withdrawal"})
"""Kinds whose role may demand a threshold; every other record bears exactly one signature."""


@dataclass(frozen=True, slots=True)
class Signed:
    """Under which role a record was accepted, and the ids of the keys that count."""

    role: str
    keyids: tuple[str, ...]


class TrustState:
    """The trust root in force, and those before it."""

    def __init__(self) -> None:
        self.root: kinds.TrustRoot | None = None
        self._public: dict[str, bytes] = {}
        self._distrusted: dict[str, int] = {}

    def install(self, body: kinds.TrustRoot, envelope: Envelope, index: int) -> Signed:
        """Take a trust root into force, after checking it against the one before.

        Raises:
            RecordRejected: rules `trust-root`, `duplicate-key`, `unknown-key`, `signature`, `threshold`, `distrusted`.
        """
        signed, public, distrusted = self.examine(body, envelope, index)
        self.root, self._public, self._distrusted = body, public, distrusted
        return signed

    def examine(
        self, body: kinds.TrustRoot, envelope: Envelope, index: int
    ) -> tuple[Signed, dict[str, bytes], dict[str, int]]:
        """What `install` checks, changing nothing."""
        public = _keys(body)
        distrusted = {key.keyid: key.distrusted_from for key in body.keys if key.distrusted_from is not None}
        _check_roles(body, public)
        version = 1 if self.root is None else self.root.version + 1
        if body.version != version:
            raise RecordRejected("trust-root", f"version {body.version} where {version} follows")
        if self.root is not None:
            for key in self.root.keys:
                was, now = key.distrusted_from, distrusted.get(key.keyid)
                if was is not None and key.keyid in public and (now is None or now > was):
                    raise RecordRejected("trust-root", f"the distrust of key {key.keyid} is taken back")
            _count(self.root.roles["root"], self._public, self._distrusted, envelope, index)
        # A key that this very root distrusts from now on does not count towards it either.
        keyids = _count(body.roles["root"], public, distrusted, envelope, index)
        return Signed("root", keyids), public, distrusted

    def check(self, envelope: Envelope, kind: str, index: int) -> Signed:
        """Check that a record's signatures suffice for its kind at its index.

        Raises:
            RecordRejected: rules `no-trust-root`, `role`, `signature`, `threshold`, `distrusted`, `one-signature`.
        """
        if self.root is None:
            raise RecordRejected("no-trust-root", "a record before the first trust root", where=f"record {index}")
        if len(envelope.signatures) != 1 and kind not in MANY_SIGNERS:
            raise RecordRejected("one-signature", f"a {kind} bears exactly one signature", where=f"record {index}")
        failures: list[RecordRejected] = []
        for role, grant in sorted(self.root.roles.items()):
            if kind not in grant.kinds:
                continue
            try:
                return Signed(role, _count(grant, self._public, self._distrusted, envelope, index))
            except RecordRejected as error:
                failures.append(error)
        if not failures:
            raise RecordRejected("role", f"no role may sign a {kind}", where=f"record {index}")
        raise self._explain(failures[-1], envelope, kind, index)

    def public_keys(self, role: str) -> dict[str, bytes]:
        """The keys that a role holds now: id → 32 raw bytes."""
        if self.root is None or role not in self.root.roles:
            return {}
        return {keyid: self._public[keyid] for keyid in self.root.roles[role].keys}

    def _explain(self, failure: RecordRejected, envelope: Envelope, kind: str, index: int) -> RecordRejected:
        """A signature by a known key of another role deserves to be told apart from one by nobody."""
        if failure.rule != "signature":
            return failure
        for signature in envelope.signatures:
            for keyid, public in self._public.items():
                if verify(public, signature.sig, envelope.signed):
                    what = f"signed by key {keyid}, which holds no role that may sign a {kind}"
                    return RecordRejected("role", what, where=f"record {index}")
        return failure


def _keys(body: kinds.TrustRoot) -> dict[str, bytes]:
    public: dict[str, bytes] = {}
    for key in body.keys:
        try:
            raw = base64.b64decode(key.public, validate=True)
        except binascii.Error as error:
            raise RecordRejected("unknown-key", f"key {key.keyid} is not base64") from error
        if len(raw) != PUBLIC_BYTES or keyid_of(raw) != key.keyid:
            raise RecordRejected("unknown-key", f"key {key.keyid} is not the id of its bytes")
        if key.keyid in public:
            raise RecordRejected("duplicate-key", f"key {key.keyid} stands twice")
        public[key.keyid] = raw
    return public


def _check_roles(body: kinds.TrustRoot, public: dict[str, bytes]) -> None:
    if "root" not in body.roles:
        raise RecordRejected("trust-root", "no root role")
    for role, grant in body.roles.items():
        if len(set(grant.keys)) != len(grant.keys):
            raise RecordRejected("duplicate-key", f"role {role} lists a key twice")
        for keyid in grant.keys:
            if keyid not in public:
                raise RecordRejected("unknown-key", f"role {role} lists key {keyid}, which the root does not hold")
        if not 1 <= grant.threshold <= len(grant.keys):
            raise RecordRejected("threshold", f"role {role} asks for {grant.threshold} of {len(grant.keys)} keys")


def _count(
    grant: kinds.Grant, public: dict[str, bytes], distrusted: dict[str, int], envelope: Envelope, index: int
) -> tuple[str, ...]:
    """The ids of the role's keys that signed, each key once; at least the threshold."""
    message = envelope.signed
    counted: dict[bytes, str] = {}
    refused = ""
    for signature in envelope.signatures:
        hinted = [signature.keyid] if signature.keyid in grant.keys else []
        for keyid in [*hinted, *(other for other in grant.keys if other not in hinted)]:
            if not verify(public[keyid], signature.sig, message):
                continue
            if index >= distrusted.get(keyid, index + 1):
                refused = keyid
            else:
                counted[public[keyid]] = keyid
            break
    if len(counted) >= grant.threshold:
        return tuple(sorted(counted.values()))
    if refused:
        raise RecordRejected("distrusted", f"key {refused} is distrusted from record {distrusted[refused]} on", where=f"record {index}")
    if counted:
        what = f"{len(counted)} of {grant.threshold} signatures that the role demands"
        raise RecordRejected("threshold", what, where=f"record {index}")
    raise RecordRejected("signature", "no signature of a key that may sign it", where=f"record {index}")
