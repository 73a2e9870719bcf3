"""What DVC carries: ids and files as `dvc add` makes them, bytes kept once, and what is refused."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys

import pytest

from store.digest import Digest
from store.directory import load_tree, put_tree, read_tree
from store.dvc import begin, configuration, listing, offer
from store.errors import Conflict, InputError, ObjectMissing

# X. Wang, D. Feng, X. Lai, H. Yu: Collisions for Hash Functions MD4, MD5, HAVAL-128 and RIPEMD, 2004
ONE = bytes.fromhex(
    "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89"
    "55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0"
    "e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70"
)
OTHER = bytes.fromhex(
    "d131dd02c5e6eec4693d9a0698aff95c2fcab50712467eab4004583eb8fb7f89"
    "55ad340609f4b30283e4888325f1415a085125e8f7cdc99fd91dbd7280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e23487da03fd02396306d248cda0"
    "e99f33420f577ee8ce54b67080280d1ec69821bcb6a8839396f965ab6ff72a70"
)


def dvc(place, *words):
    environment = os.environ | {"DVC_NO_ANALYTICS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "dvc", *words], cwd=place, env=environment, check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "repository"
    place.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    dvc(place, "init")
    return place


@pytest.fixture
def awkward(repository):
    """A tree with links, modes, empty directories, names that sort apart and names that JSON escapes."""
    root = repository / "evidence"
    for folder in ("a", "a-b", "empty/er", "é"):
        (root / folder).mkdir(parents=True)
    for path in ("a/b", "a-b/c", "a.txt", 'é/q".txt', "é/日本", "z"):
        (root / path).write_text(path)
    (root / "z").chmod(0o755)
    (root / "a" / "to-file").symlink_to("../z")
    (root / "through").symlink_to("folder/to-file")
    (root / "folder").symlink_to("a")
    return root


def test_the_files_are_those_of_dvc(store, repository, awkward):
    dvc(repository, "add", "evidence")
    md5: dict[Digest, str] = {}
    tree = read_tree(store, awkward, md5=md5)
    store.flush()
    made = offer(store, tree, md5)
    theirs = repository / ".dvc" / "cache"
    ours = store.root / "dvc"
    assert (repository / "evidence.dvc").read_bytes() == made.format("evidence")
    found = {path.relative_to(theirs): path.read_bytes() for path in theirs.rglob("*") if path.is_file()}
    assert {path.relative_to(ours): path.read_bytes() for path in ours.rglob("*") if path.is_file()} == found


def test_ids_of_five_thousand_files_are_those_of_dvc_add(store, repository):
    chance = random.Random(4)
    root = repository / "evidence"
    for number in range(5_000):
        path = root / f"d{number % 61}" / f"e-{number % 7}" / f"f{chance.randrange(10**6)}.{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(chance.choice((0, 1, 40, 900))))
    dvc(repository, "add", "evidence")
    md5: dict[Digest, str] = {}
    tree = load_tree(store, put_tree(store, root, md5=md5))
    made = offer(store, tree, md5)
    assert made.files == 5_000
    assert (repository / "evidence.dvc").read_bytes() == made.format("evidence")


def test_an_empty_tree_is_that_of_dvc(store, repository):
    (repository / "evidence").mkdir()
    dvc(repository, "add", "evidence")
    made = offer(store, read_tree(store, repository / "evidence"), {})
    assert (repository / "evidence.dvc").read_bytes() == made.format("evidence")


def test_a_large_file_has_its_md5_from_the_same_read(store, tmp_path):
    (tmp_path / "site").mkdir()
    data = random.Random(5).randbytes(3_000_000)
    (tmp_path / "site" / "large").write_bytes(data)
    md5: dict[Digest, str] = {}
    read_tree(store, tmp_path / "site", md5=md5)
    assert md5 == {Digest.of(data): hashlib.md5(data).hexdigest()}


def test_bytes_are_kept_once_and_offering_again_changes_nothing(store, awkward):
    tree = load_tree(store, put_tree(store, awkward))
    made = offer(store, tree, {})  # without MD5s: taken from the store
    linked = store.path(tree.get("z").digest).stat()
    assert linked.st_nlink == 2
    assert offer(store, tree, {}) == made
    assert store.path(tree.get("z").digest).stat().st_nlink == 2


def test_two_objects_with_one_md5_are_refused(store, tmp_path):
    assert hashlib.md5(ONE).digest() == hashlib.md5(OTHER).digest()
    site = tmp_path / "site"
    site.mkdir()
    (site / "one").write_bytes(ONE)
    offer(store, load_tree(store, put_tree(store, site)), {})
    (site / "other").write_bytes(OTHER)
    with pytest.raises(Conflict, match="same MD5"):
        offer(store, load_tree(store, put_tree(store, site)), {})
    (site / "one").unlink()  # and where the first was offered earlier
    with pytest.raises(Conflict, match="same MD5"):
        offer(store, load_tree(store, put_tree(store, site)), {})


def test_bytes_that_went_bad_under_an_md5_name_are_replaced(store, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("hello")
    tree = load_tree(store, put_tree(store, tmp_path / "site"))
    offer(store, tree, {})
    name = hashlib.md5(b"hello").hexdigest()
    place = store.root / "dvc" / "files" / "md5" / name[:2] / name[2:]
    place.unlink()
    place.write_text("jello")
    offer(store, tree, {})
    assert place.samefile(store.path(Digest.of(b"hello")))


def test_a_missing_object_is_named(store, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("hello")
    tree = read_tree(store, tmp_path / "site")
    store.path(Digest.of(b"hello")).unlink()
    with pytest.raises(ObjectMissing):
        offer(store, tree, {Digest.of(b"hello"): hashlib.md5(b"hello").hexdigest()})


@pytest.mark.parametrize("name", [".git", ".dvc", ".dvcignore"])
def test_what_dvc_never_looks_at_is_refused(store, tmp_path, name):
    (tmp_path / "site" / name).mkdir(parents=True)
    (tmp_path / "site" / name / "a").write_text("hello")
    tree = read_tree(store, tmp_path / "site")
    with pytest.raises(InputError, match=name):
        listing(tree, {Digest.of(b"hello"): "0" * 32})


def test_the_repository_is_made_as_dvc_makes_it(repository, tmp_path):
    remotes = {"origin": "s3://bucket/pre/", "disk": "../remote", "web": "https://example.org/x", "root": "/data/x"}
    place = tmp_path / "ours"
    place.mkdir()
    begin(place, remotes)
    dvc(repository, "remote", "add", "--default", "origin", "s3://bucket/pre/dvc")
    dvc(repository, "remote", "add", "disk", "../remote/dvc")
    dvc(repository, "remote", "add", "web", "https://example.org/x/dvc")
    dvc(repository, "remote", "add", "root", "/data/x/dvc")
    for name in (".dvc/config", ".dvc/.gitignore", ".dvcignore"):
        assert (place / name).read_bytes() == (repository / name).read_bytes()
    begin(place, remotes)
    assert (place / ".dvc" / "config").read_bytes() == (repository / ".dvc" / "config").read_bytes()


def test_what_somebody_wrote_into_the_configuration_stays():
    mine = "[core]\n    remote = mine\n    autostage = true\n['remote \"mine\"']\n    url = /x\n"
    assert configuration(mine, {"mine": "/y"}) == mine
    assert configuration(mine, {"more": "/y"}) == mine + "['remote \"more\"']\n    url = /y/dvc\n"
    with pytest.raises(InputError, match="not a configuration"):
        configuration("remote = x\n", {"more": "/y"})
