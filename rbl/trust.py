"""The trust root that follows, from a proposal to the log: proposed, signed on any number of machines, published.

    path = propose(folder, [Rotate("log"), Add(public, ("curator",))], Path("trust-2.json"))
    sign(folder, path, None)           # with the root keys at hand
    publish(folder, path)              # appended, and the keys that wait are put in place

Proposing and publishing need the log; signing needs `rbl.toml` and `trust/` alone, as a git clone has them. What a
proposal is lies in `ledger.records.proposal`; that nothing is half published is the sequencer's.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ledger.announce import Stamp, append
from ledger.folder import Folder
from ledger.log.authority import trust_chain, trust_envelopes
from ledger.records import kinds
from ledger.records.amend import SHOWN, Add, Change, Retire, amend, check_usable, differences
from ledger.records.keys import KeyRing, Signer
from ledger.records.proposal import Missing, Proposal
from ledger.records.record import Record
from ledger.records.rotation import held, make_next, next_ring, promote
from store import disk
from store.errors import CheckFailed, Conflict, InputError

__all__ = ["Rotate", "Standing", "follow", "propose", "publish", "sign"]


@dataclass(frozen=True, slots=True)
class Rotate:
    """Another key takes the place of the role's key at hand."""

    role: kinds.Role


@dataclass(frozen=True, slots=True)
class Standing:
    """A proposal as it stands.

    Attributes:
        proposal: itself.
        changes: what it changes, in plain words.
        signed: ids of the keys that signed it.
        missing: what is missing until it can be published.
    """

    proposal: Proposal
    changes: Sequence[str]
    signed: Sequence[str]
    missing: Sequence[Missing]


def propose(folder: Folder, changes: Iterable[Change | Rotate], path: Path) -> Standing:
    """Write the proposal of a trust root.

    Args:
        folder: the benchmark folder.
        changes: to the trust root in force.
        path: a new file.

    Raises:
        InputError: a change is not possible.
        Unavailable: a key that is to be rotated is not at hand.
        Conflict: the file is there.
        HarnessError: the disk refused.
    """
    stamp = Stamp.now(folder)
    before, record = trust_chain(folder)[-1], trust_envelopes(folder)[-1].digest
    if path.exists():
        raise Conflict("there is something of that name", where=str(path), fix="choose another with --out")
    made = [one for change in changes for one in _rotated(folder, change)]
    root = amend(before, made, stamp.after, stamp.issued_at)
    proposal = Proposal.of(root, record)
    disk.write_new(path, proposal.format(), 0o644)
    return _standing(proposal, before)


def sign(folder: Folder, path: Path, key: Path | None, *, only_show: bool = False) -> Standing:
    """Sign a proposal with the root keys at hand, and write it back.

    Args:
        folder: the benchmark folder, or a clone that has no log.
        path: the proposal.
        key: a key file to sign with instead.
        only_show: sign nothing.

    Raises:
        InputError: the file is no proposal, or no key at hand is a root key.
        RecordRejected: a signature in it does not count.
        Conflict: it does not follow the newest trust root.
        Unavailable: no root key is at hand.
    """
    proposal = _read(path)
    before = _followed(folder, proposal, path)
    standing = _standing(proposal, before)
    if only_show:
        return standing
    counting = proposal.root_keys(before)
    at_hand = _at_hand(folder, key)
    signers = [signer for signer in at_hand if signer.keyid in counting]
    if not signers:
        names = ", ".join(signer.keyid[:SHOWN] for signer in at_hand)
        what = f"the key {names} is a root key neither of version {before.version} nor of version {before.version + 1}"
        raise InputError(what, where=str(path), fix="sign with one of: " + ", ".join(one[:SHOWN] for one in counting))
    for signer in signers:
        proposal = proposal.with_signature(signer)
    _replace(path, proposal.format())
    return _standing(proposal, before)


def publish(folder: Folder, path: Path) -> tuple[Record[kinds.TrustRoot], list[kinds.Role]]:
    """Append a proposed trust root to the log, and put the keys in place that it lists instead of those in use.

    Publishing again what stands in the log finishes what was interrupted.

    Returns:
        The record, and the roles whose next key is in place now.

    Raises:
        InputError: the file is no proposal.
        RecordRejected: a signature in it does not count, or the gate refuses it.
        CheckFailed: signatures are missing.
        Conflict: it does not follow the newest trust root.
        Unavailable: the log key that it lists is not at hand.
    """
    proposal = _read(path)
    if trust_envelopes(folder)[-1].payload != proposal.envelope.payload:
        standing = _standing(proposal, _followed(folder, proposal, path))
        if standing.missing:
            what = "signatures are missing: " + "; ".join(map(str, standing.missing))
            raise CheckFailed(what, where=str(path), fix="pass the file to them: rbl trust sign FILE")
    record = append(folder, proposal.envelope)
    return record, follow(folder)


def follow(folder: Folder) -> list[kinds.Role]:
    """Put the next keys in place that the newest trust root lists instead of those in use.

    Returns:
        The roles whose key changed.
    """
    root = trust_chain(folder)[-1]
    size = 0 if root.after is None else root.after.size
    trusted = {key.keyid for key in root.keys if key.distrusted_from is None or key.distrusted_from > size}
    roles: tuple[kinds.Role, ...] = get_args(kinds.Role)
    return [
        role
        for role in roles
        if role in root.roles and promote(folder.keys, role, trusted.intersection(root.roles[role].keys))
    ]


def _rotated(folder: Folder, change: Change | Rotate) -> list[Change]:
    """A change as those that the trust root knows; a next key that waits already is taken."""
    if not isinstance(change, Rotate):
        return [change]
    old = folder.keys.signer(change.role)
    after = next_ring(folder.keys, change.role)
    new = after.signer(change.role) if after.path(change.role).is_file() else make_next(folder.keys, change.role)
    return [Add(new.public_text, (change.role,)), Retire(old.keyid, change.role)]


def _read(path: Path) -> Proposal:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the proposal: {error.strerror}", where=str(path)) from error
    return Proposal.parse(data, where=str(path))


def _followed(folder: Folder, proposal: Proposal, path: Path) -> kinds.TrustRoot:
    """The trust root in force, which the proposal must follow."""
    root, newest = trust_chain(folder)[-1], trust_envelopes(folder)[-1]
    if newest.payload == proposal.envelope.payload:
        raise Conflict(f"it is published already: trust root {root.version}", where=str(path))
    if proposal.root.ledger != folder.config.origin:
        raise InputError(f"a proposal for {proposal.root.ledger}, not for {folder.config.origin}", where=str(path))
    if proposal.version > root.version:
        what = f"it follows trust root {proposal.version}, and the newest here is {root.version}"
        raise Conflict(what, where=str(path), fix="bring trust/ up to date first")
    if (proposal.version, proposal.record) != (root.version, newest.digest):
        what = f"it follows trust root {proposal.version}, and meanwhile somebody published {root.version}"
        if proposal.version == root.version:
            what = f"it follows another trust root {root.version} than this ledger's"
        raise Conflict(what, where=str(path), fix="propose the change again, and have that signed")
    return root


def _standing(proposal: Proposal, before: kinds.TrustRoot) -> Standing:
    """A proposal as it stands, which is refused where its trust root could not be used."""
    assert proposal.root.after is not None
    check_usable(proposal.root, proposal.root.after.size)
    changes = differences(before, proposal.root)
    return Standing(proposal, changes, proposal.signers(before), proposal.missing(before))


def _at_hand(folder: Folder, key: Path | None) -> list[Signer]:
    if key is not None:
        return [KeyRing(key.parent, {"root": key}).signer("root")]
    return held(folder.keys, "root") or [folder.keys.signer("root")]


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole, or leave it as it was."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    disk.write_new(beside, data, 0o644)
    with disk.faults("cannot write the proposal", path):
        beside.replace(path)
        disk.sync_directory(path.resolve().parent)
