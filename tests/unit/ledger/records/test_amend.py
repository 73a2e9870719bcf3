"""The next trust root: made of changes, told in plain words, and never one that locks its makers out."""

from __future__ import annotations

import msgspec
import pytest

from ledger.records import kinds
from ledger.records.amend import Add, Distrust, Give, Retire, Threshold, amend, check_usable, differences
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import InputError
from tests.unit.ledger.records.world import SIGNERS, TIME, listed, trust_root

AFTER = kinds.Head(size=40, root=Digest.of(b"head"))
ROOT = trust_root(keys=[listed(signer) for signer in SIGNERS.values()])
NEW = [Signer.from_seed(bytes([150 + number]) * 32) for number in range(3)]
CURATOR, LOG = SIGNERS["curator"], SIGNERS["log"]
but = msgspec.structs.replace


def changed(*changes, root=ROOT):
    return amend(root, changes, AFTER, TIME)


def refused(*changes, root=ROOT):
    with pytest.raises(InputError) as caught:
        changed(*changes, root=root)
    return f"{caught.value.what} {caught.value.fix}"


def test_a_key_is_added_to_roles_and_the_next_version_says_so_in_words():
    body = changed(Add(NEW[0].public_text, ("curator", "rater")))
    assert (body.version, body.after) == (2, AFTER)
    assert body.roles["curator"].keys == [CURATOR.keyid, NEW[0].keyid]
    short = NEW[0].keyid[:12]
    assert differences(ROOT, body) == [
        f"the key {short} is new: {NEW[0].public_text}",
        f"the role curator gets the key {short}",
        "the role curator asks for 1 of 2 keys instead of 1 of 1",
        f"the role rater gets the key {short}",
        "the role rater asks for 1 of 2 keys instead of 1 of 1",
    ]


def test_a_role_that_nobody_held_gets_its_kinds_with_its_first_key():
    without = but(ROOT, roles={role: grant for role, grant in ROOT.roles.items() if role != "curator"})
    body = changed(Add(NEW[0].public_text, ("curator",)), root=without)
    assert body.roles["curator"].kinds == list(kinds.ROLE_KINDS["curator"])


def test_a_listed_key_is_named_by_the_beginning_of_its_id_and_holds_no_role_twice():
    body = changed(Add(CURATOR.keyid[:8], ("runner",)))
    assert CURATOR.keyid in body.roles["runner"].keys
    assert len(body.keys) == len(ROOT.keys)
    assert changed(Add("curator", ("runner",))) == body, "or by the role that it alone holds"
    assert "2 keys" in refused(Distrust("runner", 9), root=body)
    assert "already" in refused(Add(CURATOR.keyid[:8], ("curator",)))
    assert "0 keys" in refused(Add("ffff0000", ("runner",)))
    assert "0 keys" in refused(Add(NEW[0].public_text[:-2] + "X=", ("runner",)))


def test_a_retired_key_is_listed_no_more_once_it_holds_no_role():
    body = changed(Add(NEW[0].public_text, ("curator",)), Retire(CURATOR.keyid))
    assert CURATOR.keyid not in {key.keyid for key in body.keys}
    assert f"the key {CURATOR.keyid[:12]} is listed no more" in differences(ROOT, body)
    both = changed(Add(CURATOR.keyid, ("runner",)))
    one = changed(Retire(CURATOR.keyid, "runner"), root=both)
    assert CURATOR.keyid in one.roles["curator"].keys
    assert "does not hold" in refused(Retire(CURATOR.keyid, "log"))


def test_a_role_is_not_left_without_a_key_that_counts():
    assert "no key" in refused(Retire(CURATOR.keyid))
    assert "could give one" in refused(Distrust(CURATOR.keyid, 40))
    assert "could give one" in refused(Threshold("root", 2))
    assert changed(Distrust(CURATOR.keyid, 41)), "it signs until then"


def test_a_distrusted_key_stays_listed_with_the_index_which_only_falls():
    body = changed(Add(NEW[0].public_text, ("log",)), Distrust(LOG.keyid[:8], 7), Retire(LOG.keyid))
    assert next(key for key in body.keys if key.keyid == LOG.keyid).distrusted_from == 7
    words = f"the key {LOG.keyid[:12]} is distrusted: what it signs from record 7 on is void"
    assert words in differences(ROOT, body)
    assert "never less" in refused(Distrust(LOG.keyid, 8), root=body)
    assert changed(Distrust(LOG.keyid, 6), root=body)


def test_a_threshold_is_refused_where_records_bear_one_signature():
    said = refused(Add(NEW[0].public_text, ("curator",)), Threshold("curator", 2))
    assert "source, case, split" in said
    assert "one signature" in said
    assert "a role of their own" in said
    body = changed(
        Add(NEW[0].public_text, ("rater",)),
        Give("preferences", "rater", take=True),
        *(Give(kind, "rater") for kind in ("release", "withdrawal")),
        *(Give(kind, "release-manager", take=True) for kind in ("release", "withdrawal")),
        Threshold("rater", 2),
    )
    assert body.roles["rater"].threshold == 2
    assert "the role release-manager may no longer sign release" in differences(ROOT, body)


def test_a_kind_is_granted_and_taken_once():
    body = changed(Give("split", "release-manager"))
    assert differences(ROOT, body) == ["the role release-manager may sign split"]
    assert "already" in refused(Give("split", "release-manager"), root=body)
    assert "already" in refused(Give("split", "runner", take=True))
    assert "no kind" in refused(Give("splits", "runner"))
    assert "no other could ever follow" in refused(Give("trust-root", "root", take=True))
    assert "may not sign trust roots" in refused(Give("trust-root", "curator"))
    assert "signs no records" in refused(Give("split", "log"))


def test_the_log_keeps_a_key_of_its_own_and_one_signature():
    assert "holds the role log and" in refused(Add(LOG.keyid, ("curator",)))
    assert "checkpoint" in refused(Add(NEW[0].public_text, ("log",)), Threshold("log", 2))


def test_a_proposal_that_changes_nothing_is_none():
    assert "changes nothing" in refused()
    assert "changes nothing" in refused(Add(NEW[0].public_text, ("rater",)), Retire(NEW[0].keyid))


def test_every_field_of_a_trust_root_that_changes_is_told():
    """Who signs sees everything: no other trust root reads like this one."""
    grant, key = ROOT.roles["curator"], ROOT.keys[0]
    other = {
        "public": but(ROOT, keys=[but(key, public=NEW[0].public_text), *ROOT.keys[1:]]),
        "distrust": but(ROOT, keys=[but(key, distrusted_from=3), *ROOT.keys[1:]]),
        "listed": but(ROOT, keys=ROOT.keys[1:]),
        "held": but(ROOT, roles=ROOT.roles | {"curator": but(grant, keys=[LOG.keyid])}),
        "threshold": but(ROOT, roles=ROOT.roles | {"curator": but(grant, threshold=2)}),
        "kinds": but(ROOT, roles=ROOT.roles | {"curator": but(grant, kinds=["case"])}),
        "role": but(ROOT, roles={role: held for role, held in ROOT.roles.items() if role != "curator"}),
    }
    for name, body in other.items():
        assert differences(ROOT, body), name
    trusted_again = differences(other["distrust"], ROOT)
    assert trusted_again == [f"the key {key.keyid[:12]} is trusted again"]
    with pytest.raises(InputError, match="and this is"):
        differences(ROOT, but(ROOT, ledger="example.org/another"))


def test_a_usable_root_passes():
    check_usable(ROOT, 0)
