"""The attacks on single records: bytes that are no record, and records that are in the wrong place.

Each is one record that no gate would have admitted; see `tests.vectors.attacks` for how they are told.
"""

from __future__ import annotations

import json

from ledger.records import kinds
from ledger.records.envelope import Envelope, Signature, pae
from store import canonical
from store.digest import Digest
from tests.unit.ledger.records.world import SIGNERS
from tests.vectors.attacks import MANAGER, ROOT1, attack, entry, last, small
from tests.vectors.scenes import Scene, payload_of, resigned

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
