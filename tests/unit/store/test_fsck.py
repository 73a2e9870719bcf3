import pytest

from store.digest import Digest
from store.errors import ObjectCorrupt
from store.fsck import Fault, fsck
from store.objects import ObjectStore


def _damage(store, digest):
    path = store.path(digest)
    path.chmod(0o644)
    path.write_bytes(b"evil")


def test_a_whole_store_has_nothing_to_report(store):
    reach = {store.put_bytes(bytes([i])): f"record {i}" for i in range(10)}
    report = fsck(store, reach)
    assert report.ok
    assert (report.missing, report.corrupt, report.stray, report.read, report.unread) == ((), (), (), 10, 0)


def test_missing_and_corrupt_objects_are_named_with_the_record_that_needs_them(store):
    good, bad, lone = (store.put_bytes(data) for data in (b"good", b"bad", b"lone"))
    gone = Digest.of(b"gone")
    _damage(store, bad)
    _damage(store, lone)
    report = fsck(store, {good: "case a", bad: "attempt b", gone: "release c"})
    assert not report.ok
    assert report.missing == (Fault(gone, "release c"),)
    assert report.corrupt == tuple(sorted([Fault(bad, "attempt b"), Fault(lone, "")]))
    assert report.stray == (store.path(lone).relative_to(store.root),)


def test_what_is_in_quarantine_counts_as_missing(store):
    digest = store.put_bytes(b"foo")
    _damage(store, digest)
    with pytest.raises(ObjectCorrupt):
        store.get(digest)
    assert fsck(store, {digest: "attempt b"}).missing == (Fault(digest, "attempt b"),)


def test_strays_are_unreached_objects_wrong_names_and_leftovers_of_a_crash(store, tmp_path):
    kept, unreached, linked = (store.put_bytes(data) for data in (b"kept", b"unreached", b"linked"))
    store.path(linked).unlink()
    store.path(linked).symlink_to(tmp_path)
    strangers = [
        store.root / "tmp" / "1.abc",
        store.root / "sha256" / "README",
        store.path(kept).with_name("x"),
        store.root / "sha256" / "e" / ("0" * 63),
    ]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_text("stray")
    report = fsck(store, {kept: "case a"})
    expected = [*strangers, store.path(unreached), store.path(linked)]
    assert report.stray == tuple(sorted(path.relative_to(store.root) for path in expected))
    assert report.ok


def test_nothing_is_moved_or_deleted(store):
    bad = store.put_bytes(b"bad")
    store.put_bytes(b"lone")
    _damage(store, bad)
    before = sorted(store.root.rglob("*"))
    fsck(store, {bad: "attempt b", Digest.of(b"gone"): "x"})
    assert sorted(store.root.rglob("*")) == before


def test_a_budget_of_time_leaves_hashing_undone_and_says_so(store):
    digests = [store.put_bytes(bytes([i])) for i in range(5)]
    _damage(store, digests[0])
    report = fsck(store, {digests[0]: "a", Digest.of(b"gone"): "b"}, seconds=0)
    assert (report.read, report.unread) == (0, 5)
    assert report.missing == (Fault(Digest.of(b"gone"), "b"),)
    assert len(report.stray) == 4


def test_a_store_that_cannot_be_written_can_still_be_checked(tmp_path):
    store = ObjectStore.create(tmp_path / "objects")
    digest = store.put_bytes(b"foo")
    store.path(digest).parent.chmod(0o555)
    assert fsck(store, {digest: "a"}).ok
    store.path(digest).parent.chmod(0o755)
