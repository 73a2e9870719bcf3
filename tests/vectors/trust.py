"""The attacks on who may sign: trust roots, thresholds, keys out of their role or index range.

See `tests.vectors.attacks` for how they are told.
"""

from __future__ import annotations

import base64
import hashlib

import msgspec

from ledger.records import kinds
from ledger.records.envelope import Envelope, Signature
from ledger.records.keys import Signer
from ledger.records.statement import sign_statement
from store.digest import Digest
from tests.unit.ledger.records.world import EXTRA, SIGNERS, listed, trust_root
from tests.vectors.attacks import MANAGER, ROOT1, attack, entry, last, small
from tests.vectors.scenes import Scene, root_of

but = msgspec.structs.replace


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
