"""Receipts, comparisons, pins and records that others signed, by the installed command."""

from __future__ import annotations

import json

from ledger.folder import Folder
from ledger.log.proof import TlogProof
from ledger.sequencer import spool
from store.digest import Digest
from tests.cli.conftest import explained


def test_a_receipt_proves_an_attempt_without_the_folder(rbl, story, released, tmp_path):
    attempt = story.told[0].id
    answer = rbl("-C", released, "release", "prove", "r1", attempt[-8:])
    assert json.loads(answer.out)["schema"] == "rbl/release-receipt/v1"
    assert attempt in answer.err
    (tmp_path / "receipt.json").write_text(answer.out)
    digest = json.loads(answer.out)["release"]
    assert attempt in rbl("release", "check", "receipt.json", "--digest", digest, cwd=tmp_path).out
    assert rbl("release", "check", "receipt.json", "--json", cwd=tmp_path).document["leaf"]["id"] == attempt


def test_a_receipt_that_was_touched_or_is_of_another_release_is_refused(rbl, story, released, tmp_path):
    receipt = rbl("-C", released, "release", "prove", "r1", story.told[0].id).out
    (tmp_path / "touched").write_text(receipt.replace('"outcome":"scored"', '"outcome":"timeout"'))
    explained(rbl("release", "check", tmp_path / "touched"), 1, "error:")
    (tmp_path / "receipt").write_text(receipt)
    explained(rbl("release", "check", tmp_path / "receipt", "--digest", f"sha256:{'0' * 64}"), 1, "is of the release")
    (tmp_path / "junk").write_text("{")
    explained(rbl("release", "check", tmp_path / "junk"), 2)
    explained(rbl("release", "check", tmp_path / "absent"), 2, "absent")


def test_a_record_s_receipt_is_a_tlog_proof(rbl, released):
    answer = rbl("-C", released, "ledger", "prove", "2")
    proof = TlogProof.parse(answer.out.encode())
    assert proof.index == 2
    assert proof.checkpoint == (released / "log" / "checkpoint").read_bytes()
    explained(rbl("-C", released, "ledger", "prove", "9999"), 2, "9999")


def test_a_withdrawal_explains_what_it_changes_between_two_releases(copied, story):
    rbl, bench = copied
    attempt = story.told[1].id
    words = ("attempt", "withdraw", attempt, "--reason", "leak", "--detail", "a key", "--author", "kim")
    assert rbl("-C", bench, *words).code == 0
    assert rbl("-C", bench, "release", "freeze", "r2", "--schedule", "s1").code == 0
    changes = rbl("-C", bench, "release", "diff", "r1", "r2", "--json").document["changes"]
    assert all(change["because"] for change in changes)
    [bucket] = [change for change in changes if (change["id"], change["field"]) == (attempt, "bucket")]
    assert (bucket["old"], bucket["new"]) == ("scored", "withdrawn")
    assert "because withdrawn (sha256:" in rbl("-C", bench, "release", "diff", "r1", "r2").out
    assert rbl("-C", bench, "release", "verify", "r1").code == 0
    explained(rbl("-C", bench, "release", "diff", "r1", "r3"), 2, "no release 'r3'", "r1, r2")


def test_withdrawing_needs_reason_and_happens_once(copied, story):
    rbl, bench = copied
    attempt = story.told[1].id
    words = ("-C", bench, "attempt", "withdraw", attempt, "--detail", "d", "--author", "kim", "--reason")
    explained(rbl(*words, "digest-mismatch"), 2, "cites two digests", "--expected")
    explained(rbl(*words, "a-whim"), 2, "a-whim", "wrong-conditions")
    explained(rbl(*words, "leak", "--reinstate"), 2, "not withdrawn", attempt)
    assert rbl(*words, "leak").code == 0
    explained(rbl(*words, "leak"), 5, "withdrawn already", "--reinstate")
    assert rbl(*words, "leak", "--reinstate").code == 0
    digests = ("--expected", f"sha256:{'1' * 64}", "--observed", f"sha256:{'2' * 64}")
    assert rbl(*words, "digest-mismatch", *digests).code == 0
    assert rbl("-C", bench, "ledger", "verify").code == 0


def test_an_auditor_pins_the_trust_root_that_the_operator_said(copied):
    rbl, bench = copied
    fresh = {"RBL_STATE_HOME": str(bench.parent / "auditor")}
    explained(rbl("-C", bench, "attempt", "list", **fresh), 2, "no trust root is pinned", "rbl trust update --pin")
    explained(rbl("-C", bench, "trust", "update", "--pin", f"sha256:{'0' * 64}", **fresh), 1, "not the pinned")
    explained(rbl("-C", bench, "trust", "update", "--pin", "the root", **fresh), 2, "not a digest")
    root = Digest.of((bench / "trust" / "1.root.json").read_bytes())
    assert rbl("-C", bench, "trust", "update", "--pin", root, **fresh).code == 0
    assert rbl("-C", bench, "attempt", "list", **fresh).code == 0


def test_records_that_others_signed_are_appended_once_or_refused(copied, story, tmp_path):
    rbl, bench = copied
    size = rbl("-C", bench, "ledger", "status", "--json").document["size"]
    (tmp_path / "junk.dsse").write_text("{}")
    explained(rbl("-C", bench, "ledger", "append", tmp_path / "junk.dsse"), 1, "envelope", "junk.dsse")
    explained(rbl("-C", bench, "ledger", "append", tmp_path / "absent.dsse"), 2, "absent.dsse")
    known = bench / "releases" / "r1" / "record.dsse"
    index = rbl("-C", bench, "release", "show", "r1").document["index"]
    assert rbl("-C", bench, "ledger", "append", known, "--json").document["indices"] == [index]
    assert rbl("-C", bench, "ledger", "status", "--json").document["size"] == size


def test_what_waits_in_the_spool_is_appended_and_what_is_refused_is_kept(copied):
    from ledger.records.envelope import Envelope

    rbl, bench = copied
    spool(Folder(bench), Envelope.parse((bench / "releases" / "r1" / "record.dsse").read_bytes()))
    (bench / "spool" / "0-bad.dsse").write_text("no envelope")
    answer = rbl("-C", bench, "ledger", "append", "--json")
    found = json.loads(answer.out)
    assert answer.code == 1
    assert len(found["indices"]) == 1
    assert list(found["refused"]) == ["0-bad.dsse"]
    assert (bench / "spool" / "rejected" / "0-bad.dsse").read_text() == "no envelope"
    assert rbl("-C", bench, "ledger", "append").out == "0 records in the log, 0 refused\n"


def test_a_key_is_made_once_and_kept_from_others(copied):
    rbl, bench = copied
    made = rbl("-C", bench, "key", "new", "witness", "--json").document
    assert made["role"] == "witness"
    explained(rbl("-C", bench, "key", "new", "witness"), 5, made["path"])
    assert {key["role"] for key in rbl("-C", bench, "key", "list", "--json").document["keys"]} >= {"witness", "log"}
    assert rbl("-C", bench, "key", "new", "emperor").code == 2
