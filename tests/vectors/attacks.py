"""The attacks on the bytes of a log, its heads and its trust: each gives a folder, and the one finding that is due.

Names are the vectors' file names. `@attack(rule, "what is done", "where it comes from")` stands at a function that
returns what the verifier is given, and the place of the finding where the decorator does not say it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.note import sign
from ledger.log.tiles import format_bundle, parse_bundle
from ledger.records import kinds
from tests.unit.ledger.records.world import EXTRA, SIGNERS, listed, trust_root
from tests.unit.ledger.release.story import ORIGIN
from tests.vectors.scenes import (
    LOG,
    Scene,
    head_of,
    log_files,
    note_of,
    planned,
    root_of,
    spoiled,
)

but = msgspec.structs.replace
Given = dict[str, Any]


@dataclass(frozen=True)
class Attack:
    attack: str
    source: str
    given: Given
    rule: str | None
    record: str | None
    findings: Sequence[tuple[str, str]] = ()

    @property
    def expected(self) -> list[dict[str, str]]:
        """What must be found: rule and record of each finding."""
        pairs = self.findings if self.rule is None else [(self.rule, self.record or "")]
        return [{"record": record, "rule": rule} for rule, record in pairs]


ATTACKS: dict[str, Callable[[], Attack]] = {}


def attack(rule: str | None, what: str, source: str, record: str | None = None):
    """Register a maker of `given`, or of `(given, record)`."""

    def register(make: Callable[[], Given | tuple[Given, str]]):
        def made() -> Attack:
            found = make()
            given, place = found if isinstance(found, tuple) else (found, record)
            return Attack(what, source, given, rule, place)

        ATTACKS[make.__name__.replace("_", "-")] = made
        return make

    return register


def last(scene: Scene) -> tuple[Given, str]:
    """The scene, whose last record is the wrong one."""
    return scene.given(), f"record {len(scene.leaves) - 1}"


def small() -> Scene:
    """A trust root and two entries: enough where no attempt is needed."""
    scene = Scene()
    scene.say(lambda base: entry(base, "first"))
    scene.say(lambda base: entry(base, "second"))
    return scene


def entry(base: dict[str, Any], name: str) -> kinds.Entry:
    return kinds.Entry(
        **base,
        id=name,
        agent=kinds.Agent(adapter="noop", version="1", argv=[], files=None),
        model=None,
        reasoning_effort=None,
        tool_profile="none",
        skills=None,
        runtime="default",
        evidence_condition="full",
        sandbox="none",
        limits=None,
    )


MANAGER = SIGNERS["release-manager"]
TILE, BUNDLE, HEAD, ROOT1 = "log/tile/0/000.p/3", "log/tile/entries/000.p/3", "log/checkpoint", "trust/1.root.json"
ALL, TILES = "records 0 to 2", "tile/"


# ---------------------------------------------------------------------------------------------- what is not attacked


@attack(None, "nothing: an honest log of one scored attempt, one timeout and a withdrawal", "control")
def sound():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1)
    scene.story.attempt("a", "pricing", 2, outcome="timeout")
    scene.story.withdraw("attempt", told.id, told.closed.digest)
    return scene.given()


@attack(None, "nothing: the verifier remembers an earlier head of the same log", "control")
def sound_remembered():
    scene = small()
    return scene.given(remembered=head_of(scene.leaves[:2]))


# ---------------------------------------------------------------------------------------------- bytes of the log


@attack("leaf", "one bit of a leaf is flipped", "tampered leaf", ALL)
def leaf_tampered():
    scene = small()
    return scene.given({BUNDLE: spoiled(scene.files()[BUNDLE], 900)})


@attack("tile", "one bit of a tile is flipped", "tampered tile", TILES)
def tile_tampered():
    scene = small()
    return scene.given({TILE: spoiled(scene.files()[TILE], 40)})


@attack(
    "tile",
    "leaf and tile are changed together, and agree; only the signed root does not",
    "golang/go#80744: tiles used without authentication",
    TILES,
)
def leaf_and_tile_replaced():
    scene, other = small(), Scene()
    other.say(lambda base: entry(base, "first"))
    other.say(lambda base: entry(base, "forged"))
    forged = other.files()
    return scene.given({BUNDLE: forged[BUNDLE], TILE: forged[TILE]})


@attack("leaf", "two leaves change places in the bundle", "reorder", ALL)
def leaves_reordered():
    scene = small()
    first, second, third = parse_bundle(scene.files()[BUNDLE], 3)
    return scene.given({BUNDLE: format_bundle([first, third, second])})


@attack("bundle", "the bundle ends in the middle of a leaf", "truncation", ALL)
def bundle_truncated():
    scene = small()
    return scene.given({BUNDLE: scene.files()[BUNDLE][:-7]})


@attack("bundle", "the bundle holds one leaf more than the log", "truncation", ALL)
def bundle_extended():
    scene = small()
    return scene.given({BUNDLE: format_bundle([*scene.leaves, b"{}"])})


@attack("missing", "the bundle is gone", "truncation", ALL)
def bundle_missing():
    return small().given({BUNDLE: None})


@attack("missing", "the tile is gone", "truncation", "tile/0/000.p/3")
def tile_missing():
    return small().given({TILE: None})


# ---------------------------------------------------------------------------------------------- heads


@attack("rollback", "the log of yesterday, honestly signed; the verifier remembers today's head", "rollback", HEAD)
def rolled_back():
    scene = small()
    return scene.given(log_files(scene.leaves[:2]), remembered=head_of(scene.leaves))


@attack("rollback", "the checkpoint is gone, and a head is remembered", "rollback", HEAD)
def checkpoint_removed():
    scene = small()
    return scene.given({HEAD: None}, remembered=head_of(scene.leaves))


def _forked() -> tuple[Scene, Scene]:
    scene, other = small(), Scene()
    other.say(lambda base: entry(base, "first"))
    other.say(lambda base: entry(base, "instead"))
    return scene, other


@attack("rollback", "records are cut off, and a cosigned head of them was left", "rollback", "log/cosigned/4")
def cosigned_head_cut_off():
    scene = small()
    cosigned = {"log/cosigned/4": note_of([*scene.leaves, b"more"]), "log/cosigned/2": note_of(scene.leaves[:2])}
    return scene.given(cosigned)


@attack("fork", "the log was replaced, and a cosigned head of the first one was left", "fork", "log/cosigned/2")
def cosigned_head_of_another_history():
    scene, other = _forked()
    return other.given({"log/cosigned/2": note_of([*scene.leaves[:1], b"another"])})


@attack("fork", "another history of the same size, signed by the same key", "equivocation", "log")
def forked_at_the_same_size():
    scene, other = _forked()
    return other.given(remembered=head_of(scene.leaves))


@attack("fork", "a longer history that the remembered head is no prefix of", "fork", "log")
def forked_and_grown():
    scene, other = _forked()
    other.say(lambda base: entry(base, "more"))
    return other.given(remembered=head_of(scene.leaves))


@attack("note-signature", "the size in the checkpoint is raised, the signature is left", "transparency logs", HEAD)
def checkpoint_edited():
    scene = small()
    return scene.given({HEAD: scene.files()[HEAD].replace(b"\n3\n", b"\n4\n", 1)})


@attack("note-unsigned", "the checkpoint is signed by a key that no trust root lists", "key substitution", HEAD)
def checkpoint_by_another_key():
    scene = small()
    return scene.given({HEAD: note_of(scene.leaves, EXTRA[0])})


@attack("note-unsigned", "the checkpoint is signed by the curator's key, which may not sign heads", "wrong role", HEAD)
def checkpoint_by_another_role():
    scene = small()
    return scene.given({HEAD: note_of(scene.leaves, SIGNERS["curator"])})


@attack("origin", "the log's key signs, under its name, the head of another log", "replay into another ledger", HEAD)
def checkpoint_of_another_log():
    scene = small()
    text = f"example.org/other\n3\n{_base64(scene)}\n"
    return scene.given({HEAD: sign(text, ORIGIN, LOG).format()})


@attack("checkpoint", "a signed size with a plus sign, which lenient parsers read as 3", "int() accepts +3", HEAD)
def checkpoint_with_a_lenient_size():
    scene = small()
    return scene.given({HEAD: sign(f"{ORIGIN}\n+3\n{_base64(scene)}\n", ORIGIN, LOG).format()})


@attack("checkpoint", "a signed head of size zero with a root that is not the empty one", "C2SP#280: size zero", HEAD)
def checkpoint_of_nothing_with_a_root():
    scene = small()
    return scene.given({HEAD: sign(f"{ORIGIN}\n0\n{_base64(scene)}\n", ORIGIN, LOG).format()})


@attack(
    "missing", "the signed head says more records than there are", "sigstore/rekor#1055: wrong size", "tile/0/000.p/4"
)
def checkpoint_of_another_size():
    scene = small()
    return scene.given({HEAD: sign_checkpoint(Checkpoint(ORIGIN, 4, root_of(scene.leaves)), LOG)})


@attack(
    "note-unsigned", "the log's key signs beyond the size from which it is distrusted", "key out of its range", HEAD
)
def checkpoint_by_a_distrusted_key():
    scene = small()
    keys = [listed(signer, 2 if signer is LOG else None) for signer in (*SIGNERS.values(), *EXTRA)]
    scene.admit(scene.sign(trust_root(2, after=scene.head, keys=keys)))
    return scene.given()


@attack(
    "retired",
    "the log's old key signs a head that holds the root which retired it",
    "key out of its range",
    "checkpoint",
)
def checkpoint_by_a_retired_key():
    scene = small()
    grant = kinds.Grant(keys=[EXTRA[0].keyid], threshold=1, kinds=[])
    scene.admit(scene.sign(trust_root(2, after=scene.head, log=grant)))
    return scene.given()


@attack(None, "the log's old key signs the last head before the root which retires it", "key rotation")
def checkpoint_before_the_key_was_retired():
    scene = small()
    grant = kinds.Grant(keys=[EXTRA[0].keyid], threshold=1, kinds=[])
    after = scene.sign(trust_root(2, after=scene.head, log=grant))
    return scene.given({"trust/2.root.json": after.format()})


@attack(None, "the log's new key signs the head that holds the root which lists it", "key rotation")
def checkpoint_by_the_next_key():
    scene = small()
    grant = kinds.Grant(keys=[EXTRA[0].keyid], threshold=1, kinds=[])
    scene.admit(scene.sign(trust_root(2, after=scene.head, log=grant)))
    return scene.given({"log/checkpoint": note_of(scene.leaves, EXTRA[0])})


def _base64(scene: Scene) -> str:
    return base64.b64encode(root_of(scene.leaves).raw).decode()
