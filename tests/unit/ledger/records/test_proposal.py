"""A proposal: what is shown is what is signed, and both thresholds are counted by key."""

from __future__ import annotations

import base64
import json

import pytest

from ledger.records import kinds
from ledger.records.amend import Add, Distrust, Retire, Threshold, amend
from ledger.records.envelope import Envelope
from ledger.records.keys import Signer
from ledger.records.proposal import Proposal
from ledger.records.statement import Statement
from store.errors import InputError, RecordRejected
from tests.unit.ledger.records.world import EXTRA, SIGNERS, TIME, World, listed, trust_root

ROOT, NEXT, THIRD = SIGNERS["root"], EXTRA[0], EXTRA[1]
TWO = [Add(NEXT.public_text, ("root",)), Add(THIRD.public_text, ("root",)), Threshold("root", 2)]


@pytest.fixture
def world():
    return World(trust_root(keys=[listed(signer) for signer in SIGNERS.values()]))


def proposed(world, *changes):
    body = amend(world.gate.trust.root, changes, world.head, TIME)
    return Proposal.of(body, world.records[0].digest)


def lacking(proposal, world):
    return [(one.version, one.number) for one in proposal.missing(world.gate.trust.root)]


def test_a_file_gives_the_same_proposal(world):
    proposal = proposed(world, *TWO).with_signature(ROOT)
    assert Proposal.parse(proposal.format()) == proposal
    assert Statement.parse(proposal.envelope.payload).body == proposal.root


def test_signatures_are_collected_until_both_thresholds_are_met_and_then_the_gate_takes_it(world):
    proposal = proposed(world, *TWO)
    assert lacking(proposal, world) == [(1, 1), (2, 2)]
    proposal = proposal.with_signature(NEXT)
    assert lacking(proposal, world) == [(1, 1), (2, 1)]
    assert proposal.with_signature(NEXT) == proposal, "once"
    proposal = Proposal.parse(proposal.with_signature(ROOT).format())
    assert lacking(proposal, world) == []
    assert proposal.signers(world.gate.trust.root) == [NEXT.keyid, ROOT.keyid]
    assert world.admit(Envelope.parse(proposal.envelope.format())).role == "root"
    assert world.gate.trust.root.version == 2


def test_who_could_still_sign_is_named(world):
    [first, second] = proposed(world, *TWO).with_signature(THIRD).missing(world.gate.trust.root)
    assert first.keyids == (ROOT.keyid,)
    assert second.keyids == (ROOT.keyid, NEXT.keyid)
    assert ROOT.keyid[:12] in str(first)


def test_a_key_that_is_distrusted_by_the_new_root_signs_for_the_old_one_alone(world):
    proposal = proposed(world, Add(NEXT.public_text, ("root",)), Distrust(ROOT.keyid, 0))
    assert lacking(proposal.with_signature(ROOT), world) == [(2, 1)]
    whole = proposal.with_signature(ROOT).with_signature(NEXT)
    assert lacking(whole, world) == []
    assert world.admit(whole.envelope)


@pytest.mark.parametrize(
    ("rule", "signer"), [("unknown-key", Signer.from_seed(b"\x99" * 32)), ("role", SIGNERS["curator"])]
)
def test_a_signature_that_cannot_count_is_named(world, rule, signer):
    with pytest.raises(RecordRejected) as caught:
        proposed(world, *TWO).with_signature(signer).missing(world.gate.trust.root)
    assert caught.value.rule == rule


def edited(proposal, change):
    document = json.loads(proposal.format())
    change(document)
    return json.dumps(document).encode()


def test_a_signature_of_something_else_is_found(world):
    other = proposed(world, Add(NEXT.public_text, ("root",)), Retire(ROOT.keyid)).with_signature(ROOT)
    moved = json.loads(other.format())["signatures"]
    data = edited(proposed(world, *TWO), lambda document: document.update(signatures=moved))
    with pytest.raises(RecordRejected) as caught:
        Proposal.parse(data).missing(world.gate.trust.root)
    assert caught.value.rule == "signature"


CHANGES = {
    "other words": lambda it: it["root"]["roles"]["root"].update(threshold=1),
    "other payload": lambda it: it.update(payload=base64.b64encode(b"{}").decode()),
    "no trust root": lambda it: it.update(payload="AA=="),
    "bits": lambda it: it.update(payload=it["payload"] + "!"),
    "schema": lambda it: it.update(schema="rbl/trust-proposal/v2"),
    "version": lambda it: it["follows"].update(version=7),
    "record": lambda it: it["follows"].update(record="sha256:12"),
    "more": lambda it: it.update(more=1),
    "less": lambda it: it.pop("root"),
    "signature": lambda it: it.update(signatures=[{"keyid": "a", "sig": "é"}]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_shows_other_than_it_signs_or_is_malformed_is_refused(world, name):
    with pytest.raises(InputError):
        Proposal.parse(edited(proposed(world, *TWO), CHANGES[name]), where="trust-2.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{" * 9999, b'{"schema":1}'])
def test_what_is_no_proposal_is_refused(data):
    with pytest.raises(InputError):
        Proposal.parse(data)


def test_another_kind_of_record_is_no_proposal(world):
    source = kinds.Source(
        **world.base, id="s", lead="l", origin="o", artifact=world.head.root, differences=[], permission="p"
    )
    payload = base64.b64encode(Statement.of(source).format()).decode()
    with pytest.raises(InputError, match="no trust root"):
        Proposal.parse(edited(proposed(world, *TWO), lambda it: it.update(payload=payload)))
