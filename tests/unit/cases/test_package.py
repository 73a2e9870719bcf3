"""The public package: what is in the folder and for Candidates, and nothing else."""

from __future__ import annotations

import pytest

from cases.package import CaseFile, Package, check_id, check_tree, put_package, save_package
from cases.reconstruct.freeze import default_contract
from store.directory import check_out, load_tree, read_tree
from store.errors import InputError, RblError, TreeError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "cases" / "bindery"
    (folder / "evidence").mkdir(parents=True)
    (folder / "starter").mkdir()
    (folder / "evidence" / "home.desktop.initial.png").write_bytes(b"png")
    (folder / "starter" / "index.html").write_text("<!doctype html>")
    (folder / "brief.md").write_text("# Build it\n")
    (folder / "contract.json").write_bytes(default_contract().format())
    case = CaseFile("bindery", 1, "frozen-evidence/reconstruct", "A page", ("global_visual", "policy"))
    (folder / "case.toml").write_text(case.format())
    return folder


@pytest.fixture
def store(tmp_path):
    return ObjectStore.create(tmp_path / "objects", durability="none")


def test_a_package_is_read_whole(root):
    package = Package.load(root)
    assert (package.case.id, package.brief, package.contract) == ("bindery", "# Build it\n", default_contract())


def test_the_package_tree_holds_what_candidates_may_see_and_nothing_else(root, store):
    (root / "frozen.json").write_text("{}")
    (root / "kit.toml").write_text("secret")
    (root / "evidence.dvc").write_text("outs: []")
    trees = put_package(store, root)
    paths = [entry.path for entry in load_tree(store, trees.package)]
    assert paths == ["brief.md", "contract.json", "evidence/home.desktop.initial.png", "starter/index.html"]
    check_tree(load_tree(store, trees.package))
    assert load_tree(store, trees.evidence) == load_tree(store, trees.package).subtree("evidence")
    assert load_tree(store, trees.starter) == load_tree(store, trees.package).subtree("starter")
    assert store.get(trees.contract) == default_contract().format()


def test_a_package_made_of_parts_has_the_digests_of_the_same_package_in_a_folder(root, store):
    made = save_package(
        store,
        brief=(root / "brief.md").read_bytes(),
        contract=(root / "contract.json").read_bytes(),
        evidence=read_tree(store, root / "evidence"),
        starter=read_tree(store, root / "starter"),
    )
    assert made == put_package(store, root)


def test_an_empty_evidence_folder_survives(root, store, tmp_path):
    (root / "evidence" / "home.desktop.initial.png").unlink()
    trees = put_package(store, root)
    check_out(store, trees.package, tmp_path / "out")
    assert (tmp_path / "out" / "evidence").is_dir()
    check_tree(load_tree(store, trees.package))


@pytest.mark.parametrize("name", ["brief.md", "contract.json", "case.toml"])
def test_a_missing_file_is_named(root, name):
    (root / name).unlink()
    with pytest.raises(InputError) as caught:
        Package.load(root)
    assert name in f"{caught.value.what} {caught.value.where}"


@pytest.mark.parametrize("name", ["evidence", "starter"])
def test_a_missing_folder_is_named(root, name):
    for path in (root / name).iterdir():
        path.unlink()
    (root / name).rmdir()
    with pytest.raises(InputError, match=name):
        Package.load(root)


def test_a_contract_that_is_none_is_named_with_its_file(root):
    (root / "contract.json").write_bytes(b'{"schema":"rbl/contract/v1"}')
    with pytest.raises(InputError) as caught:
        Package.load(root)
    assert caught.value.where.endswith("contract.json")


def test_a_folder_of_another_name_than_its_case_is_refused(root):
    with pytest.raises(InputError, match="called other"):
        Package.load(root.rename(root.with_name("other")))


def test_an_empty_brief_is_refused(root):
    (root / "brief.md").write_text(" \n")
    with pytest.raises(InputError, match="empty"):
        Package.load(root)


def test_a_link_out_of_the_package_is_refused(root, store):
    (root / "starter" / "hosts").symlink_to("/etc/hosts")
    with pytest.raises(TreeError):
        put_package(store, root)


def test_a_tree_with_something_for_curators_is_no_package(store):
    data = store.put_bytes(b"x")
    names = ["brief.md", "contract.json", "evidence/a.png", "kit.toml", "starter/index.html"]
    with pytest.raises(InputError) as caught:
        check_tree(Tree.of(TreeEntry.file(name, data, 1) for name in names))
    assert caught.value.where == "kit.toml"


def test_a_tree_without_a_starter_is_no_package(store):
    data = store.put_bytes(b"x")
    with pytest.raises(InputError, match="starter"):
        check_tree(Tree.of(TreeEntry.file(name, data, 1) for name in ["brief.md", "contract.json", "evidence/a.png"]))


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", ".a", "a" * 65, "a b"])
def test_what_is_no_id_is_refused(name):
    with pytest.raises(RblError):
        check_id(name)
