"""`rbl demo --tamper` on a folder that is there: each tampering of a copy is found by name, and nothing changes."""

from __future__ import annotations

from rbl.tamper import TAMPERINGS
from store.digest import Digest
from tests.cli.conftest import explained

RULES = {
    "edited-verdict": "signature",
    "dropped-attempt": "after",
    "swapped-evaluation": "other-attempt",
    "rolled-back-log": "rollback",
    "changed-leaf": "leaf",
    "changed-result": "file",
    "changed-picture": "object",
}


def contents(place):
    return {path: Digest.of(path.read_bytes()) for path in sorted(place.rglob("*")) if path.is_file()}


def test_each_tampering_is_found_by_its_rule_and_the_folder_is_only_read(copied):
    rbl, bench = copied
    before = contents(bench.parent)
    shown = rbl("demo", bench, "--tamper", "--json").document
    assert shown["schema"] == "rbl/demo-tamper/v1"
    assert {item["name"]: item["found"][0]["rule"] for item in shown["tamperings"]} == RULES
    assert RULES.keys() == TAMPERINGS.keys()
    assert all(found["consequence"] for item in shown["tamperings"] for found in item["found"])
    assert contents(bench.parent) == before


def test_the_tamperings_are_told_in_words(copied):
    rbl, bench = copied
    answer = rbl("demo", bench, "--tamper")
    assert answer.code == 0
    for name, rule in RULES.items():
        assert f"{name}: " in answer.out
        assert f" verify: {rule}: " in answer.out or f" verify r1: {rule}: " in answer.out
    assert str(bench.parent / "copy") not in answer.out


def test_a_folder_without_a_release_has_nothing_to_tamper_with(rbl, folder):
    explained(rbl("demo", folder, "--tamper"), 2, "no release to tamper with")


def test_a_folder_that_does_not_verify_is_not_tampered_with(copied):
    rbl, bench = copied
    place = bench / "releases/r1/results.json"
    place.write_bytes(place.read_bytes() + b" ")
    explained(rbl("demo", bench, "--tamper"), 1, "does not verify as it is")


def test_without_the_keys_nothing_can_be_signed_again(copied):
    rbl, bench = copied
    for key in (bench.parent / "config").rglob("log.pem"):
        key.unlink()
    explained(rbl("demo", bench, "--tamper"), 3, "log")
