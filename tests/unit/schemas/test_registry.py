"""Schemas: every kind and document has one, its page explains it, and two validators and the types agree on it."""

from __future__ import annotations

import copy
import re
import typing

import jsonschema
import jsonschema_rs
import msgspec
import pytest

from ledger.records import kinds
from schemas import registry
from store.errors import InputError, SchemaError
from tests.unit.schemas.pages import example

ALL = (*registry.kinds(), *registry.documents())


def test_every_kind_has_a_schema_and_every_schema_a_kind():
    assert set(registry.kinds()) == set(kinds.KINDS)
    assert not set(registry.kinds()) & set(registry.documents())


@pytest.mark.parametrize("name", ALL)
def test_a_schema_is_sound_closed_and_stands_alone(name):
    schema = registry.schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)

    def walk(node, path):
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node:
                assert node.get("additionalProperties") is False, path
                assert set(node["required"]) <= set(node["properties"]), path
            if node.get("type") == "string" and "pattern" in node:
                assert node["pattern"].startswith("^"), path
                assert node["pattern"].endswith("$") or name not in kinds.KINDS, path
            if "$ref" in node:
                assert node["$ref"].removeprefix("#/$defs/") in schema["$defs"], path
            for key, value in node.items():
                walk(value, f"{path}/{key}")
        elif isinstance(node, list):
            for index, value in enumerate(node):
                walk(value, f"{path}/{index}")

    walk(schema, "")
    used = set(re.findall(r"#/\$defs/([a-z_-]+)", str(schema)))
    assert used == set(schema.get("$defs", {})), "no definition is unused"


@pytest.mark.parametrize("name", ALL)
def test_the_page_has_schema_fields_and_an_example_that_holds(name):
    text = registry.page(name)
    assert [line for line in text.splitlines() if line.startswith("## ")][:3] == [
        "## Schema",
        "## Fields",
        "## Example",
    ]
    assert f"[`{name}.json`]({name}.json)" in text
    registry.check(name, example(name))


@pytest.mark.parametrize("name", registry.kinds())
def test_the_page_explains_every_field(name):
    fields = registry.page(name).split("## Fields")[1].split("## Example")[0]
    for field in registry.schema(name)["properties"]:
        assert re.search(rf"`{field}[\[.`]", fields), field


@pytest.mark.parametrize("name", registry.kinds())
def test_the_example_goes_through_the_type_and_back(name):
    body = kinds.from_json(name, example(name))
    assert kinds.to_json(body) == example(name)


@pytest.mark.parametrize("name", registry.kinds())
def test_schema_and_type_have_the_same_fields(name):
    schema = registry.schema(name)

    def same(struct, node, path):
        node = resolve(node)
        hints = typing.get_type_hints(struct)
        fields = {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}
        assert set(fields) == set(node["properties"]) == set(node["required"]), path
        for key, hint in fields.items():
            for part in parts(hint):
                same(part, inner(node["properties"][key]), f"{path}/{key}")

    def resolve(node):
        return schema["$defs"][node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else node

    def inner(node):
        node = resolve(node)
        if "anyOf" in node:
            node = resolve(node["anyOf"][0])
        if node.get("type") == "array":
            return inner(node["items"])
        if isinstance(node.get("additionalProperties"), dict):
            return inner(node["additionalProperties"])
        return node

    def parts(hint):
        found = [hint, *typing.get_args(hint)]
        return [part for part in found if isinstance(part, type) and issubclass(part, msgspec.Struct)]

    same(kinds.KINDS[name], schema, name)


def spoilt(document):
    """Every way to spoil one place of a document: leave it out, another type, an unknown neighbour."""
    for path in places(document):
        *above, last = path
        for change in ("drop", "null", "text", "number", "list", "extra"):
            new = copy.deepcopy(document)
            node = new
            for step in above:
                node = node[step]
            if change == "drop":
                del node[last]
            elif change == "extra":
                if not isinstance(node, dict):
                    continue
                node["unknown"] = 1
            else:
                node[last] = {"null": None, "text": "\u2028 Other", "number": -1, "list": [[]]}[change]
            yield path, change, new


def places(node, path=()):
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield (*path, key)
            yield from places(value, (*path, key))


@pytest.mark.parametrize("name", ALL)
def test_the_two_validators_agree(name):
    fast = jsonschema_rs.Draft202012Validator(registry.schema(name))
    slow = jsonschema.Draft202012Validator(registry.schema(name))
    refused = 0
    for path, change, document in spoilt(example(name)):
        assert fast.is_valid(document) == slow.is_valid(document), (path, change)
        refused += not fast.is_valid(document)
    assert refused


@pytest.mark.parametrize("name", registry.kinds())
def test_what_the_schema_accepts_the_type_accepts(name):
    for _, _, document in spoilt(example(name)):
        error = refusal(name, document)
        if error is None:
            assert kinds.to_json(kinds.from_json(name, document)) == document
        else:
            assert error.where.startswith("/")
            assert f"{name}.md" in error.fix


def refusal(name, document):
    try:
        registry.check(name, document)
    except SchemaError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("name", "changes", "where"),
    [
        ("attempt-closed", {"outcome": "withdrawn"}, "/outcome"),
        ("attempt-closed", {"reason": "wall-clock"}, "/reason"),
        ("attempt-closed", {"evaluation": None}, "/evaluation"),
        ("attempt-closed", {"outcome": "timeout", "reason": "wall-clock"}, "/evaluation"),
        ("attempt-closed", {"outcome": "harness-failure", "reason": "ok", "evaluation": None}, "/reason"),
        ("withdrawal", {"reason": "dislike"}, "/reason"),
        ("withdrawal", {"reason": "digest-mismatch", "observed": "sha256:" + "0" * 64}, "/expected"),
        ("withdrawal", {"author": ""}, "/author"),
        ("split", {"cases": []}, "/cases"),
        ("split", {"after": None}, "/after"),
        ("split", {"issued_at": "2026-11-30T23:05:01+00:00"}, "/issued_at"),
        ("split", {"issued_at": "2026-13-30T23:05:01Z"}, "/issued_at"),
        ("split", {"ledger": "has space"}, "/ledger"),
        ("protocol", {"weights": {"functional": 0}}, "/weights/functional"),
        ("protocol", {"weights": {"beauty": 1}}, "/weights"),
        ("entry", {"id": "../up"}, "/id"),
    ],
)
def test_a_refusal_says_where(name, changes, where):
    with pytest.raises(SchemaError) as caught:
        registry.check(name, {**example(name), **changes})
    assert caught.value.where == where, str(caught.value)


def test_a_score_is_at_most_a_million():
    document = example("evaluation")
    document["verdict"]["total"] = 1_000_001
    with pytest.raises(SchemaError) as caught:
        registry.check("evaluation", document)
    assert caught.value.where == "/verdict/total"
    document["verdict"]["total"] = True
    with pytest.raises(SchemaError):
        registry.check("evaluation", document)


def test_a_shot_has_a_tree_or_an_error():
    document = example("captures")
    document["shots"][0]["error"] = "both"
    with pytest.raises(SchemaError):
        registry.check("captures", document)
    document["shots"][0] |= {"error": None, "tree": None}
    with pytest.raises(SchemaError):
        registry.check("captures", document)


def test_a_schema_that_is_not_there_is_an_input_error():
    for name in ("splat", "../v1/split", "split.json", ""):
        with pytest.raises(InputError):
            registry.check(name, {})
    with pytest.raises(InputError):
        registry.page("splat")
