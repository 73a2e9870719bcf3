"""A receipt proves one attempt under a release digest, and nothing else passes for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.records import kinds
from ledger.release.difference import compare
from ledger.release.leaves import leaves, root
from ledger.release.outcome import standings
from ledger.release.receipt import Receipt, prove
from ledger.release.results import results
from store.digest import Digest
from store.errors import InputError, LogInvalid
from tests.unit.ledger.release.story import PureLog, Story, scope_of


@pytest.fixture
def told():
    log = PureLog()
    story = Story(log.say)
    story.plan(["a", "b"], ["pricing"], repeats=2)
    story.attempt("a", "pricing", 1, scores={"functional": 1})
    story.attempt("a", "pricing", 2, outcome="timeout")
    story.attempt("b", "pricing", 1)
    story.attempt("b", "pricing", 2)
    return log, story


def items_of(told):
    log, story = told
    cut, scope = log.cut(), scope_of(log, story)
    return leaves(cut, scope, standings(cut, scope), Digest.of(b"results"))


def document(told):
    log, story = told
    cut, scope = log.cut(), scope_of(log, story)
    return results(cut, scope, standings(cut, scope), kinds.Head(size=len(log.records), root=Digest.of(b"root")))


def test_every_attempt_has_a_receipt_that_verifies(told):
    items = items_of(told)
    for attempt in told[1].told:
        receipt = prove(items, attempt.id)
        receipt.verify()
        assert receipt.release == root(items)
        assert Receipt.parse(receipt.format()) == receipt


def test_a_receipt_says_what_became_of_the_attempt(told):
    counted, excluded = (prove(items_of(told), attempt.id).sentence() for attempt in told[1].told[:2])
    assert "is counted as scored with 300000 millionths" in counted
    assert "is excluded because timeout: wall-clock" in excluded


def test_a_receipt_of_another_leaf_or_release_fails(told):
    receipt = prove(items_of(told), told[1].told[0].id)
    for wrong in (
        replace(receipt, release=Digest.of(b"another")),
        replace(receipt, index=receipt.index + 1),
        replace(receipt, leaf=receipt.leaf.replace(b"300000", b"300001")),
        replace(receipt, path=receipt.path[:-1]),
        replace(receipt, size=receipt.size * 2),
    ):
        with pytest.raises(LogInvalid):
            wrong.verify()


def test_an_unknown_attempt_has_none(told):
    with pytest.raises(InputError, match="no such attempt"):
        prove(items_of(told), "nobody")


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"release":1}', b"null"])
def test_what_is_no_receipt_is_refused(data):
    with pytest.raises(InputError):
        Receipt.parse(data)


def test_equal_releases_do_not_differ(told):
    assert compare(document(told), document(told)) == []


def test_every_changed_number_is_explained_by_a_record(told):
    before = document(told)
    story = told[1]
    gone = story.told[2]
    sidecar = story.withdraw("attempt", gone.id, gone.closed.digest)
    changes = compare(before, document(told))
    rows = {change.field: change for change in changes if change.kind == "row"}
    assert {change.id for change in rows.values()} == {"b"}
    assert {"valid", "worst"} <= rows.keys()
    for change in rows.values():
        assert change.because == (f"{gone.id}: withdrawn ({sidecar.digest})",)
    assert {change.field for change in changes if change.kind == "attempt"} == {
        "bucket",
        "reason",
        "total",
        "withdrawal",
    }
    story.withdraw("attempt", gone.id, gone.closed.digest, reinstates=sidecar.digest)
    assert compare(before, document(told)) == []


def test_a_withdrawn_case_explains_what_it_changes(told):
    before = document(told)
    _, story = told
    sidecar = story.withdraw("case", "pricing", story.cases["pricing"].digest)
    changes = compare(before, document(told))
    assert next(change for change in changes if change.kind == "case").because == (f"withdrawn ({sidecar.digest})",)
    assert all(str(sidecar.digest) in " ".join(change.because) for change in changes)
