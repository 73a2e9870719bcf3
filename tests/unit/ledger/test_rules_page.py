"""`docs/rules.md` names every rule that the code can give, and no other."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/rules.md").read_text("utf-8")
ERRORS = {"RecordRejected", "LogInvalid", "RuleBroken"}
ROW = re.compile(r"^\| `([a-z-]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def section(title):
    """The rules of one part of the page, each once, with what it says and its consequence."""
    text = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = ROW.findall(text)
    assert len(rows) == sum(line.startswith("| `") for line in text.splitlines()), "a row has three cells"
    assert len({name for name, *_ in rows}) == len(rows), "a rule stands twice"
    return {name for name, *_ in rows}


def called(folder, names):
    """The texts that stand first in calls of these names, in every module of a folder."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in names and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


def test_every_rule_of_ledger_and_log_is_on_the_page_and_every_one_there_is_in_the_code():
    code = called(ROOT / "ledger", ERRORS) | called_by_verify()
    page = section("`rbl ledger verify`") | section("Elsewhere")
    assert page == code


def called_by_verify():
    tree = ast.parse((ROOT / "ledger/verify.py").read_text("utf-8"))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]
    said = {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}
    (late,) = (node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.target.id == "_LATE")
    return said | set(ast.literal_eval(late))  # those that are said last stand in a list of their own


def test_what_stands_elsewhere_is_printed_by_no_verification():
    assert not section("`rbl ledger verify`") & section("Elsewhere")


def test_every_rule_of_a_release_is_on_the_page_and_every_one_there_is_in_the_code():
    code = called(ROOT / "ledger/release", {"Finding", "find"})
    walk = ast.parse((ROOT / "ledger/release/walk.py").read_text("utf-8"))
    calls = [node for node in ast.walk(walk) if isinstance(node, ast.Call)]
    tried = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "attempt"]
    code |= {node.args[0].value for node in tried if isinstance(node.args[0], ast.Constant)}
    assert section("`rbl release verify`") == code


@pytest.mark.parametrize("check", ["ledger", "release"])
def test_every_rule_that_a_vector_expects_is_on_the_page(check):
    vectors = [json.loads(path.read_bytes()) for path in (ROOT / "tests/vectors/ledger").glob("*.json")]
    expected = {found["rule"] for item in vectors if item["check"] == check for found in item["expect"]["findings"]}
    assert expected
    assert expected <= section(f"`rbl {check} verify`")


NO_VECTOR = {
    "pin": "what is remembered stands outside the folder, in a form of our own",
    "order": "a verifier gives itself the records in order",
}
"""Rules that no input of another implementation can break."""


def test_every_rule_of_a_ledger_has_a_vector():
    vectors = [json.loads(path.read_bytes()) for path in (ROOT / "tests/vectors/ledger").glob("*.json")]
    expected = {found["rule"] for item in vectors for found in item["expect"]["findings"]}
    assert section("`rbl ledger verify`") - expected == NO_VECTOR.keys()
