"""Who may say what, at which index of the log: a fold over the `trust-root` records.

    trust = TrustState()
    trust.install(root_1, envelope, 0)           # self-signed; that its leaf is the pinned one is the caller's
    trust.check(envelope, "case", 41)            # Signed("curator", ("3f9a…",)), or RecordRejected

The rules, after TUF (specification 1.0.33, section 5.3; its chaining, not its file format):

1. Root 1 is signed by its own root role. Root n+1 is signed by the thresholds of root n **and** of root n+1, has
   exactly the next version, and takes effect right after its own index.
2. A key id is a hint: where the hinted key does not verify, every other known key is tried.
3. A threshold counts key *material*, each once; a second signature by one key is refused, whatever id stands beside it
   (theupdateframework/go-tuf#733, python-tuf#1091). Every signature must count: none is passed over.
4. A key distrusted from index i counts at no index from i on, and never becomes trusted again: also not by a later
   root that leaves it out, and one after that which lists it anew.
5. Keys of the log and of witnesses sign nothing else.

Validity is in log indices, never in wall time. Which records exist and whether they fit together is the gate's.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from ledger.records import keys, kinds
from ledger.records.envelope import Envelope
from store.errors import RecordRejected

__all__ = ["SEVERAL_SIGNATURES", "Signed", "TrustState", "check_sound", "distrusted", "public_keys", "signers_of"]

SEVERAL_SIGNATURES: Final = frozenset({"trust-root", "release", "withdrawal"})
"""Kinds whose role may demand a threshold; every other record bears exactly one signature."""

_APART: Final = ("log", "witness")
_NONE: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Signed:
    """Under which role a record was accepted, and the ids of the keys that were counted."""

    role: str
    keyids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rules:
    """One trust root, checked and ready for use.

    Attributes:
        body: as recorded.
        public: key id → 32 raw bytes.
        limits: key id → index from which it is distrusted.
        plain: what one trusted key by itself may sign, as it was found out: the same at every index.
    """

    body: kinds.TrustRoot
    public: Mapping[str, bytes]
    limits: Mapping[str, int]
    plain: dict[tuple[str, str], Signed] = field(default_factory=dict)

    @classmethod
    def of(cls, body: kinds.TrustRoot, before: Mapping[str, int] = _NONE) -> Self:
        """Check a trust root by itself; `before` are the limits of the one it follows."""
        public = public_keys(body)
        _check_roles(body, public)
        return cls(body, MappingProxyType(public), {**before, **_limits(body)})

    def distrusts(self, keyid: str, index: int) -> bool:
        limit = self.limits.get(keyid)
        return limit is not None and index >= limit

    def count(self, role: str, signers: Sequence[str], index: int) -> tuple[str, ...]:
        """The signers that hold the role and are trusted; at least its threshold of them.

        Raises:
            RecordRejected: `role`, `distrusted` or `threshold`.
        """
        grant = self.body.roles[role]
        holders = [keyid for keyid in signers if keyid in grant.keys]
        if not holders:
            raise RecordRejected("role", f"signed by {', '.join(signers)}, none of which holds the role {role}")
        counted = tuple(keyid for keyid in holders if not self.distrusts(keyid, index))
        if not counted:
            limit = self.limits[holders[0]]
            raise RecordRejected("distrusted", f"the key {holders[0]} is distrusted from record {limit} on")
        if len(counted) < grant.threshold:
            raise RecordRejected("threshold", f"{len(counted)} of the {grant.threshold} signatures of the role {role}")
        return counted


class TrustState:
    """The trust root in force.

    Args:
        root: the one in force already, which was installed before; none at the beginning of a log.
        limits: of every key that it or an earlier one distrusts: the index from which.
    """

    def __init__(self, root: kinds.TrustRoot | None = None, limits: Mapping[str, int] = _NONE) -> None:
        self._rules = None if root is None else _Rules.of(root, limits)

    @property
    def root(self) -> kinds.TrustRoot | None:
        """The trust root in force; None before the first."""
        return None if self._rules is None else self._rules.body

    @property
    def limits(self) -> Mapping[str, int]:
        """Every key that this trust root or an earlier one distrusts, and the index from which."""
        return _NONE if self._rules is None else MappingProxyType(self._rules.limits)

    def public_keys(self, role: str) -> dict[str, bytes]:
        """The keys that a role holds now: id → 32 raw bytes."""
        if self._rules is None or role not in self._rules.body.roles:
            return {}
        return {keyid: self._rules.public[keyid] for keyid in self._rules.body.roles[role].keys}

    def distrusts(self, keyid: str, index: int) -> bool:
        """Whether the root in force says that the key's signature at this index does not count, or not any more."""
        return self._rules is not None and self._rules.distrusts(keyid, index)

    def check(self, envelope: Envelope, kind: str, index: int) -> Signed:
        """Check that a record's signatures suffice for its kind at its index. Not for trust roots.

        Args:
            envelope: the record.
            kind: of its body.
            index: its place in the log.

        Raises:
            RecordRejected: `no-trust-root`, `one-signature`, `signature`, `unknown-key`, `duplicate-key`, `role`,
                `distrusted` or `threshold`.
        """
        public = {} if self._rules is None else self._rules.public
        _check_number(len(envelope.signatures), kind)
        return self.check_signers(signers_of(envelope, public) if public else [], kind, index)

    def check_signers(self, signers: Sequence[str], kind: str, index: int) -> Signed:
        """The same, of signatures that were verified already.

        Args:
            signers: the id of the key that each signature was verified with.
            kind: of the record's body.
            index: its place in the log.

        Raises:
            RecordRejected: as `check`, but for `signature`.
        """
        rules = self._rules
        if rules is None:
            raise RecordRejected("no-trust-root", f"a {kind} before the first trust root", fix="run `rbl init`")
        plain = (signers[0], kind) if len(signers) == 1 and signers[0] not in rules.limits else None
        if plain is not None and (found := rules.plain.get(plain)) is not None:
            return found
        _check_number(len(signers), kind)
        if unknown := set(signers) - set(rules.public):
            raise RecordRejected("unknown-key", f"signed by {', '.join(unknown)}, which the trust root does not list")
        if len(set(signers)) != len(signers):
            raise RecordRejected("duplicate-key", "one key signed twice; it counts once")
        roles = [role for role, grant in sorted(rules.body.roles.items()) if kind in grant.kinds]
        if not roles:
            raise RecordRejected("role", f"no role may sign a {kind}")
        # of several roles that may sign it, the one that most of them hold
        best = max(roles, key=lambda role: len(set(signers).intersection(rules.body.roles[role].keys)))
        counted = rules.count(best, signers, index)
        if len(counted) != len(signers):
            others = set(signers) - set(counted)
            rule = "distrusted" if others <= set(rules.body.roles[best].keys) else "role"
            raise RecordRejected(rule, f"signed also by {', '.join(sorted(others))}, which may not sign a {kind}")
        signed = Signed(best, counted)
        if plain is not None:
            rules.plain[plain] = signed
        return signed

    def check_root(self, body: kinds.TrustRoot, envelope: Envelope, index: int) -> Signed:
        """Check that a trust root may follow the one in force, changing nothing.

        Args:
            body: what it says.
            envelope: its record.
            index: its place in the log.

        Raises:
            RecordRejected: `trust-root`, `duplicate-key`, `signature`, `unknown-key`, `role`, `distrusted` or
                `threshold`.
        """
        return self._successor(body, envelope, index)[1]

    def install(self, body: kinds.TrustRoot, envelope: Envelope, index: int) -> Signed:
        """Take a trust root into force, after the same checks.

        Raises:
            RecordRejected: as `check_root`; the one before stays in force.
        """
        self._rules, signed = self._successor(body, envelope, index)
        return signed

    def _successor(self, body: kinds.TrustRoot, envelope: Envelope, index: int) -> tuple[_Rules, Signed]:
        before = self._rules
        new = _Rules.of(body) if before is None else _Rules.of(body, before.limits)
        version = 1 if before is None else before.body.version + 1
        if body.version != version:
            raise RecordRejected("trust-root", f"version {body.version}, where {version} is the next")
        if (body.after is None) != (version == 1):
            raise RecordRejected("trust-root", "version 1 comes after nothing, and every other one after a head")
        if before is not None:
            _check_distrust(before, body)
        signers = signers_of(envelope, new.public if before is None else {**before.public, **new.public})
        counted = set(new.count("root", signers, index))
        if before is not None:
            counted |= set(before.count("root", signers, index))
        if others := set(signers) - counted:
            raise RecordRejected("role", f"signed also by {', '.join(sorted(others))}, which may not sign a trust root")
        return new, Signed("root", tuple(sorted(counted)))


def distrusted(roots: Sequence[kinds.TrustRoot]) -> dict[str, int]:
    """Every key that a chain of trust roots distrusts, and the index from which: also keys that are listed no more."""
    found: dict[str, int] = {}
    for body in roots:
        found |= _limits(body)
    return found


def check_sound(body: kinds.TrustRoot) -> None:
    """Check a trust root by itself: its keys, and that every threshold can be met.

    Raises:
        RecordRejected: `trust-root` or `duplicate-key`.
    """
    _Rules.of(body)


def signers_of(envelope: Envelope, public: Mapping[str, bytes]) -> list[str]:
    """The id of the key behind each signature, all different.

    Raises:
        RecordRejected: `signature`, `unknown-key` or `duplicate-key`.
    """
    found: list[str] = []
    message = envelope.signed
    for signature in envelope.signatures:
        hint = signature.keyid
        candidates = [hint, *(known for known in public if known != hint)] if hint in public else list(public)
        keyid = next((name for name in candidates if keys.verify(public[name], signature.sig, message)), None)
        if keyid is None:
            if hint in public:
                raise RecordRejected("signature", f"the signature of the key {hint} does not verify")
            raise RecordRejected("unknown-key", f"signed by no key of the trust root; it names {hint[:64]!r}")
        if keyid in found:
            raise RecordRejected("duplicate-key", f"the key {keyid} signed twice; it counts once")
        found.append(keyid)
    return found


def _check_number(signatures: int, kind: str) -> None:
    if signatures > 1 and kind not in SEVERAL_SIGNATURES:
        raise RecordRejected("one-signature", f"{signatures} signatures; a {kind} bears exactly one")


def public_keys(body: kinds.TrustRoot) -> dict[str, bytes]:
    """The keys that a trust root lists: id → 32 raw bytes.

    Raises:
        RecordRejected: `trust-root` or `duplicate-key`.
    """
    found: dict[str, bytes] = {}
    for key in body.keys:
        try:
            raw = base64.b64decode(key.public, validate=True)
        except binascii.Error as error:
            raise RecordRejected("trust-root", f"the key {key.keyid} is not base64") from error
        if base64.b64encode(raw).decode() != key.public or keys.keyid_of(raw) != key.keyid:
            raise RecordRejected("trust-root", f"{key.keyid} is not the id of the key it stands beside")
        if not keys.sound_point(raw):
            raise RecordRejected("trust-root", f"the key {key.keyid} is of small order, or not canonical")
        if key.keyid in found:
            raise RecordRejected("duplicate-key", f"the key {key.keyid} stands twice in the trust root")
        found[key.keyid] = raw
    return found


def _check_roles(body: kinds.TrustRoot, public: Mapping[str, bytes]) -> None:
    for role, grant in body.roles.items():
        for keyid in grant.keys:
            if keyid not in public:
                raise RecordRejected("trust-root", f"the role {role} is given to the key {keyid}, which is not listed")
        if len(set(grant.keys)) != len(grant.keys):
            raise RecordRejected("duplicate-key", f"the role {role} lists a key twice")
        if grant.threshold > len(grant.keys):
            raise RecordRejected("trust-root", f"the role {role} asks for {grant.threshold} of {len(grant.keys)} keys")
        if "trust-root" in grant.kinds and role != "root":
            raise RecordRejected("trust-root", f"the role {role} may not sign trust roots")
        if role in _APART and grant.kinds:
            raise RecordRejected("trust-root", f"the role {role} signs no records")
    for role in _APART:
        for keyid in body.roles[role].keys if role in body.roles else ():
            others = [other for other, grant in body.roles.items() if other != role and keyid in grant.keys]
            if others:
                raise RecordRejected("trust-root", f"the key {keyid} holds the role {role} and {others[0]} too")


def _check_distrust(before: _Rules, body: kinds.TrustRoot) -> None:
    listed = {key.keyid: key.distrusted_from for key in body.keys}
    for keyid, limit in before.limits.items():
        if keyid not in listed:
            continue
        said = listed[keyid]
        if said is None or said > limit:
            raise RecordRejected("trust-root", f"the key {keyid} was distrusted from record {limit} on, and still is")


def _limits(body: kinds.TrustRoot) -> dict[str, int]:
    return {key.keyid: key.distrusted_from for key in body.keys if key.distrusted_from is not None}
