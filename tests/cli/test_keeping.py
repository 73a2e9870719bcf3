"""`rbl store fsck | pin | unpin | pins | gc` as processes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import explained


def place(bench: Path, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return bench / "objects" / "sha256" / name[:2] / name[2:]


def damage(path: Path) -> bytes:
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"x" + data[1:])
    return data


def test_fsck_moves_a_damaged_object_aside_with_its_evidence_and_says_who_names_it(copied):
    rbl, bench = copied
    digest = rbl("-C", bench, "release", "show", "r1").document["results"]
    damage(place(bench, digest))
    looked = json.loads(rbl("-C", bench, "store", "fsck", "--dry-run", "--json").out)
    assert (list(looked["corrupt"]), looked["quarantined"], looked["in_quarantine"]) == ([digest], {}, 0)

    found = rbl("-C", bench, "store", "fsck")
    assert found.code == 1
    for said in (f"corrupt {digest}", "(release) results", "quarantine/", "do: rbl store fetch REMOTE"):
        assert said in found.out, found.out
    (evidence,) = (bench / "objects" / "quarantine").glob("*.json")
    written = json.loads(evidence.read_text())
    assert (written["expected"], written["by"]) == (digest, "fsck")
    assert evidence.with_suffix("").read_bytes().startswith(b"x")

    after = json.loads(rbl("-C", bench, "store", "fsck", "--json").out)
    assert (list(after["missing"]), after["corrupt"], after["in_quarantine"]) == ([digest], {}, 1)
    assert after["named_by"][digest] == [after["missing"][digest]]


def test_an_object_in_quarantine_comes_back_from_a_remote(copied, tmp_path):
    rbl, bench = copied
    assert rbl("-C", bench, "store", "push", tmp_path / "remote").code == 0
    digest = rbl("-C", bench, "release", "show", "r1").document["leaves"]
    damage(place(bench, digest))
    assert rbl("-C", bench, "store", "fsck").code == 1
    assert rbl("-C", bench, "store", "fetch", tmp_path / "remote").code == 0
    assert rbl("-C", bench, "store", "fsck").code == 0


def test_a_pin_has_a_reason_and_can_be_listed_and_taken_away(copied, tmp_path):
    rbl, bench = copied
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<p>next</p>")
    digest = rbl("-C", bench, "store", "put", tmp_path / "site", "--json").document["digest"]
    made = rbl("-C", bench, "store", "pin", digest[7:23], "--reason", "the next case", "--json").document
    assert (made["digest"], made["reason"], made["tree"]) == (digest, "the next case", True)
    assert [row["digest"] for row in rbl("-C", bench, "store", "pins", "--json").document["pins"]] == [digest]
    assert "the next case" in rbl("-C", bench, "store", "pins").out
    place(bench, digest).unlink()
    missing = json.loads(rbl("-C", bench, "store", "fsck", "--json").out)["missing"]
    assert missing == {digest: "pinned: the next case"}
    assert rbl("-C", bench, "store", "unpin", digest).code == 0
    explained(rbl("-C", bench, "store", "unpin", digest), 2, "0 pinned objects")
    explained(rbl("-C", bench, "store", "pin", digest, "--reason", "again"), 1, digest[7:])
    explained(rbl("-C", bench, "store", "pin", "beef", "--reason", "none"), 1, "no object begins with beef")


def test_gc_lists_first_and_removes_what_nothing_names_when_asked(copied, tmp_path):
    rbl, bench = copied
    (tmp_path / "notes.md").write_text("nobody names this")
    digest = rbl("-C", bench, "store", "put", tmp_path / "notes.md", "--json").document["digest"]
    young = rbl("-C", bench, "store", "gc", "--json").document
    assert (young["objects"], young["young"]) == ({}, 1)
    listed = rbl("-C", bench, "store", "gc", "--grace", "0s")
    assert listed.code == 0
    assert digest in listed.out
    assert "next: rbl store gc --remove" in listed.out
    assert place(bench, digest).exists()
    gone = rbl("-C", bench, "store", "gc", "--grace", "0s", "--remove", "--json").document
    assert (gone["objects"], gone["size"], gone["removed"]) == ({digest: 17}, 17, True)
    assert not place(bench, digest).exists()
    assert rbl("-C", bench, "release", "verify", "r1").code == 0
    assert rbl("-C", bench, "store", "fsck").code == 0


def test_gc_refuses_where_it_is_not_known_what_is_needed(copied):
    rbl, bench = copied
    explained(rbl("-C", bench, "store", "gc", "--grace", "soon"), 2, "not a length of time", "14d, 36h, 90m or 30s")
    package = rbl("-C", bench, "case", "show", "pricing", "--json").document["package"]
    place(bench, package).unlink()
    explained(rbl("-C", bench, "store", "gc", "--remove"), 1, "a needed tree is missing", package, "rbl store fetch")
