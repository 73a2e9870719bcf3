"""Audit bags by the command line: exported, verified on their own in an empty folder, imported, and nothing private."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ledger.folder import Folder
from ledger.records import kinds
from store.digest import Digest
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry
from tests.cli.conftest import explained
from tests.unit.ledger.release.bench import say

ROOT = Path(__file__).parents[2]

ALONE = """
import socket, sys
def refuse(*words, **more): raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from rbl.cli.app import run
code = run(sys.argv[1:])
heavy = {"docker", "playwright", "dvc", "numpy", "PIL", "pygit2", "runners", "cases", "sealed"} & set(sys.modules)
assert not heavy, heavy
sys.exit(code)
"""


@pytest.fixture(scope="module")
def bag(rbl, released, tmp_path_factory):
    place = tmp_path_factory.mktemp("bag") / "r1.tar"
    assert rbl("-C", released, "store", "export", "r1", place).code == 0
    return place


def alone(place, *words):
    """`rbl` with no PATH, no network, homes that are empty, in an empty folder."""
    place.mkdir(exist_ok=True)
    homes = {f"RBL_{name}_HOME": str(place.parent / name) for name in ("CONFIG", "STATE")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, words)],
        env={"PATH": "", "PYTHONPATH": str(ROOT), "TMPDIR": str(place.parent), **homes},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert list(place.iterdir()) == []
    return done


def test_a_bag_verifies_alone_in_an_empty_folder(bag, story, tmp_path):
    root = Digest.of((story.folder.trust / "1.root.json").read_bytes())
    release = json.loads((story.folder.releases / "r1" / "release.json").read_text())["digest"]
    done = alone(tmp_path / "empty", "release", "verify", bag, "--pin", root, "--digest", release)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"verified: r1 {release}" in done.stdout
    done = alone(tmp_path / "empty", "ledger", "verify", bag, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["ok"]
    wrong = f"sha256:{'0' * 64}"
    assert alone(tmp_path / "empty", "ledger", "verify", bag, "--pin", wrong).returncode == 1
    assert alone(tmp_path / "empty", "release", "verify", bag, "--digest", wrong).returncode == 1
    assert alone(tmp_path / "empty", "release", "verify", bag, "other").returncode == 1


def test_the_same_release_gives_the_same_bag(rbl, bag, copied, tmp_path):
    command, elsewhere = copied
    answer = command("-C", elsewhere, "store", "export", "r1", tmp_path / "again.tar", "--json")
    assert (tmp_path / "again.tar").read_bytes() == bag.read_bytes()
    assert answer.document["bag"] == str(Digest.of(bag.read_bytes()))
    explained(command("-C", elsewhere, "store", "export", "r1", bag), 5, "something of that name")
    explained(command("-C", elsewhere, "store", "export", "r9", tmp_path / "no.tar"), 2, "r9")
    assert not (tmp_path / "no.tar").exists()


def test_an_imported_bag_is_a_folder_that_verifies(rbl, bag, tmp_path):
    assert rbl("store", "import", bag, tmp_path / "audit", "--json").document["releases"] == ["r1"]
    assert rbl("-C", tmp_path / "audit", "release", "verify", "r1").code == 0
    explained(rbl("store", "import", bag, tmp_path / "audit"), 5, "something of that name")


def test_private_objects_are_left_out_and_the_reason_is_said(copied, tmp_path):
    rbl, bench = copied
    store = ObjectStore.open(bench / "objects")
    draft = store.put_bytes(b"what was drawn while a case was verified")
    answer = rbl("-C", bench, "store", "export", "r1", tmp_path / "b.tar", "--json").document
    [count] = [count for reason, count in answer["left_out"].items() if "no record names" in reason]
    assert count >= 1
    with tarfile.open(tmp_path / "b.tar") as archive:
        names = archive.getnames()
        info = archive.extractfile("r1/bag-info.txt").read().decode()
    assert not any(draft.hex[2:] in name for name in names)
    assert {name.split("/")[2] for name in names if name.startswith("r1/data/")} == {
        *("rbl.toml", "log", "trust", "releases", "objects")
    }
    assert "private to the operator" in info
    assert b"what was drawn" not in (tmp_path / "b.tar").read_bytes().replace(info.encode(), b"")


def test_the_source_page_stays_with_the_operator(copied, tmp_path, monkeypatch):
    rbl, bench = copied
    for name in ("RBL_CONFIG_HOME", "RBL_STATE_HOME"):
        monkeypatch.setenv(name, rbl.environment[name])
    folder = Folder.open(bench)
    page = folder.store.put_bytes(b"the page that the case was made of")
    tree = Tree.of([TreeEntry.file("index.html", page, 34)])
    artifact = folder.store.put_bytes(tree.format())
    page_of = {"id": "page", "lead": "a lead", "origin": "https://example.org", "differences": [], "permission": "ours"}
    say(folder)(lambda base: kinds.Source(**base, **page_of, artifact=artifact))
    answer = rbl("-C", bench, "store", "export", "r1", tmp_path / "b.tar", "--json").document
    [count] = [count for reason, count in answer["left_out"].items() if "`source` records" in reason]
    assert count == 2
    with tarfile.open(tmp_path / "b.tar") as archive:
        held = {name.rpartition("/")[2] for name in archive.getnames()}
    assert not held & {page.hex[2:], artifact.hex[2:]}
    assert rbl("release", "verify", tmp_path / "b.tar").code == 0


def test_what_was_changed_in_a_bag_is_named(rbl, bag, tmp_path):
    with tarfile.open(bag) as archive:
        chosen = {m.name.split("/")[2]: m for m in archive.getmembers() if m.size and m.name.startswith("r1/data/")}
    for member in chosen.values():
        changed = bytearray(bag.read_bytes())
        changed[member.offset_data + member.size // 2] ^= 1
        (tmp_path / "changed.tar").write_bytes(changed)
        explained(rbl("release", "verify", tmp_path / "changed.tar"), 1, "bag:", member.name.removeprefix("r1/"))
        explained(rbl("store", "import", tmp_path / "changed.tar", tmp_path / "new"), 1, "bag:")
    assert [path.name for path in tmp_path.iterdir()] == ["changed.tar"]


def test_bad_bags_and_names_are_explained(rbl, bag, tmp_path):
    (tmp_path / "junk.tar").write_bytes(b"junk" * 200)
    explained(rbl("release", "verify", tmp_path / "junk.tar"), 2, "tar header")
    explained(rbl("release", "verify", tmp_path / "absent.tar"), 2, "No such file", "absent.tar")
    explained(rbl("ledger", "verify", "bench"), 2, "not a bag")
    explained(rbl("release", "verify", "r1", "r2"), 2, "name a bag")
    explained(rbl("release", "verify", "http://127.0.0.1:1/bench"), 2, "neither a release nor a bag")
