"""Trust roots: who may say what, at which index, and how that changes."""

from __future__ import annotations

import base64

import msgspec
import pytest

from ledger.records import kinds
from ledger.records.envelope import Envelope, Signature, sign
from ledger.records.keys import Signer
from ledger.records.statement import Statement, sign_statement
from ledger.records.trust import distrusted
from store.digest import Digest
from store.errors import RecordRejected
from tests.unit.ledger.records.world import EXTRA, ROLE_OF, SIGNERS, TIME, World, listed, trust_root
from tests.unit.ledger.release.story import ORIGIN, Story

ROOT_KINDS = ["trust-root"]


def entry(world, name="a"):
    agent = kinds.Agent(adapter="command", version="1", argv=[name], files=None)
    return kinds.Entry(
        **world.base,
        id=name,
        agent=agent,
        model=None,
        reasoning_effort=None,
        tool_profile="shell",
        skills=None,
        runtime="default",
        evidence_condition="full",
        sandbox="docker/runc",
        limits=None,
    )


def refuses_first(rule, body, *signers):
    with pytest.raises(RecordRejected) as caught:
        World(body, signers or [SIGNERS["root"]])
    assert caught.value.rule == rule, str(caught.value)


def grant(*signers, threshold=1, granted=()):
    return kinds.Grant(keys=[signer.keyid for signer in signers], threshold=threshold, kinds=list(granted))


# ------------------------------------------------------------------------------------------------- the first root


def test_the_first_root_is_signed_by_its_own_root_key():
    assert World().records[0].role == "root"
    refuses_first("role", trust_root(), SIGNERS["curator"])
    refuses_first("unknown-key", trust_root(), Signer.from_seed(b"\xfe" * 32))


def test_the_first_root_is_version_1_and_comes_after_nothing():
    refuses_first("trust-root", trust_root(2))
    refuses_first("trust-root", trust_root(after=kinds.Head(size=1, root=Digest.of(b""))))


def test_nothing_comes_before_the_first_root():
    world = World()
    leaf = world.sign(entry(world))
    fresh = World.__new__(World)
    fresh.leaves, fresh.records = [], []
    from ledger.records.gate import Gate

    fresh.gate = Gate(ORIGIN, fresh.root_at)
    fresh.refuses("no-trust-root", leaf)


def test_an_id_that_is_not_its_keys_is_refused():
    """One key under two ids would meet a threshold of two (go-tuf#733, python-tuf#1091)."""
    root = SIGNERS["root"]
    other = kinds.PublicKey(keyid="0" * 64, public=root.public_text, distrusted_from=None)
    keys = [*trust_root().keys, other]
    two = kinds.Grant(keys=[root.keyid, "0" * 64], threshold=2, kinds=ROOT_KINDS)
    refuses_first("trust-root", trust_root(keys=keys, root=two))


def test_a_key_listed_twice_is_refused():
    keys = [*trust_root().keys, listed(SIGNERS["root"], 5)]
    refuses_first("duplicate-key", trust_root(keys=keys))


def test_a_key_of_small_order_is_refused():
    public = (1).to_bytes(32, "little")
    weak = kinds.PublicKey(
        keyid=__import__("hashlib").sha256(public).hexdigest(),
        public=base64.b64encode(public).decode(),
        distrusted_from=None,
    )
    refuses_first("trust-root", trust_root(keys=[*trust_root().keys, weak]))


def test_a_key_text_with_stray_bits_is_refused():
    root = SIGNERS["root"]
    text = root.public_text
    stray = text[:-2] + chr(ord(text[-2]) + 1) + "="
    assert base64.b64decode(stray) == root.public
    keys = [key if key.keyid != root.keyid else listed(root) for key in trust_root().keys]
    keys = [
        kinds.PublicKey(keyid=key.keyid, public=stray, distrusted_from=None) if key.keyid == root.keyid else key
        for key in keys
    ]
    refuses_first("trust-root", trust_root(keys=keys))


def test_a_role_of_an_unlisted_key_is_refused():
    stranger = Signer.from_seed(b"\xfe" * 32)
    refuses_first("trust-root", trust_root(curator=grant(stranger, granted=["case"])))


def test_a_threshold_that_nobody_can_meet_is_refused():
    refuses_first("trust-root", trust_root(root=grant(SIGNERS["root"], threshold=2, granted=ROOT_KINDS)))


@pytest.mark.parametrize("role", ["log", "witness"])
def test_log_and_witness_keys_sign_nothing_else(role):
    refuses_first("trust-root", trust_root(**{role: grant(SIGNERS["runner"])}))
    refuses_first("trust-root", trust_root(**{role: grant(SIGNERS[role], granted=["case"])}))


def test_only_the_root_role_signs_trust_roots():
    refuses_first("trust-root", trust_root(curator=grant(SIGNERS["curator"], granted=ROOT_KINDS)))


def test_a_threshold_of_two_needs_two_keys():
    two = grant(SIGNERS["root"], EXTRA[0], threshold=2, granted=ROOT_KINDS)
    assert World(trust_root(root=two), [SIGNERS["root"], EXTRA[0]])
    refuses_first("threshold", trust_root(root=two), SIGNERS["root"])
    refuses_first("duplicate-key", trust_root(root=two), SIGNERS["root"], SIGNERS["root"])


def test_a_second_signature_by_one_key_counts_once_whatever_its_id_says():
    two = grant(SIGNERS["root"], EXTRA[0], threshold=2, granted=ROOT_KINDS)
    honest = sign_statement(trust_root(root=two), [SIGNERS["root"]])
    (only,) = honest.signatures
    forged = Envelope(honest.payload, honest.payload_type, (only, Signature(EXTRA[0].keyid, only.sig)))
    world = World.__new__(World)
    from ledger.records.gate import Gate

    world.gate = Gate(ORIGIN, lambda size: Digest.of(b""))
    world.refuses("duplicate-key", forged)


# ------------------------------------------------------------------------------------------------- later roots


def test_a_later_root_takes_effect_right_after_its_own_index():
    world = World()
    new = trust_root(2, after=world.head, release_manager=grant(EXTRA[1], granted=["entry"]))
    world.refuses("role", entry(world), EXTRA[1])
    world.admit(world.sign(new))
    world.refuses("role", entry(world), SIGNERS["release-manager"])
    assert world.admit(world.sign(entry(world), EXTRA[1])).keyids == (EXTRA[1].keyid,)


def test_a_later_root_is_signed_by_the_thresholds_of_both():
    world = World()
    new = trust_root(2, after=world.head, root=grant(EXTRA[0], granted=ROOT_KINDS))
    world.refuses("role", new, SIGNERS["root"])
    world.refuses("role", new, EXTRA[0])
    world.refuses("role", new, SIGNERS["root"], EXTRA[0], SIGNERS["curator"])
    record = world.admit(world.sign(new, SIGNERS["root"], EXTRA[0]))
    assert set(record.keyids) == {SIGNERS["root"].keyid, EXTRA[0].keyid}
    assert world.gate.trust.root == new


@pytest.mark.parametrize("version", [1, 3])
def test_versions_follow_one_another(version):
    world = World()
    world.refuses("trust-root", trust_root(version, after=world.head))


def test_a_later_root_comes_after_a_head():
    world = World()
    world.refuses("trust-root", trust_root(2))


def test_a_distrusted_key_counts_from_its_index_on():
    world = World()
    manager = SIGNERS["release-manager"]
    keys = [listed(signer, 3 if signer is manager else None) for signer in (*SIGNERS.values(), *EXTRA)]
    world.admit(world.sign(trust_root(2, after=world.head, keys=keys)))
    assert world.gate.size == 2
    world.admit(world.sign(entry(world)))
    world.refuses("distrusted", entry(world, "b"))
    assert world.gate.trust.distrusts(manager.keyid, 3)
    assert not world.gate.trust.distrusts(manager.keyid, 2)


def test_distrust_is_not_taken_back():
    world = World()
    keys = [listed(signer, 9 if signer is EXTRA[0] else None) for signer in (*SIGNERS.values(), *EXTRA)]
    world.admit(world.sign(trust_root(2, after=world.head, keys=keys)))
    later = [listed(signer, 10 if signer is EXTRA[0] else None) for signer in (*SIGNERS.values(), *EXTRA)]
    world.refuses("trust-root", trust_root(3, after=world.head, keys=later))
    world.refuses("trust-root", trust_root(3, after=world.head))
    without = [listed(signer) for signer in (*SIGNERS.values(), *EXTRA[1:])]
    assert world.admit(world.sign(trust_root(3, after=world.head, keys=without)))


def test_a_distrusted_root_key_makes_no_root():
    world = World()
    both = grant(SIGNERS["root"], EXTRA[0], granted=ROOT_KINDS)
    keys = [listed(signer, 2 if signer is SIGNERS["root"] else None) for signer in (*SIGNERS.values(), *EXTRA)]
    world.admit(world.sign(trust_root(2, after=world.head, keys=keys, root=both)))
    world.refuses("distrusted", trust_root(3, after=world.head, keys=keys, root=both), SIGNERS["root"])
    world.admit(world.sign(trust_root(3, after=world.head, keys=keys, root=both), EXTRA[0]))


def test_a_root_of_another_ledger_is_refused():
    world = World()
    world.refuses("origin", trust_root(2, after=world.head, ledger="example.org/other"))


# ------------------------------------------------------------------------------------------------- other records


@pytest.mark.parametrize("role", sorted(SIGNERS))
def test_only_the_role_of_a_kind_may_sign_it(role):
    world = World()
    if role == ROLE_OF["entry"]:
        assert world.admit(world.sign(entry(world))).role == role
    else:
        world.refuses("role", entry(world), SIGNERS[role])


def test_a_kind_that_is_granted_to_nobody_is_refused():
    manager = SIGNERS["release-manager"]
    world = World(trust_root(release_manager=grant(manager, granted=["protocol"])))
    world.refuses("role", entry(world))


def test_a_changed_payload_is_refused():
    world = World()
    honest = world.sign(entry(world))
    payload = Statement.of(msgspec.structs.replace(entry(world), runtime="another")).format()
    world.refuses("signature", Envelope(payload, honest.payload_type, honest.signatures))


def test_a_key_outside_the_trust_root_is_unknown():
    world = World()
    world.refuses("unknown-key", entry(world), Signer.from_seed(b"\xfe" * 32))


def test_the_id_is_a_hint():
    world = World()
    honest = world.sign(entry(world))
    (only,) = honest.signatures
    for hint in ("", SIGNERS["runner"].keyid, "0" * 64):
        other = World()
        assert other.head == world.head
        record = other.admit(Envelope(honest.payload, honest.payload_type, (Signature(hint, only.sig),)))
        assert record.keyids == (SIGNERS["release-manager"].keyid,)


def test_the_signature_is_over_the_type_too():
    world = World()
    honest = world.sign(entry(world))
    forged = sign(honest.payload, [SIGNERS["release-manager"]], "application/json")
    world.refuses("signature", Envelope(honest.payload, honest.payload_type, forged.signatures))


def test_two_signatures_stand_only_where_a_threshold_may():
    world = World(trust_root(release_manager=grant(SIGNERS["release-manager"], EXTRA[0], granted=["entry"])))
    world.refuses("one-signature", entry(world), SIGNERS["release-manager"], EXTRA[0])


def test_a_withdrawal_may_need_two_keys():
    manager = SIGNERS["release-manager"]
    managers = grant(manager, EXTRA[0], threshold=2, granted=["withdrawal"])
    single = grant(manager, granted=["protocol", "entry", "schedule"])
    world = World(trust_root(release_manager=managers, rater=single))
    story = Story(world.say)
    story.cases["c"] = story.case("c", ["functional"])
    case = story.cases["c"]
    body = kinds.Withdrawal(
        **world.base,
        target=kinds.Target(kind="case", id="c", record=case.digest),
        reason="leak",
        detail="",
        author="me",
        expected=None,
        observed=None,
        reinstates=None,
    )
    world.refuses("threshold", body)
    world.refuses("duplicate-key", body, manager, manager)
    world.refuses("role", body, manager, EXTRA[0], SIGNERS["curator"])
    assert len(world.admit(world.sign(body, manager, EXTRA[0])).keyids) == 2


def test_the_keys_of_a_role_can_be_listed():
    world = World()
    assert world.gate.trust.public_keys("log") == {SIGNERS["log"].keyid: SIGNERS["log"].public}
    assert world.gate.trust.public_keys("nobody") == {}
    assert world.gate.trust.root.issued_at == TIME


def test_a_distrusted_key_that_was_left_out_is_not_trusted_again():
    """Root 2 distrusts a key, root 3 does not list it, and root 4 would list it as if nothing had been."""
    world = World()
    thief = SIGNERS["curator"]
    others = [signer for signer in (*SIGNERS.values(), *EXTRA) if signer is not thief]
    honest = grant(EXTRA[0], granted=["case"])
    world.say(lambda base: trust_root(2, after=base["after"], keys=[*map(listed, others), listed(thief, 1)]))
    world.say(lambda base: trust_root(3, after=base["after"], keys=list(map(listed, others)), curator=honest))
    assert world.gate.trust.distrusts(thief.keyid, 1)
    assert not world.gate.trust.distrusts(thief.keyid, 0)
    keys = list(map(listed, others))
    world.refuses("trust-root", trust_root(4, after=world.head, keys=[*keys, listed(thief)]))
    world.refuses("trust-root", trust_root(4, after=world.head, keys=[*keys, listed(thief, 2)]))
    roots = [record.body for record in world.records]
    assert distrusted(roots) == {thief.keyid: 1}
