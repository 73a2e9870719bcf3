"""The attacks on heads, trust and single records: each gives a folder, and the one finding that is due.

Names are the vectors' file names. `@attack(rule, "what is done", "where it comes from")` stands at a function that
returns what the verifier is given, and the place of the finding where the decorator does not say it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.note import sign
from ledger.log.tiles import format_bundle, parse_bundle
from ledger.records import kinds
from ledger.records.envelope import Envelope, Signature, pae
from ledger.records.keys import Signer
from ledger.records.statement import sign_statement
from store import canonical
from store.digest import Digest
from tests.unit.ledger.records.world import EXTRA, SIGNERS, listed, trust_root
from tests.unit.ledger.release.story import ORIGIN
from tests.vectors.scenes import (
    LOG,
    Scene,
    head_of,
    log_files,
    note_of,
    payload_of,
    planned,
    resigned,
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


def _base64(scene: Scene) -> str:
    return base64.b64encode(root_of(scene.leaves).raw).decode()


# ---------------------------------------------------------------------------------------------- trust


@attack("trust", "the first trust root is not the pinned one", "key substitution", ROOT1)
def another_pin():
    return small().given(pin=Digest.of(b"another"))


@attack("trust", "the folder's first trust root is replaced by one with the attacker's keys", "key substitution", ROOT1)
def trust_root_replaced():
    scene = small()
    mine = [listed(signer) for signer in (*SIGNERS.values(), EXTRA[0])]
    grant = kinds.Grant(keys=[EXTRA[0].keyid], threshold=1, kinds=list(kinds.ROLE_KINDS["runner"]))
    forged = sign_statement(trust_root(keys=mine, runner=grant), [SIGNERS["root"]])
    return scene.given({ROOT1: forged.format()})


@attack("trust", "trust root 2 beside the log is another than the one in it", "two answers to who may sign", "record 3")
def trust_root_beside_differs():
    scene = small()
    scene.admit(scene.sign(trust_root(2, after=scene.head)))
    other = but(
        trust_root(2, after=kinds.Head(size=3, root=root_of(scene.leaves[:3]))), issued_at="2027-01-01T00:00:00Z"
    )
    return scene.given({"trust/2.root.json": scene.sign(other).format()})


@attack("unknown-key", "trust root 2 is signed by its own keys only", "TUF chaining: both thresholds")
def trust_root_not_chained():
    scene = small()
    stranger = Signer.from_seed(b"\x77" * 32)
    keys = [listed(signer) for signer in (*SIGNERS.values(), stranger)]
    grant = kinds.Grant(keys=[stranger.keyid], threshold=1, kinds=["trust-root"])
    scene.force(trust_root(2, after=scene.head, keys=keys, root=grant), Signer.from_seed(b"\x78" * 32))
    return last(scene)


@attack("role", "trust root 2 names a new root key, and only that one signs", "TUF chaining: both thresholds")
def trust_root_by_the_new_key_only():
    scene = small()
    grant = kinds.Grant(keys=[EXTRA[0].keyid], threshold=1, kinds=["trust-root"])
    scene.force(trust_root(2, after=scene.head, root=grant), EXTRA[0])
    return last(scene)


@attack("trust-root", "trust root 3 follows trust root 1", "TUF chaining: the next version")
def trust_root_skipped():
    scene = small()
    scene.force(trust_root(3, after=scene.head))
    return last(scene)


@attack("trust-root", "one public key stands under two ids in a trust root", "go-tuf#733, python-tuf#1091")
def one_key_under_two_ids():
    scene = small()
    twin = kinds.PublicKey(keyid="ab" * 32, public=SIGNERS["curator"].public_text, distrusted_from=None)
    keys = [*(listed(signer) for signer in (*SIGNERS.values(), *EXTRA)), twin]
    scene.force(trust_root(2, after=scene.head, keys=keys))
    return last(scene)


@attack("duplicate-key", "one key stands twice in a trust root", "go-tuf#733, python-tuf#1091")
def one_key_listed_twice():
    scene = small()
    keys = [*(listed(signer) for signer in (*SIGNERS.values(), *EXTRA)), listed(SIGNERS["curator"], 9)]
    scene.force(trust_root(2, after=scene.head, keys=keys))
    return last(scene)


@attack("trust-root", "a trust root lists a key of small order, for which anyone can sign", "Ed25519 small order")
def small_order_key():
    scene = small()
    public = bytes([1]) + bytes(31)
    key = kinds.PublicKey(
        keyid=hashlib.sha256(public).hexdigest(), public=base64.b64encode(public).decode(), distrusted_from=None
    )
    keys = [*(listed(signer) for signer in (*SIGNERS.values(), *EXTRA)), key]
    scene.force(trust_root(2, after=scene.head, keys=keys))
    return last(scene)


def _two_of_two() -> Scene:
    two = kinds.Grant(
        keys=[MANAGER.keyid, EXTRA[1].keyid], threshold=2, kinds=list(kinds.ROLE_KINDS["release-manager"])
    )
    one = kinds.Grant(keys=[MANAGER.keyid], threshold=1, kinds=["protocol", "entry", "schedule", "release"])
    scene = Scene(trust_root(release_manager=one, rater=but(two, kinds=["withdrawal"])))
    scene.story.plan(["a"], ["pricing"], repeats=1)
    return scene


def _withdrawal(scene: Scene) -> kinds.Withdrawal:
    case = scene.story.cases["pricing"]
    return kinds.Withdrawal(
        **scene.base,
        target=kinds.Target(kind="case", id="pricing", record=case.digest),
        reason="leak",
        detail="seen in review",
        author="an operator",
        expected=None,
        observed=None,
        reinstates=None,
    )


@attack("duplicate-key", "one key signs twice, under two hints, where two keys are asked for", "go-tuf#733")
def threshold_met_by_one_key():
    scene = _two_of_two()
    envelope = scene.sign(_withdrawal(scene), MANAGER, MANAGER)
    first, second = envelope.signatures
    scene.force(Envelope(envelope.payload, envelope.payload_type, (first, Signature(EXTRA[1].keyid, second.sig))))
    return last(scene)


@attack("threshold", "one signature where two are asked for", "threshold")
def threshold_not_met():
    scene = _two_of_two()
    scene.force(_withdrawal(scene), MANAGER)
    return last(scene)


@attack("role", "an evaluation's author signs an entry", "valid signature by the wrong role")
def wrong_role():
    scene = small()
    scene.force(entry(scene.base, "third"), SIGNERS["evaluator"])
    return last(scene)


@attack("unknown-key", "a key that no trust root lists signs, under its own id", "key substitution")
def unknown_key():
    scene = small()
    scene.force(entry(scene.base, "third"), Signer.from_seed(b"\x77" * 32))
    return last(scene)


@attack("signature", "a key that no trust root lists signs, under a listed key's id", "key substitution")
def key_substituted():
    scene = small()
    envelope = scene.sign(entry(scene.base, "third"), Signer.from_seed(b"\x77" * 32))
    signature = Signature(MANAGER.keyid, envelope.signatures[0].sig)
    scene.force(Envelope(envelope.payload, envelope.payload_type, (signature,)))
    return last(scene)


@attack("distrusted", "a key signs after the index from which a trust root distrusts it", "key out of its index range")
def key_out_of_range():
    scene = small()
    keys = [listed(signer, 3 if signer is MANAGER else None) for signer in (*SIGNERS.values(), *EXTRA)]
    scene.admit(scene.sign(trust_root(2, after=scene.head, keys=keys)))
    scene.force(entry(scene.base, "third"))
    return last(scene)


@attack(
    "distrusted", "a later trust root distrusts a key from before a record that it signed", "revocation", "record 2"
)
def key_distrusted_afterwards():
    scene = small()
    keys = [listed(signer, 2 if signer is MANAGER else None) for signer in (*SIGNERS.values(), *EXTRA)]
    scene.admit(scene.sign(trust_root(2, after=scene.head, keys=keys)))
    return scene.given()


# ---------------------------------------------------------------------------------------------- bytes of a record


@attack("one-signature", "an entry bears two true signatures", "envelope with two signatures")
def two_signatures():
    scene = small()
    scene.force(entry(scene.base, "third"), MANAGER, SIGNERS["curator"])
    return last(scene)


def _payload(scene: Scene) -> bytes:
    return payload_of(entry(scene.base, "third"), MANAGER)


@attack("canonical", "the payload has a space after a colon", "payload that is not canonical")
def payload_with_a_space():
    scene = small()
    scene.force(resigned(_payload(scene).replace(b":", b": ", 1), MANAGER))
    return last(scene)


@attack("canonical", "the payload says one key twice; parsers disagree on which counts", "duplicate keys")
def payload_with_a_key_twice():
    scene = small()
    text = _payload(scene).replace(b'"id":"third"', b'"id":"third","id":"other"')
    scene.force(resigned(text, MANAGER))
    return last(scene)


@attack("canonical", "the payload holds a number with a fraction", "no floats")
def payload_with_a_float():
    scene = small()
    scene.force(resigned(_payload(scene).replace(b'"limits":null', b'"limits":1.5'), MANAGER))
    return last(scene)


@attack("canonical", "the payload holds half of a surrogate pair", "json-canonicalization#37")
def payload_with_a_lone_surrogate():
    scene = small()
    scene.force(resigned(_payload(scene).replace(b'"third"', b'"\\ud800"'), MANAGER))
    return last(scene)


@attack("size", "the payload is longer than 45,000 bytes", "leaf limits")
def payload_too_long():
    scene = small()
    scene.force(resigned(_payload(scene).replace(b"third", b"t" * 45_000), MANAGER))
    return last(scene)


@attack("envelope", "the envelope is the same JSON with a space: another leaf for the same statement", "canonical form")
def envelope_with_a_space():
    scene = small()
    scene.force(scene.sign(entry(scene.base, "third")).format().replace(b":", b": ", 1))
    return last(scene)


@attack("envelope", "the envelope's payload is of another type, truly signed as that", "DSSE payload type")
def envelope_of_another_type():
    scene = small()
    payload, kind = _payload(scene), "application/json"
    signature = Signature(MANAGER.keyid, MANAGER.sign(pae(kind, payload)))
    scene.force(Envelope(payload, kind, (signature,)).format())
    return last(scene)


@attack("schema", "a required field is missing", "schema violation")
def schema_violated():
    scene = small()
    value = json.loads(_payload(scene))
    del value["predicate"]["sandbox"]
    scene.force(resigned(canonical.dumps(value), MANAGER))
    return last(scene)


@attack("kind", "the record is of a kind that nobody knows", "unknown kind")
def kind_unknown():
    scene = small()
    scene.force(resigned(_payload(scene).replace(b"urn:rbl:entry:v1", b"urn:rbl:wish:v1"), MANAGER))
    return last(scene)


@attack("subject", "the first subject is the body's, the second is not", "sigstore-rs#596: only the first was checked")
def second_subject_swapped():
    scene = small()
    scene.story.case("pricing", ["functional"])
    value = json.loads(Envelope.parse(scene.leaves.pop()).payload)
    value["subject"][1]["digest"]["sha256"] = Digest.of(b"another").hex
    scene.force(resigned(canonical.dumps(value), SIGNERS["curator"]))
    return last(scene)


# ---------------------------------------------------------------------------------------------- records out of place


@attack("origin", "a record of another ledger, truly signed by the same keys", "replay into another ledger")
def record_of_another_ledger():
    scene = small()
    scene.force(entry({**scene.base, "ledger": "example.org/other"}, "third"))
    return last(scene)


@attack("duplicate", "the same record stands twice", "replay")
def record_twice():
    scene = small()
    scene.force(scene.leaves[1])
    return last(scene)


@attack("after", "a record says that it was made after a head that this log never had", "fork")
def made_after_another_head():
    scene = small()
    scene.force(entry({**scene.base, "after": kinds.Head(size=2, root=Digest.of(b"another"))}, "third"))
    return last(scene)


@attack("after", "a record says that it was made after a head that was not there yet", "backdating the other way")
def made_after_a_later_head():
    scene = small()
    scene.force(entry({**scene.base, "after": kinds.Head(size=9, root=Digest.of(b"later"))}, "third"))
    return last(scene)


@attack("after", "the operator reorders honest records and signs the log again", "reorder")
def reordered_and_signed_again():
    scene = small()
    first, second, third = scene.leaves
    scene.leaves[:] = [first, third, second]
    return scene.given(), "record 1"


@attack("no-trust-root", "the log does not begin with its trust root", "reorder")
def begins_with_something_else():
    scene = small()
    root, first, second = scene.leaves
    scene.leaves[:] = [first, root, second]
    return scene.given({ROOT1: root}, pin=Digest.of(root)), "record 0"
