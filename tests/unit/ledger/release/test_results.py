"""The result artifact, its leaves and its reports: pure functions of the records."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from ledger.records import kinds
from ledger.release.draft import Draft
from ledger.release.leaves import format_leaves, leaves, parse_leaves, root
from ledger.release.outcome import standings
from ledger.release.report import FORMATS, decimal_text, format_report, parse_results
from ledger.release.results import results
from store import canonical
from store.digest import Digest
from store.errors import InputError
from tests.unit.ledger.release.story import PureLog, Story, scope_of

SCHEMAS = Path(__file__).parents[4] / "schemas" / "v1"
SCHEMA = json.loads((SCHEMAS / "results.json").read_text("utf-8"))


@pytest.fixture
def told():
    log = PureLog()
    story = Story(log.say)
    story.plan(["oracle", "partial"], ["pricing", "docs"], repeats=2)
    for case in ("pricing", "docs"):
        for repeat in (1, 2):
            story.attempt("oracle", case, repeat, scores={"global_visual": 1_000_000, "functional": 1_000_000})
    first = story.attempt("partial", "pricing", 1, outcome="harness-failure")
    story.attempt("partial", "pricing", 1, number=2, retry_of=first.id, scores={"functional": 333_333})
    gone = story.attempt("partial", "pricing", 2, scores={"functional": 900_000})
    story.withdraw("attempt", gone.id, gone.closed.digest)
    story.attempt("partial", "docs", 1, outcome="timeout")
    story.attempt("partial", "docs", 2, outcome="ungradeable", reason="build-failed")
    story.attempt("partial", "docs", 2, purpose="diagnostic", backend="native", outcome="timeout")
    return log, story


def head(log):
    return kinds.Head(size=len(log.records), root=Digest.of(b"root"))


def document(told):
    log, story = told
    cut, scope = log.cut(), scope_of(log, story)
    return results(cut, scope, standings(cut, scope), head(log))


def data(told):
    return canonical.dumps(document(told))


def test_it_matches_its_schema(told):
    jsonschema.Draft202012Validator(SCHEMA).validate(document(told))


def test_the_example_of_the_page_matches_the_schema():
    (example,) = re.findall(r"```json\n(.*?)```", (SCHEMAS / "results.md").read_text("utf-8"), re.DOTALL)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(example))


def test_every_object_of_the_schema_is_closed():
    def walk(node):
        if isinstance(node, dict):
            if node.get("type") == "object" or "properties" in node:
                assert node.get("additionalProperties") is not None
                assert node.get("additionalProperties") is not True
            for item in node.values():
                walk(item)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(SCHEMA)


def test_every_opened_attempt_is_in_exactly_one_bucket(told):
    found = document(told)
    for row in found["rows"]:
        assert sum(row["counts"].values()) == row["opened"]
        assert row["opened"] == sum(attempt["entry"] == row["entry"] for attempt in found["attempts"])
    partial = found["rows"][1]
    assert partial["entry"] == "partial"
    assert partial["rank"] is None
    assert partial["counts"] == {
        "scored": 1,
        "ungradeable": 1,
        "timeout": 1,
        "harness-failure-retried": 1,
        "harness-failure-exhausted": 0,
        "withdrawn": 1,
    }
    assert (partial["scheduled"], partial["valid"], partial["covered"], partial["active"]) == (4, 1, 1, 2)


def test_what_the_schedule_does_not_count_is_listed_beside_it(told):
    assert [item["purpose"] for item in document(told)["outside"]] == ["diagnostic"]


def test_a_second_writing_gives_the_same_bytes(told):
    log, story = told
    assert data(told) == Draft.of(log.records, head(log), story.schedule.digest).results
    assert canonical.loads(data(told)) == document(told)


def test_later_records_change_nothing(told):
    log, story = told
    size = len(log.records)
    before = data(told)
    story.withdraw("case", "docs", story.cases["docs"].digest)
    cutoff = kinds.Head(size=size, root=Digest.of(b"root"))
    assert Draft.of(log.records, cutoff, story.schedule.digest).results == before


def test_leaves_are_sorted_and_hold_every_attempt(told):
    log, story = told
    items = parse_leaves(Draft.of(log.records, head(log), story.schedule.digest).leaves)
    assert items == sorted(set(items))
    found = [json.loads(item) for item in items]
    kinds_found = [item["type"] for item in found]
    assert kinds_found.count("attempt") == 9
    assert [kinds_found.count(name) for name in ("split", "protocol", "schedule", "results")] == [1, 1, 1, 1]
    assert [kinds_found.count(name) for name in ("case", "entry")] == [2, 2]
    assert parse_leaves(format_leaves(items)) == items


def test_the_root_changes_with_any_outcome(told):
    log, story = told

    def now():
        cut, scope = log.cut(), scope_of(log, story)
        return root(leaves(cut, scope, standings(cut, scope), Digest.of(b"same results")))

    before = now()
    attempt = story.told[0]
    story.withdraw("attempt", attempt.id, attempt.closed.digest)
    assert now() != before


@pytest.mark.parametrize(
    "wrong",
    [
        b"{}",
        b"[]",
        b'{"leaves":[],"schema":"rbl/leaves/v2"}',
        b'{"leaves":[{"b":1},{"a":1}],"schema":"rbl/leaves/v1"}',
        b'{"leaves":[{"a":1},{"a":1}],"schema":"rbl/leaves/v1"}',
    ],
)
def test_leaves_that_format_would_not_write_are_refused(wrong):
    with pytest.raises(InputError):
        parse_leaves(wrong)


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_shows_every_entry(told, form):
    text = format_report(parse_results(data(told)), form)
    assert "oracle" in text
    assert "partial" in text
    assert text.endswith("\n")


def test_a_report_prints_the_numbers_of_the_results(told):
    rows = document(told)["rows"]
    report = parse_results(data(told))
    table = list(csv.DictReader(io.StringIO(format_report(report, "csv"))))
    for row, printed in zip(rows, table, strict=True):
        assert printed["score"] == str(row["score"])
        assert printed["worst"] == str(row["worst"])
        assert printed["count_withdrawn"] == str(row["counts"]["withdrawn"])
        assert printed["excluded_timeout"] == str(row["excluded"]["timeout"])
    assert json.loads(format_report(report, "json"))["rows"][0]["score"] == 1_000_000
    markdown = format_report(report, "markdown").splitlines()
    assert markdown[2].startswith("| 1 | oracle | 1.000000 | 1.000000 … 1.000000 |")
    assert markdown[3].startswith("| – | partial | ")


def test_a_report_of_something_else_is_refused():
    with pytest.raises(InputError, match="not a result artifact"):
        parse_results(b"{}")


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0, "0.000000"), (640_000, "0.640000"), (1_000_000, "1.000000"), (-5, "-0.000005")]
)
def test_millionths_are_printed_whole(value, text):
    assert decimal_text(value) == text
