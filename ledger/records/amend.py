"""The next trust root, from the one in force and what is to change; and what changed between two, in plain words.

    amend(root, [Retire("3f9a…"), Add(public, ("curator",)), Threshold("root", 2)], stamp)
    differences(root, that)      # ["the key 3f9a51c07b12 is listed no more", …]: all of it, for those who sign
    check_usable(that, 41)       # InputError where a role could not sign what it is for

Keys are named by id, whole or its beginning, or by the role that one key alone holds. Whether a trust root may
follow another, and who must have signed it, is `ledger.records.trust`'s; here it is only made, and held against
mistakes that would lock its makers out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, get_args

import msgspec

from ledger.records import kinds
from ledger.records.keys import PUBLIC_SIZE, keyid_of
from ledger.records.trust import SEVERAL_SIGNATURES, check_sound
from store.errors import InputError, RecordRejected

__all__ = [
    "SHOWN",
    "Add",
    "Change",
    "Distrust",
    "Give",
    "Retire",
    "Threshold",
    "amend",
    "check_usable",
    "differences",
]

SHOWN: Final = 12
"""Digits of a key id that people are shown; fewer name a key too, where no other begins so."""

_LEAST: Final = 4
_but = msgspec.structs.replace


@dataclass(frozen=True, slots=True)
class Add:
    """A key for some roles: the base64 of its 32 bytes, or the name of a listed one."""

    key: str
    roles: tuple[kinds.Role, ...]


@dataclass(frozen=True, slots=True)
class Retire:
    """A key leaves its roles, or one of them; what it signed before stands. A key without a role is listed no more."""

    key: str
    role: kinds.Role | None = None


@dataclass(frozen=True, slots=True)
class Distrust:
    """What a key signed at an index or after it does not count, or not any more."""

    key: str
    index: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """How many keys of a role must sign."""

    role: kinds.Role
    number: int


@dataclass(frozen=True, slots=True)
class Give:
    """A role may sign a kind of record; or may not any more."""

    kind: str
    role: kinds.Role
    take: bool = False


Change = Add | Retire | Distrust | Threshold | Give


def amend(root: kinds.TrustRoot, changes: Iterable[Change], after: kinds.Head, issued_at: str) -> kinds.TrustRoot:
    """The trust root that follows.

    Args:
        root: in force.
        changes: made in this order.
        after: the head of the log that it is made after.
        issued_at: RFC 3339, UTC.

    Raises:
        InputError: a change names what is not there, changes nothing, or leaves a trust root that cannot be used.
    """
    draft = _Draft(root)
    for change in changes:
        draft.make(change)
    body = draft.body(after, issued_at)
    if not differences(root, body):
        raise InputError("the proposal changes nothing", fix="say what is to change: rbl trust propose --help")
    check_usable(body, after.size)
    return body


class _Draft:
    def __init__(self, root: kinds.TrustRoot) -> None:
        self._root = root
        self._keys = {key.keyid: key for key in root.keys}
        self._roles = dict(root.roles)

    def make(self, change: Change) -> None:
        match change:
            case Add():
                self._add(change)
            case Retire():
                self._retire(change)
            case Distrust():
                keyid = self._find(change.key)
                before = self._keys[keyid].distrusted_from
                if before is not None and change.index > before:
                    what = f"the key {keyid[:SHOWN]} is distrusted from record {before} on, and never less"
                    raise InputError(what, fix=f"name an index of at most {before}")
                self._keys[keyid] = _but(self._keys[keyid], distrusted_from=change.index)
            case Threshold():
                self._roles[change.role] = _but(self._grant(change.role), threshold=change.number)
            case Give():
                self._give(change)

    def _add(self, change: Add) -> None:
        public = _public(change.key)
        if public is None:
            keyid = self._find(change.key)
        else:
            keyid = keyid_of(public)
            added = kinds.PublicKey(keyid=keyid, public=change.key, distrusted_from=None)
            self._keys.setdefault(keyid, added)
        for role in change.roles:
            grant = self._roles.get(role, kinds.Grant(keys=[], threshold=1, kinds=list(kinds.ROLE_KINDS[role])))
            if keyid in grant.keys:
                raise InputError(f"the key {keyid[:SHOWN]} holds the role {role} already")
            self._roles[role] = _but(grant, keys=[*grant.keys, keyid])

    def _retire(self, change: Retire) -> None:
        keyid = self._find(change.key)
        held = [role for role, grant in self._roles.items() if keyid in grant.keys]
        if change.role is not None and change.role not in held:
            raise InputError(f"the key {keyid[:SHOWN]} does not hold the role {change.role}")
        for role in held if change.role is None else [change.role]:
            grant = self._roles[role]
            self._roles[role] = _but(grant, keys=[other for other in grant.keys if other != keyid])

    def _give(self, change: Give) -> None:
        grant = self._grant(change.role)
        if change.kind not in kinds.KINDS:
            raise InputError(f"no kind of record is called {change.kind!r}", fix=f"one of: {', '.join(kinds.KINDS)}")
        if (change.kind in grant.kinds) is not change.take:
            verb = "cannot sign" if change.take else "may sign"
            raise InputError(f"the role {change.role} {verb} {change.kind} already")
        left = [kind for kind in grant.kinds if kind != change.kind]
        self._roles[change.role] = _but(grant, kinds=left if change.take else [*left, change.kind])

    def _find(self, name: str) -> str:
        """The id of the key that a text names."""
        grant = self._root.roles.get(name)
        found = [] if grant is None else grant.keys
        if grant is None and len(name) >= _LEAST:
            found = [key.keyid for key in self._keys.values() if key.keyid.startswith(name.lower())]
        if len(found) != 1:
            what = f"{len(found)} keys of the trust root are called {name!r}"
            raise InputError(what, fix=f"see `rbl trust show`, and give at least {_LEAST} digits of a key id")
        return found[0]

    def _grant(self, role: kinds.Role) -> kinds.Grant:
        if role not in self._roles:
            raise InputError(
                f"no key holds the role {role}", fix=f"give it to one in the same proposal: --add KEY:{role}"
            )
        return self._roles[role]

    def body(self, after: kinds.Head, issued_at: str) -> kinds.TrustRoot:
        for role, grant in self._roles.items():
            if not grant.keys:
                what = f"the role {role} would have no key"
                raise InputError(what, fix=f"name another in the same proposal: --add KEY:{role}")
        held = {keyid for grant in self._roles.values() for keyid in grant.keys}
        listed = [key for key in self._keys.values() if key.keyid in held or key.distrusted_from is not None]
        return _but(
            self._root,
            after=after,
            issued_at=issued_at,
            version=self._root.version + 1,
            keys=sorted(listed, key=lambda key: key.keyid),
            roles=self._roles,
        )


def check_usable(body: kinds.TrustRoot, index: int) -> None:
    """See that every role of a trust root can still do what it is for.

    Args:
        body: the trust root.
        index: of the next record of the log.

    Raises:
        InputError: a role has too few trusted keys, or a threshold that its kinds of record cannot meet.
    """
    trusted = {key.keyid for key in body.keys if key.distrusted_from is None or key.distrusted_from > index}
    for role, grant in body.roles.items():
        single = [kind for kind in grant.kinds if kind not in SEVERAL_SIGNATURES]
        if grant.threshold > 1 and single:
            what = f"a threshold of {grant.threshold} for the role {role}, which signs {', '.join(single)}: "
            what += "a record of such a kind bears one signature, so that nobody could write it any more"
            fix = f"only {', '.join(sorted(SEVERAL_SIGNATURES))} may bear several: give them a role of their own"
            raise InputError(what, fix=fix)
        able = [keyid for keyid in grant.keys if keyid in trusted]
        if len(able) < grant.threshold:
            what = f"the role {role} asks for {grant.threshold} signatures, and {len(able)} keys could give one"
            raise InputError(what, fix=f"lower the threshold, or name more keys in the same proposal: --add KEY:{role}")
    if "trust-root" not in body.roles["root"].kinds:
        raise InputError("the role root would not sign trust roots: no other could ever follow")
    if "log" not in body.roles or body.roles["log"].threshold > 1:
        raise InputError("the log needs a role log, and one signature makes a checkpoint")
    try:
        check_sound(body)
    except RecordRejected as error:
        raise InputError(f"no trust root says that: {error.what}") from error


def differences(old: kinds.TrustRoot, new: kinds.TrustRoot) -> list[str]:
    """All that a trust root changes, a line each; not that its version is the next.

    Raises:
        InputError: it is of another ledger.
    """
    if old.ledger != new.ledger:
        raise InputError(f"a trust root of {new.ledger}, and this is {old.ledger}")
    return [*_keys_changed(old, new), *_roles_changed(old, new)]


def _keys_changed(old: kinds.TrustRoot, new: kinds.TrustRoot) -> list[str]:
    before, after = ({key.keyid: key for key in root.keys} for root in (old, new))
    lines = []
    for keyid, key in after.items():
        if keyid not in before:
            lines.append(f"the key {keyid[:SHOWN]} is new: {key.public}")
        elif before[keyid].public != key.public:
            lines.append(f"the key {keyid[:SHOWN]} becomes {key.public}")
        said, was = key.distrusted_from, before[keyid].distrusted_from if keyid in before else None
        if said != was:
            what = "is trusted again" if said is None else f"is distrusted: what it signs from record {said} on is void"
            lines.append(f"the key {keyid[:SHOWN]} {what}")
    lines += [f"the key {keyid[:SHOWN]} is listed no more" for keyid in before if keyid not in after]
    return lines


def _roles_changed(old: kinds.TrustRoot, new: kinds.TrustRoot) -> list[str]:
    nobody = kinds.Grant(keys=[], threshold=0, kinds=[])
    lines = []
    for role in get_args(kinds.Role):
        was, will = old.roles.get(role, nobody), new.roles.get(role, nobody)
        lines += [f"the role {role} gets the key {keyid[:SHOWN]}" for keyid in will.keys if keyid not in was.keys]
        lines += [f"the role {role} loses the key {keyid[:SHOWN]}" for keyid in was.keys if keyid not in will.keys]
        if (was.threshold, len(was.keys)) != (will.threshold, len(will.keys)):
            lines.append(
                f"the role {role} asks for {will.threshold} of {len(will.keys)} keys"
                f" instead of {was.threshold} of {len(was.keys)}"
            )
        lines += [f"the role {role} may sign {kind}" for kind in will.kinds if kind not in was.kinds]
        lines += [f"the role {role} may no longer sign {kind}" for kind in was.kinds if kind not in will.kinds]
    return lines


def _public(text: str) -> bytes | None:
    """The 32 bytes of a key in base64; None where the text is something else."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == PUBLIC_SIZE and base64.b64encode(raw).decode() == text else None
