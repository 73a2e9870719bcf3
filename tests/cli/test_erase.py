"""`rbl store erase`: the bytes go, the record says who and why, and every check says so instead of "missing"."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile

from ledger.folder import Folder
from store.digest import Digest
from store.dvc import md5_path
from tests.cli.conftest import explained

WHY = ("--reason", "leaked-secret", "--detail", "a key, revoked since", "--author", "kim")


def events_of(story):
    """The event log of the first attempt, an object that the release rests on."""
    return story.told[0].closed.body.events


def erase(rbl, bench, *names, **more):
    return rbl("-C", bench, "store", "erase", *names, *WHY, "--json", **more).document


def test_what_is_erased_is_gone_and_every_check_says_who_took_it(copied, story):
    rbl, bench = copied
    digest = events_of(story)
    before = rbl("-C", bench, "release", "verify", "r1", "--json").document
    done = erase(rbl, bench, digest)
    [record] = done["records"]
    why = f"erased by record {record['index']}: leaked-secret"
    assert done["removed"] == [f"sha256/{digest.hex[:2]}/{digest.hex[2:]}"]
    assert not Folder.open(bench).store.has(digest)

    assert rbl("-C", bench, "ledger", "verify").code == 0
    found = rbl("-C", bench, "store", "fsck", "--json").document
    assert (found["ok"], found["missing"], found["erased"]) == (True, {}, {str(digest): why})
    assert f"{digest}, {why}" in rbl("-C", bench, "store", "fsck").out
    release = rbl("-C", bench, "release", "verify", "r1", "--json").document
    assert release["ok"]
    assert release["digest"] == before["digest"]
    [objects] = [step["detail"] for step in release["steps"] if why in step["detail"]]
    assert str(digest) in objects
    assert f"{story.told[0].id}: events" in objects
    lines = rbl("-C", bench, "attempt", "trace", story.told[0].id, "--json").document["lines"]
    [line] = [line for line in lines if line["digest"] == str(digest)]
    assert (line["text"], line["ok"]) == (f"events: {why}", True)


def test_another_object_that_is_missing_is_still_a_finding(copied, story):
    rbl, bench = copied
    erase(rbl, bench, events_of(story))
    store = Folder.open(bench).store
    other = story.told[1].closed.body.events
    store.path(other).unlink()
    assert rbl("-C", bench, "store", "fsck").code == 1
    found = rbl("-C", bench, "release", "verify", "r1")
    assert found.code == 1
    assert f"{other} ({story.told[1].id}: events)" in found.out
    store.path(events_of(story)).write_bytes(b"something else")  # erased is no licence for other bytes
    found = rbl("-C", bench, "release", "verify", "r1")
    assert f"{events_of(story)} ({story.told[0].id}: events)" in found.out
    assert "its bytes hash to" in found.out


def test_a_tree_goes_with_its_files_when_that_is_said(copied, story):
    rbl, bench = copied
    build = story.told[0].captures.body.build
    folder = Folder.open(bench)
    done = erase(rbl, bench, build, "--files")
    assert len(done["objects"]) == 2
    assert not any(folder.store.has(Digest.parse(name)) for name in done["objects"])
    assert rbl("-C", bench, "release", "verify", "r1").code == 0
    assert rbl("-C", bench, "store", "fsck").code == 0
    assert rbl("-C", bench, "store", "gc").code == 0  # a tree that is erased is not one that is lost


def test_links_for_dvc_and_what_lies_in_quarantine_go_too_and_copies_are_named(copied, story):
    rbl, bench = copied
    digest, store = events_of(story), Folder.open(bench).store
    data = store.get(digest)
    carried = store.root / "dvc" / md5_path(hashlib.md5(data, usedforsecurity=False).hexdigest())
    carried.parent.mkdir(parents=True)
    os.link(store.path(digest), carried)
    aside = store.root / "quarantine" / f"{digest.hex}.9f01c2d3"
    aside.write_bytes(data[:-1])
    copy = bench / "attempts" / "a" / "events.jsonl"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(data)
    done = erase(rbl, bench, digest)
    assert not carried.exists()
    assert not aside.exists()
    assert done["elsewhere"] == ["attempts/a/events.jsonl"]
    assert data not in {path.read_bytes() for path in store.root.rglob("*") if path.is_file()}


def test_what_a_crash_left_is_removed_by_the_next_run_without_a_second_record(copied, story, tmp_path):
    rbl, bench = copied
    digest, store = events_of(story), Folder.open(bench).store
    data = store.get(digest)
    first = erase(rbl, bench, digest)
    store.put_bytes(data)  # as if the process had died after the record
    store.flush()
    again = erase(rbl, bench, digest)
    assert again["records"] == first["records"]
    assert again["removed"] == first["removed"]


def test_what_is_erased_travels_no_more(copied, story, tmp_path):
    rbl, bench = copied
    digest, remote = events_of(story), tmp_path / "remote"
    assert rbl("-C", bench, "store", "push", remote).code == 0
    erase(rbl, bench, digest)
    assert rbl("-C", bench, "store", "fetch", remote, "--json").document["ok"]
    assert not Folder.open(bench).store.has(digest), "a remote that has it still does not bring it back"
    shutil.rmtree(remote)
    assert rbl("-C", bench, "store", "push", remote, "--json").document["lacking"] == []
    told = rbl("-C", bench, "store", "export", "r1", tmp_path / "r1.tar", "--json").document
    assert [count for reason, count in told["left_out"].items() if "erased" in reason] == [1]
    with tarfile.open(tmp_path / "r1.tar") as archive:
        assert not [name for name in archive.getnames() if name.endswith(digest.hex[2:])]
    found = rbl("release", "verify", tmp_path / "r1.tar")
    assert found.code == 0
    assert "erased by record" in found.out


def test_bad_requests_are_explained(copied, story):
    rbl, bench = copied
    digest, store = events_of(story), Folder.open(bench).store
    words = ("-C", bench, "store", "erase")
    explained(rbl(*words, digest, "--reason", "dislike", "--detail", "", "--author", "kim"), 2, "dislike", "takedown")
    explained(rbl(*words, "ab", *WHY), 2, "too short")
    stray = store.put_bytes(b"nobody names this")
    store.flush()
    explained(rbl(*words, stray, *WHY), 2, "no record reaches", str(stray))
    assert rbl(*words, digest, *WHY, "--dry-run", "--json").document["removed"] == []
    assert f"would erase {digest}" in rbl(*words, digest, *WHY, "--dry-run").out
    assert store.has(digest)
