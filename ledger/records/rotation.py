"""The key that follows: made beside the one in use, and put in its place once the trust root lists it.

    curator.pem                   the key in use
    curator.next.pem              `make_next`: signs nothing that counts until a trust root lists it
    curator.3f9a51c07b12.pem      what was in use before: `promote` sets it aside and deletes nothing

Between the trust root and `promote` both files are there, and `listed_signer` takes the one that is listed: a crash in
between, or a second machine that has not caught up, stops nothing. What a trust root lists is `ledger.records.trust`'s.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from ledger.records.keys import KeyRing, Signer
from ledger.records.kinds import Role
from store import disk
from store.errors import Conflict

__all__ = ["held", "listed_signer", "make_next", "next_ring", "promote"]

_SHOWN: Final = 12


def next_ring(ring: KeyRing, role: Role) -> KeyRing:
    """A ring in which the role's key is the one that follows."""
    return KeyRing(ring.directory, {role: _next_path(ring, role)})


def make_next(ring: KeyRing, role: Role) -> Signer:
    """Make the key that will follow the role's key.

    Raises:
        Conflict: one waits already.
        HarnessError: the disk refused.
    """
    return next_ring(ring, role).create(role)


def held(ring: KeyRing, role: Role) -> list[Signer]:
    """The role's keys at hand: the one in use, then the one that follows."""
    return [keys.signer(role) for keys in (ring, next_ring(ring, role)) if keys.path(role).is_file()]


def listed_signer(ring: KeyRing, role: Role, listed: Collection[str]) -> Signer:
    """The key at hand that is among the listed ids; the one in use where none is.

    Raises:
        Unavailable: no key of the role is at hand.
        InputError: a file is not a key, or others may read it.
    """
    return next((signer for signer in held(ring, role) if signer.keyid in listed), None) or ring.signer(role)


def promote(ring: KeyRing, role: Role, listed: Collection[str]) -> bool:
    """Put the following key in place of the one in use, if it is listed and the one in use is not.

    Args:
        ring: the keys.
        role: whose.
        listed: ids of the keys that hold the role now.

    Returns:
        Whether anything was moved.

    Raises:
        Conflict: a file of the old key's name is there.
        HarnessError: the disk refused.
    """
    place, after = ring.path(role), _next_path(ring, role)
    if not after.is_file() or next_ring(ring, role).signer(role).keyid not in listed:
        return False
    with disk.faults("cannot put the key in place", place):
        if place.is_file():
            old = ring.signer(role)
            if old.keyid in listed:
                return False
            aside = place.with_name(f"{place.stem}.{old.keyid[:_SHOWN]}{place.suffix}")
            if aside.exists():
                raise Conflict("there is something of the old key's name", where=str(aside), fix="move it away")
            place.rename(aside)
        after.rename(place)
        disk.sync_directory(place.parent)
    return True


def _next_path(ring: KeyRing, role: Role) -> Path:
    place = ring.path(role)
    return place.with_name(f"{place.stem}.next{place.suffix}")
