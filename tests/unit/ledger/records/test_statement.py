"""The payload: an in-toto Statement whose subjects follow from its body, in one form only."""

from __future__ import annotations

import json

import msgspec
import pytest

from ledger.records import kinds
from ledger.records.statement import PAYLOAD_LIMIT, Statement, sign_statement, subjects_of
from schemas import registry
from store import canonical
from store.digest import Digest
from store.errors import InputError, RecordRejected, SchemaError
from tests.unit.ledger.records.world import SIGNERS
from tests.unit.schemas.pages import example

SPLIT = kinds.from_json("split", example("split"))


@pytest.mark.parametrize("kind", registry.kinds())
def test_parse_undoes_format(kind):
    body = kinds.from_json(kind, example(kind))
    payload = Statement.of(body).format()
    read = Statement.parse(payload)
    assert (read.kind, read.body) == (kind, body)
    assert read.subjects
    assert read.format() == payload


def test_a_statement_is_in_totos():
    value = json.loads(Statement.of(SPLIT).format())
    assert value["_type"] == "https://in-toto.io/Statement/v1"
    assert value["predicateType"] == "urn:rbl:split:v1"
    assert set(value) == {"_type", "subject", "predicateType", "predicate"}
    assert all(set(item) == {"name", "digest"} and set(item["digest"]) == {"sha256"} for item in value["subject"])


def test_a_body_that_announces_no_object_is_its_own_subject():
    (subject,) = subjects_of(SPLIT)
    assert subject.name == "split"
    assert subject.digest == Digest.of(canonical.dumps(kinds.to_json(SPLIT)))


def test_every_artifact_and_every_shot_is_a_subject():
    artifacts = kinds.from_json("artifacts", example("artifacts"))
    assert [(item.name, item.digest) for item in subjects_of(artifacts)] == [
        (f"{item.class_}/{item.name}", item.digest) for item in artifacts.items
    ]
    captures = kinds.from_json("captures", example("captures"))
    taken = [(shot.id, shot.tree) for shot in captures.shots if shot.tree is not None]
    assert [(item.name, item.digest) for item in subjects_of(captures)] == [*taken, ("sweep", captures.sweep)]


def refused(payload: bytes) -> str:
    with pytest.raises(RecordRejected) as caught:
        Statement.parse(payload)
    return caught.value.rule


def changed(**fields):
    return canonical.dumps({**json.loads(Statement.of(SPLIT).format()), **fields})


def test_only_the_canonical_form_is_read():
    payload = Statement.of(SPLIT).format()
    value = json.loads(payload)
    assert refused(payload + b"\n") == "canonical"
    assert refused(json.dumps(value, sort_keys=True).encode()) == "canonical"
    assert refused(payload.replace(b'"name":"dev"', b'"name":"dev","name":"dev"')) == "canonical"
    assert refused(payload.replace(b'"version":1', b'"version":1.0')) == "canonical"
    assert refused(payload.replace(b'"version":1', b'"version":9007199254740992')) == "canonical"
    assert refused(payload.replace(b'"name":"dev"', b'"name":"\\ud800"')) == "canonical"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"predicateType": "urn:rbl:split:v2"}, "kind"),
        ({"predicateType": "urn:rbl:splat:v1"}, "kind"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "kind"),
        ({"predicateType": 1}, "kind"),
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "schema"),
        ({"extra": 1}, "schema"),
        ({"predicate": {}}, "schema"),
        ({"predicate": []}, "schema"),
        ({"subject": []}, "subject"),
        ({"subject": [{"digest": {"sha256": "0" * 64}, "name": "split"}]}, "subject"),
        ({"subject": None}, "subject"),
    ],
)
def test_another_form_is_refused_by_its_rule(fields, rule):
    assert refused(changed(**fields)) == rule


def test_a_second_subject_is_not_passed_over():
    """sigstore/sigstore-rs#596: only the first subject was checked."""
    subjects = json.loads(Statement.of(SPLIT).format())["subject"]
    assert refused(changed(subject=[*subjects, {"digest": {"sha256": "0" * 64}, "name": "more"}])) == "subject"


def test_a_payload_above_the_limit_is_neither_written_nor_read():
    refs = [kinds.CaseRef(id=f"c{number}-{'x' * 55}", version=1, record=Digest.of(b"")) for number in range(200)]
    body = msgspec.structs.replace(SPLIT, cases=refs)
    assert len(Statement.of(body).format()) < PAYLOAD_LIMIT
    source = kinds.from_json("source", example("source"))
    long = msgspec.structs.replace(source, differences=["x" * 1000] * 50)
    with pytest.raises(InputError, match="store"):
        Statement.of(long).format()
    assert refused(b" " * (PAYLOAD_LIMIT + 1)) == "size"


def test_a_body_outside_its_schema_is_not_signed():
    with pytest.raises(SchemaError):
        sign_statement(msgspec.structs.replace(SPLIT, name="Not An Id"), [SIGNERS["curator"]])


@pytest.mark.parametrize("kind", registry.kinds())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of libraries beneath sigstore
def test_sigstore_reads_every_kind_as_an_envelope_around_a_statement(kind):
    from sigstore.dsse import Envelope as Other
    from sigstore.dsse import Statement as OtherStatement

    role = next(role for role, granted in kinds.ROLE_KINDS.items() if kind in granted)
    body = kinds.from_json(kind, example(kind))
    envelope = sign_statement(body, [SIGNERS[role]])
    other = Other._from_json(envelope.format())
    assert other.signature == envelope.signatures[0].sig
    read = OtherStatement(envelope.payload)
    assert read._inner.predicate_type == f"urn:rbl:{kind}:v1"
    for subject in subjects_of(body):
        assert any(item.digest.root == {"sha256": subject.digest.hex} for item in read._inner.subjects)
