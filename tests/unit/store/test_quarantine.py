import json

from store import quarantine
from store.digest import Digest


def test_a_corrupt_object_is_kept_with_what_was_found(store):
    digest = store.put_bytes(b"good")
    path = store.path(digest)
    path.chmod(0o644)
    path.write_bytes(b"evil")
    aside = quarantine.examine(store.root, path, digest, by="fsck", referrer="record 12 (case) package")
    assert aside.read_bytes() == b"evil"
    assert not store.has(digest)
    evidence = json.loads(aside.with_name(f"{aside.name}.json").read_bytes())
    assert evidence.pop("when").endswith("Z")
    assert evidence.pop("kind").startswith("-")
    assert evidence == {
        "by": "fsck",
        "expected": str(digest),
        "found": str(Digest.of(b"evil")),
        "referrer": "record 12 (case) package",
        "size": 4,
    }


def test_a_link_in_the_place_of_an_object_is_moved_and_not_read(store, tmp_path):
    digest = store.put_bytes(b"good")
    (tmp_path / "elsewhere").write_bytes(b"good")
    store.path(digest).unlink()
    store.path(digest).symlink_to(tmp_path / "elsewhere")
    aside = quarantine.examine(store.root, store.path(digest), digest, by="fsck")
    assert aside.is_symlink()
    assert json.loads(aside.with_name(f"{aside.name}.json").read_bytes())["found"] is None


def test_an_object_that_is_whole_after_all_goes_back(store):
    digest = store.put_bytes(b"good")
    assert quarantine.examine(store.root, store.path(digest), digest, by="fsck") is None
    assert store.get(digest) == b"good"
    assert list((store.root / "quarantine").iterdir()) == []


def test_an_object_that_is_gone_is_no_find(store):
    digest = Digest.of(b"never")
    assert quarantine.examine(store.root, store.path(digest), digest, by="fsck") is None
