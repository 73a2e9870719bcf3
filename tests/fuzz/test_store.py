"""Properties of the store's formats over generated trees, listings and broken archives."""

import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import canonical
from store.archive import Caps, pack, unpack
from store.digest import Digest
from store.directory import check_out, load_tree, put_tree
from store.errors import CanonicalError, InputError, TreeError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry, check_path

CAPS = Caps(entries=200, total_bytes=1 << 22, file_bytes=1 << 20, path_bytes=4095)

RULES = {
    *("path", "duplicate", "link", "device", "setuid", "truncated", "format"),
    *("limit-entries", "limit-bytes", "limit-file"),
}
patient = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

names = st.text(st.sampled_from("abAB.-_ é\u0301ßüΣσ日😀\n"), min_size=1, max_size=6).filter(
    lambda name: name not in {".", ".."}
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
targets = st.lists(names | st.sampled_from(["..", "."]), min_size=1, max_size=5).map("/".join)
kinds = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=600), st.booleans()),
    st.tuples(st.just("link"), targets),
    st.tuples(st.just("directory")),
)
listings = st.dictionaries(paths, kinds, max_size=12)
keys = st.text(st.characters(max_codepoint=127))
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(exclude_categories=["Cs"]))
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def entries(store: ObjectStore, listing) -> list[TreeEntry]:
    made = []
    for path, (kind, *rest) in listing.items():
        if kind == "file":
            made.append(TreeEntry.file(path, store.put_bytes(rest[0]), len(rest[0]), executable=rest[1]))
        elif kind == "link":
            made.append(TreeEntry.link(path, rest[0]))
        else:
            made.append(TreeEntry.directory(path))
    return made


def grow(store: ObjectStore, listing) -> Tree:
    """A tree of as many of the entries as fit together."""
    tree = Tree(())
    for entry in entries(store, listing):
        try:
            tree = Tree.of([*tree, entry])
        except TreeError:
            continue
    return tree


@given(json_values)
@patient
def test_canonical_json_comes_back(value):
    data = canonical.dumps(value)
    assert canonical.loads(data) == value
    assert canonical.dumps(canonical.loads(data)) == data


@given(st.binary(max_size=60) | st.text('{}[]",:0123456789-eE.\\u ntf', max_size=40).map(str.encode))
@patient
def test_bytes_are_canonical_or_refused(data):
    try:
        value = canonical.loads(data)
    except CanonicalError:
        return
    assert canonical.dumps(value) == data


@given(st.text(max_size=80))
@patient
def test_text_is_a_digest_or_refused(text):
    try:
        digest = Digest.parse(text)
    except InputError:
        return
    assert str(digest) == text


@given(listings)
@patient
def test_a_tree_comes_back_from_its_bytes(store, listing):
    tree = grow(store, listing)
    assert Tree.parse(tree.format()) == tree
    assert Tree.of(reversed(tree.entries)) == tree
    assert tree.under("p/q").subtree("p/q") == tree
    assert tree.merge(tree) == tree


@given(listings)
@settings(patient, max_examples=60)
def test_a_tree_comes_back_from_a_directory_and_never_leaves_it(store, listing):
    tree = grow(store, listing)
    with tempfile.TemporaryDirectory(dir=store.root.parent) as folder:
        box = Path(folder) / "box"
        digest = store.put_bytes(tree.format())
        check_out(store, digest, box)
        assert [path.name for path in Path(folder).iterdir()] == ["box"]
        for path in box.rglob("*"):
            assert path.resolve().is_relative_to(box.resolve())
        assert put_tree(store, box) == digest
        assert load_tree(store, digest) == tree


@given(listings, st.integers(1, 2000))
@patient
def test_a_tree_comes_back_from_its_tar_in_pieces_of_any_size(store, listing, piece):
    tree = grow(store, listing)

    class Pieces(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, piece))

    assert unpack(Pieces(b"".join(pack(store, tree))), store, CAPS) == tree


@given(
    st.text(max_size=30) | st.lists(st.sampled_from(["..", ".", "", "a", "\\", "\0", "b"]), max_size=5).map("/".join)
)
def test_a_path_that_is_let_in_stays_in(path):
    try:
        check_path(path)
    except TreeError:
        return
    joined = Path("/root/tree", path)
    assert Path(*joined.parts).is_relative_to("/root/tree")
    assert not {"..", "."} & set(path.split("/"))
    assert joined != Path("/root/tree")


@given(st.data())
@settings(patient, max_examples=300)
def test_a_broken_tar_is_a_tree_or_an_error_with_a_rule(store, data):
    tree = grow(store, data.draw(listings))
    archive = bytearray(b"".join(pack(store, tree)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(archive) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "drop", "double", "header"])):
            case "flip":
                archive[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del archive[at:]
            case "drop":
                del archive[at // 512 * 512 : at // 512 * 512 + 512]
            case "double":
                archive[0:0] = archive[at // 512 * 512 : at // 512 * 512 + 512]
            case "header":  # a change that the checksum agrees with
                start = at // 512 * 512
                where = data.draw(st.integers(0, 511))
                if start + 512 <= len(archive):
                    archive[start + where] = data.draw(st.integers(0, 255))
                    archive[start + 148 : start + 156] = b"        "
                    archive[start + 148 : start + 156] = b"%06o\0 " % sum(archive[start : start + 512])
        if not archive:
            break
    try:
        found = unpack(io.BytesIO(archive), store, CAPS)
    except TreeError as error:
        assert error.rule in RULES  # noqa: PT017 — either ending is right
    else:
        assert Tree.parse(found.format()) == found
        assert all(len(store.get(entry.digest)) == entry.size for entry in found if entry.digest)
    assert list((store.root / "tmp").iterdir()) == []


@given(st.binary(max_size=1600))
@patient
def test_any_bytes_are_a_tar_or_an_error(store, data):
    try:
        unpack(io.BytesIO(data), store, CAPS)
    except TreeError as error:
        assert error.rule in RULES  # noqa: PT017 — either ending is right
