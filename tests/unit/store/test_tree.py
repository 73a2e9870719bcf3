import pytest

from store import canonical
from store.digest import Digest
from store.errors import CanonicalError, TreeError
from store.tree import MEDIA_TYPE, Tree, TreeEntry, check_path

FOO = Digest.of(b"foo")


def file(path):
    return TreeEntry.file(path, FOO, 3)


def link(path, target):
    return TreeEntry.link(path, target)


def rule(*entries):
    with pytest.raises(TreeError) as caught:
        Tree.of(entries)
    return caught.value.rule


SAMPLE = Tree.of(
    [file("src/a.css"), TreeEntry.file("run", FOO, 3, executable=True), link("src/latest", "a.css"),
     TreeEntry.directory("src/none"), file("src/ü")]
)  # fmt: skip


def test_the_bytes_of_a_tree_are_fixed():
    assert SAMPLE.format().decode() == (
        '{"entries":['
        f'{{"digest":"{FOO}","mode":"100755","path":"run","size":3}},'
        f'{{"digest":"{FOO}","mode":"100644","path":"src/a.css","size":3}},'
        '{"mode":"120000","path":"src/latest","target":"a.css"},'
        '{"mode":"040000","path":"src/none"},'
        f'{{"digest":"{FOO}","mode":"100644","path":"src/ü","size":3}}],'
        '"mediaType":"application/vnd.rbl.tree.v1+json"}'
    )
    assert Tree.parse(SAMPLE.format()) == SAMPLE
    assert Digest.of(SAMPLE.format()) == SAMPLE.digest


def test_the_empty_tree_is_a_tree():
    assert Tree.parse(Tree.of([]).format()) == Tree(())


def test_entries_are_sorted_by_utf8_and_not_by_utf16():
    paths = [entry.path for entry in Tree.of([file("\U0001f600"), file("\uff5e"), file("a/b"), file("a.b")])]
    assert paths == sorted(paths, key=str.encode) == ["a.b", "a/b", "\uff5e", "\U0001f600"]


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "a/.", "a\\b", "a\0b", "\ud800",
     chr(0xDCFF), "n" * 256, "é" * 128, "a/" * 2048 + "a"],
)  # fmt: skip
def test_a_path_that_is_not_plain_is_refused(path):
    assert rule(file(path)) == "path"
    with pytest.raises(TreeError):
        check_path(path)
    with pytest.raises(TreeError):
        SAMPLE.under(path) if path not in {"", "."} else check_path(path)


@pytest.mark.parametrize("path", ["a", "...", "..a", "a b", "-", "a\nb", "n" * 255, "é" * 127, "C:", "a/" * 2047 + "a"])
def test_a_path_that_is_only_odd_is_kept(path):
    assert Tree.parse(Tree.of([file(path)]).format()).get(path) == file(path)


@pytest.mark.parametrize(
    "pair",
    [("a", "a"), ("a", "A"), ("é", "e\u0301"), ("É", "e\u0301"), ("straße", "STRASSE"), ("ſ", "s"), ("Å", "\u212b"),
     ("d/x", "D/y"), ("d/x/1", "d/X/2"), ("i\u0307", "İ"), ("σ", "ς")],
)  # fmt: skip
def test_names_that_some_file_system_takes_for_one_are_refused(pair):
    assert rule(*(file(path) for path in pair)) == "duplicate"


def test_a_file_against_a_directory_of_the_same_folded_name_is_refused():
    assert rule(file("Makefile"), file("makefile/x")) == "duplicate"


def test_nothing_stands_below_a_file_or_a_link():
    assert rule(file("a"), file("a/b")) == "path"
    assert rule(file("a"), file("a.b"), file("a/b/c")) == "path"
    assert rule(link("a", "b"), file("a/b")) == "link"


@pytest.mark.parametrize(
    "target",
    ["", "/", "/etc/passwd", "..", "../x", "a/../../x", "x\\y", "x\0y", "\udcff", "n" * 256, "a/" * 2048, "../../home"],
)
def test_a_link_that_leads_out_is_refused(target):
    assert rule(link("l", target)) == "link"


@pytest.mark.parametrize("target", [".", "x", "./x", "d/../x", "d/", "d//x", "missing/deep", "missing/../x"])
def test_a_link_that_stays_inside_is_kept_even_if_it_dangles(target):
    assert Tree.of([link("l", target), file("d/x")]).get("l") == link("l", target)


def test_a_link_is_followed_through_other_links_as_a_kernel_would():
    inside = [file("p/q/r/x"), link("p/q/r/up", "../../..")]
    Tree.of([*inside, link("p/q/r/ok", "up/p/q")])
    assert rule(*inside, link("p/q/r/out", "up/../x")) == "link"


def test_a_link_that_only_its_text_leads_out_is_refused_too():
    assert rule(link("a", "b/../../x"), link("b", "c/d"), file("c/d/e")) == "link"


def test_a_link_relative_to_its_own_directory_may_use_dots():
    Tree.of([link("a/b/l", "../../x"), file("x")])
    assert rule(link("a/b/l", "../../../x")) == "link"


def test_links_that_lead_round_in_circles_are_refused():
    assert rule(link("a", "a")) == "link"
    assert rule(link("a", "b"), link("b", "a")) == "link"
    assert rule(link("a", "a/a")) == "link"


def test_tangled_links_do_not_cost_more_than_their_listing():
    hop = "/".join(["."] * 1500)
    links = [link(f"l{i:04}", f"{hop}/l{i + 1:04}") for i in range(2000)]
    assert rule(*links) == "link"


def test_a_directory_with_something_in_it_has_no_entry():
    assert Tree.of([TreeEntry.directory("a"), file("a/b"), TreeEntry.directory("c")]).entries == (
        file("a/b"),
        TreeEntry.directory("c"),
    )
    with pytest.raises(TreeError):
        Tree((TreeEntry.directory("a"), file("a/b")))


@pytest.mark.parametrize(
    "entry",
    [
        TreeEntry("a", "100644"), TreeEntry("a", "100644", FOO, -1), TreeEntry("a", "100644", FOO, 2**53),
        TreeEntry("a", "100644", FOO, 1, "t"), TreeEntry("a", "120000"), TreeEntry("a", "120000", FOO, 0, "t"),
        TreeEntry("a", "040000", FOO), TreeEntry("a", "040000", None, 1), TreeEntry("a", "120000", None, 1, "t"),
        TreeEntry("a", "104755", FOO, 1), TreeEntry("a", "160000", FOO, 1),
    ],
)  # fmt: skip
def test_an_entry_has_what_its_mode_needs_and_nothing_else(entry):
    assert rule(entry) == "format"


def _entry(**changes):
    entry = {"digest": str(FOO), "mode": "100644", "path": "a", "size": 3} | changes
    return {key: value for key, value in entry.items() if value is not None}


@pytest.mark.parametrize(
    "value",
    [
        [], {}, {"entries": []}, {"entries": {}, "mediaType": MEDIA_TYPE},
        {"entries": [], "mediaType": "application/vnd.rbl.tree.v2+json"},
        {"entries": [], "mediaType": MEDIA_TYPE, "more": 1},
        *({"entries": [entry], "mediaType": MEDIA_TYPE} for entry in (
            1, [], {}, _entry(size=True), _entry(size="3"), _entry(size=None), _entry(path=1),
            _entry(digest="sha256:00"),
            _entry(mode=None), _entry(mode=33188), _entry(mode=["100644"]), _entry(mode="100600"), _entry(target="x"),
            _entry(more=1), _entry(mode="040000"), _entry(path="../a"), _entry(digest=None),
        )),
        {"entries": [_entry(path="b"), _entry(path="a")], "mediaType": MEDIA_TYPE},
        {"entries": [_entry(), _entry()], "mediaType": MEDIA_TYPE},
        {"entries": [{"mode": "040000", "path": "a"}, _entry(path="a/b")], "mediaType": MEDIA_TYPE},
    ],
)  # fmt: skip
def test_parse_refuses_what_format_would_not_write(value):
    with pytest.raises(TreeError):
        Tree.parse(canonical.dumps(value))


def test_parse_refuses_bytes_that_are_not_canonical():
    with pytest.raises(CanonicalError):
        Tree.parse(SAMPLE.format() + b"\n")


def test_subtree_and_under_are_inverse():
    assert SAMPLE.under("x/y").subtree("x/y") == SAMPLE
    assert [entry.path for entry in SAMPLE.subtree("src")] == ["a.css", "latest", "none", "ü"]
    assert SAMPLE.subtree("") is SAMPLE.subtree(".") is SAMPLE
    assert SAMPLE.subtree("src/none") == SAMPLE.subtree("absent") == SAMPLE.subtree("sr") == Tree(())


def test_a_subtree_is_never_a_file_and_never_keeps_a_link_that_leads_out_of_it():
    with pytest.raises(TreeError):
        SAMPLE.subtree("run")
    with pytest.raises(TreeError) as caught:
        Tree.of([link("d/l", "../x"), file("x")]).subtree("d")
    assert caught.value.rule == "link"


def test_merge_is_a_union_that_refuses_to_choose():
    one, two = Tree.of([file("a"), TreeEntry.directory("d")]), Tree.of([file("a"), file("d/b")])
    assert one.merge(two) == two.merge(one) == Tree.of([file("a"), file("d/b")])
    with pytest.raises(TreeError) as caught:
        one.merge(Tree.of([TreeEntry.file("a", FOO, 3, executable=True)]))
    assert caught.value.rule == "duplicate"
