"""The quick reading of a payload gives what the rule-by-rule reading gives, or nothing; never something else."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.records import kinds, written
from ledger.records.envelope import Envelope, Signature
from ledger.records.statement import Statement
from schemas import registry
from store import canonical
from store.errors import CanonicalError, RecordRejected
from tests.unit.schemas.pages import example

PAYLOADS = {kind: Statement.of(kinds.from_json(kind, example(kind))).format() for kind in registry.kinds()}


def slowly(payload: bytes) -> Statement | None:
    try:
        return Statement._explained(payload, "")
    except RecordRejected:
        return None


@pytest.mark.parametrize("kind", registry.kinds())
def test_what_is_written_is_canonical_and_read_quickly(kind):
    body = kinds.from_json(kind, example(kind))
    assert written.write(body) == canonical.dumps(kinds.to_json(body))
    assert written.values(kind, written.write(body)) == kinds.to_json(body)
    assert written.restore(kind, written.write(body)) == body
    assert Statement.read(PAYLOADS[kind]) == slowly(PAYLOADS[kind]) == Statement.of(body)


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(PAYLOADS)),
    st.data(),
    st.sampled_from([b"", b" ", b"0", b"1", b".0", b"e0", b"-", b"9" * 17, b'"', b"\\", b"\\u0061", b"\xff", b"null,"]),
)
def test_a_changed_byte_is_read_alike_by_both_ways(kind, data, put):
    payload = PAYLOADS[kind]
    at = data.draw(st.integers(0, len(payload)))
    taken = data.draw(st.integers(0, 2))
    changed = payload[:at] + put + payload[at + taken :]
    assert Statement.read(changed) == slowly(changed)


def _changed(value: Any, path: list[Any], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], new)
    return copy


def _paths(value: Any) -> list[list[Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [[], *([key, *rest] for key, item in items for rest in _paths(item))]


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(PAYLOADS)),
    st.data(),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**54), 2**54),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
        st.just("\ud800"),
        st.lists(st.integers(0, 3), max_size=3),
        st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=3),
    ),
)
def test_a_changed_value_is_read_alike_by_both_ways(kind, data, new):
    value = json.loads(PAYLOADS[kind])
    changed = _changed(value, data.draw(st.sampled_from(_paths(value))), new)
    text = json.dumps(changed, ensure_ascii=data.draw(st.booleans()), sort_keys=True, separators=(",", ":"))
    payload = text.encode("utf-8", "surrogatepass")
    assert Statement.read(payload) == slowly(payload)


@given(st.text())
def test_texts_are_written_as_canonical_json_writes_them(text):
    body = kinds.from_json("withdrawal", example("withdrawal"))
    said = msgspec.structs.replace(body, detail=text)
    try:
        expected = canonical.dumps(kinds.to_json(said))
    except CanonicalError:
        return  # a lone surrogate
    assert written.write(said) == expected


def _schemas(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for item in value for found in _schemas(item)]
    return [value, *(found for item in value.values() for found in _schemas(item))] if isinstance(value, dict) else []


@pytest.mark.parametrize("kind", registry.kinds())
def test_what_matches_a_schema_is_inside_the_canonical_subset(kind):
    """What `written` rests on: every integer has bounds below 2^53, no float, and every name in a map is ASCII."""
    for schema in _schemas(registry.schema(kind)):
        types = schema.get("type")
        assert types != "number"
        if types == "integer":
            assert -canonical.INTEGER_LIMIT < schema["minimum"] <= schema["maximum"] < canonical.INTEGER_LIMIT
        if types == "object" and schema.get("additionalProperties") is not False:
            names = schema["propertyNames"]
            names = registry.schema(kind)["$defs"][names["$ref"].rpartition("/")[2]] if "$ref" in names else names
            assert all(name.isascii() for name in names["enum"])


@given(st.binary(max_size=99), st.text(max_size=40), st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=70))))
def test_an_envelope_is_written_as_canonical_json_writes_it(payload, kind, signatures):
    fields = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [{"keyid": keyid, "sig": base64.b64encode(sig).decode()} for keyid, sig in signatures],
    }
    envelope = Envelope(payload, kind, tuple(Signature(*item) for item in signatures))
    assert envelope.format() == canonical.dumps(fields)
