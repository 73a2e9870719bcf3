"""Tampers with copies of a benchmark folder, and shows that each is found and by what name.

    for shown in tamper(folder, say):
        shown.name        # "edited-verdict"
        shown.done        # "record 41: the total 640000 of a verdict was written as 999999, and the log signed again"
        shown.found       # (Found("signature", "record 41", "the signature of the key … does not verify: …"),)

The folder itself is only read. Each copy is of what an auditor is handed: configuration, trust roots, log, objects and
releases. Some of it is what anybody with the files can do; the rest needs the keys of this user, as an operator who
cheats has them: the log is then built and signed again, so that every tile, proof and head of the copy is in order. The
verifications are those of `rbl ledger verify` and `rbl release verify`, by an auditor who knows the first trust root
and nothing else; only the rollback needs one who has seen the log before.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import pinned_root
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.pin import Pin
from ledger.log.tiles import bundles_of
from ledger.log.writer import LogWriter
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from ledger.release.verify import verify
from ledger.verify import verify_ledger
from store import disk
from store.digest import Digest
from store.errors import CheckFailed, InputError

__all__ = ["TAMPERINGS", "Found", "Shown", "tamper"]

_HANDED: Final = ("rbl.toml", "trust", "log", "objects", "releases")


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a verification; see `docs/rules.md`."""

    rule: str
    record: str
    consequence: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One tampering and what came of it.

    Attributes:
        name: which.
        done: what was done to the copy.
        command: the verification that was run on it.
        found: its findings; the first one names the tampering.
    """

    name: str
    done: str
    command: str
    found: tuple[Found, ...]


class _Copy(Folder):
    """A copy, on the machine of an auditor who remembers what stands beside it."""

    @property
    def state(self) -> Path:
        return self.root.parent / "remembered"


@dataclass(frozen=True)
class _Scene:
    """What there is to tamper with: the original's records, and a copy."""

    original: Folder
    ledger: Ledger
    release: str
    copy: Folder

    def leaves(self) -> list[bytes]:
        return list(self.ledger.log.entries())

    def first(self, wanted: type[kinds.B], fits: Callable[[kinds.B], bool] = lambda _: True) -> Record[kinds.B]:
        """The first record of a kind."""
        for record in self.ledger.of(wanted):
            if fits(record.body):
                return record
        what = f"no {kinds.kind_of(wanted)} in this ledger that could be tampered with"
        raise InputError(what, where=str(self.original.root), fix="run the demo: rbl demo --tamper")

    def sign_again(self, leaves: list[bytes]) -> None:
        """Replace the copy's log by one of these leaves, with true tiles and a true signature."""
        with disk.faults("cannot tamper with the copy", self.copy.log):
            shutil.rmtree(self.copy.log)
        writer = LogWriter(self.copy.log, None)
        writer.integrate(leaves)
        root = Digest.from_raw(merkle.root([merkle.leaf_hash(leaf) for leaf in leaves]))
        head = Checkpoint(self.original.config.origin, len(leaves), root)
        writer.publish(sign_checkpoint(head, self.original.keys.signer("log")))


def _edited_verdict(scene: _Scene) -> str:
    record = scene.first(kinds.Evaluation)
    leaves = scene.leaves()
    envelope = Envelope.parse(leaves[record.index])
    total = record.body.verdict.total
    wanted = kinds.FULL if total != kinds.FULL else kinds.FULL - 1
    payload = envelope.payload.replace(f'"total":{total},'.encode(), f'"total":{wanted},'.encode())
    leaves[record.index] = Envelope(payload, envelope.payload_type, envelope.signatures).format()
    scene.sign_again(leaves)
    return f"record {record.index}: the total {total} of a verdict was written as {wanted}, and the log signed again"


def _dropped_attempt(scene: _Scene) -> str:
    record = scene.first(kinds.AttemptOpened)
    attempt = record.body.chain.attempt
    gone = {item.index for item in scene.ledger.attempt(attempt).all()}
    scene.sign_again([leaf for index, leaf in enumerate(scene.leaves()) if index not in gone])
    return f"the {len(gone)} records of {attempt} were left out, and the log signed again"


def _rolled_back_log(scene: _Scene) -> str:
    Pin(scene.copy.state).remember(scene.ledger.head)
    size = scene.ledger.head.size - 1
    scene.sign_again(scene.leaves()[:size])
    return f"the log was cut back to {size} of its {size + 1} records, under a true signature"


def _swapped_evaluation(scene: _Scene) -> str:
    closed = scene.first(kinds.AttemptClosed, lambda body: body.evaluation is not None)
    mine = closed.body.evaluation
    other = next(
        (
            record
            for record in scene.ledger.of(kinds.Evaluation)
            if record.body.attempt != closed.body.chain.attempt
            and record.digest != mine
            and record.index < closed.index
        ),
        None,
    )
    if other is None:  # the first was closed before there was another verdict
        closed = scene.first(kinds.AttemptClosed, lambda body: body.evaluation not in {None, mine})
        other = scene.first(kinds.Evaluation)
    leaves = scene.leaves()
    body = msgspec.structs.replace(closed.body, evaluation=other.digest)
    leaves[closed.index] = sign_statement(body, [scene.original.keys.signer("runner")]).format()
    scene.sign_again(leaves)
    return (
        f"record {closed.index}: {closed.body.chain.attempt} was closed with the verdict on {other.body.attempt}, "
        "signed by the runner, and the log signed again"
    )


def _changed_leaf(scene: _Scene) -> str:
    bundle = scene.copy.log / str(bundles_of(0, scene.ledger.head.size)[0])
    _flip(bundle, bundle.stat().st_size // 2)
    return f"one bit of {bundle.relative_to(scene.copy.root)} was flipped"


def _changed_result(scene: _Scene) -> str:
    place = scene.copy.releases / scene.release / "results.json"
    data = place.read_bytes()
    at = next(number for number in range(len(data) - 1, -1, -1) if data[number : number + 1].isdigit())
    _flip(place, at)
    return f"the last digit in {place.relative_to(scene.copy.root)} was changed"


def _changed_picture(scene: _Scene) -> str:
    scope = scene.ledger.release(scene.release).body.schedule
    counted = {
        record.body.chain.attempt for record in scene.ledger.of(kinds.AttemptOpened) if record.body.schedule == scope
    }
    shown = scene.first(
        kinds.Captures, lambda body: body.chain.attempt in counted and any(shot.tree is not None for shot in body.shots)
    )
    shot = next(item for item in shown.body.shots if item.tree is not None)
    assert shot.tree is not None
    place = scene.copy.objects / "sha256" / shot.tree.hex[:2] / shot.tree.hex[2:]
    _flip(place, place.stat().st_size // 2)
    return f"one bit of what was captured as {shot.id} of {shown.body.chain.attempt} was flipped"


def _flip(place: Path, offset: int) -> None:
    with disk.faults("cannot tamper with the copy", place):
        data = bytearray(place.read_bytes())
        data[offset] ^= 1
        place.chmod(0o600)
        place.write_bytes(data)


@dataclass(frozen=True, slots=True)
class _Tampering:
    do: Callable[[_Scene], str]
    rule: str
    release: bool = False


TAMPERINGS: Final = {
    "edited-verdict": _Tampering(_edited_verdict, "signature"),
    "dropped-attempt": _Tampering(_dropped_attempt, "after"),
    "swapped-evaluation": _Tampering(_swapped_evaluation, "other-attempt"),
    "rolled-back-log": _Tampering(_rolled_back_log, "rollback"),
    "changed-leaf": _Tampering(_changed_leaf, "leaf"),
    "changed-result": _Tampering(_changed_result, "file", release=True),
    "changed-picture": _Tampering(_changed_picture, "object", release=True),
}
"""What is shown, by name: what is done, the rule that must find it, and whether that is a rule of releases."""


def tamper(folder: Folder) -> Iterator[Shown]:
    """Tamper with a copy of a folder in each way, and verify the copy.

    Args:
        folder: a benchmark folder with a release, whose keys this user holds.

    Raises:
        InputError: there is nothing to tamper with.
        Unavailable: a key is not at hand.
        CheckFailed: the folder does not verify to begin with, or a tampering was not found by its rule.
    """
    ledger, pin = Ledger.open(folder), pinned_root(folder)
    released = ledger.of(kinds.Release)
    if not released:
        raise InputError("no release to tamper with", where=str(folder.root), fix="run the demo: rbl demo --tamper")
    name = released[-1].body.name
    sound = verify(folder, name, pin=pin)
    if not sound.ok:
        raise CheckFailed("the release does not verify as it is", where=name, fix=f"see: rbl release verify {name}")
    for title, tampering in TAMPERINGS.items():
        with tempfile.TemporaryDirectory(prefix="rbl-tamper-") as place:
            scene = _Scene(folder, ledger, name, _copied(folder, Path(place) / "copy"))
            done = tampering.do(scene)
            shown = Shown(title, done, *_verified(scene.copy, name, pin, release=tampering.release))
        if tampering.rule not in {found.rule for found in shown.found}:
            raise CheckFailed(f"not found by the rule {tampering.rule}: {shown.done}", where=title)
        yield shown


def _copied(folder: Folder, place: Path) -> Folder:
    with disk.faults("cannot copy the folder", place):
        place.mkdir()
        for name in _HANDED:
            source = folder.root / name
            if source.is_dir():
                shutil.copytree(source, place / name)
            else:
                shutil.copy(source, place / name)
    return _Copy(place)


def _verified(copy: Folder, name: str, pin: Digest, *, release: bool) -> tuple[str, tuple[Found, ...]]:
    """The command's name and its findings, places in the copy named from its root."""
    prefix = f"{copy.root}/"
    if release:
        findings = verify(copy, name, pin=pin).findings
        found = [
            Found(item.rule, item.where.removeprefix(prefix), f"{item.what}: {item.consequence}") for item in findings
        ]
        return f"rbl release verify {name}", tuple(found)
    report = verify_ledger(copy, pinned=pin)
    said = [Found(item.rule, item.record.removeprefix(prefix), item.consequence) for item in report.findings]
    return "rbl ledger verify", tuple(said)
