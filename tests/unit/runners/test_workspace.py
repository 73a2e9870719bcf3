"""The workspace an agent starts from, and what it is shown beside it."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from runners import workspace
from store.directory import save_tree, write_out
from store.errors import Conflict, InputError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


def tree(store: ObjectStore, files: dict[str, bytes]) -> Tree:
    return Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())


def starter(store: ObjectStore) -> Tree:
    run = store.put_bytes(b"#!/bin/sh\n")
    extra = [
        TreeEntry.file("bin/run", run, 10, executable=True),
        TreeEntry.link("latest", "src/a.css"),
        TreeEntry.directory("empty"),
    ]
    return tree(store, {"index.html": b"<h1>hi</h1>", "src/a.css": b"a{}"}).merge(Tree.of(extra))


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_starter_has_one_root_commit_that_git_accepts(store: ObjectStore, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_out(store, workspace.with_history(store, starter(store)), folder)
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-list", "--all", "--parents").split() == [git(folder, "rev-parse", "HEAD").strip()]
    assert (
        git(folder, "log", "--format=%an %ae %at %cn %ct %s") == "rbl rbl@localhost 1704067200 rbl 1704067200 Starter\n"
    )
    assert git(folder, "symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert git(folder, "ls-tree", "-r", "--name-only", "HEAD").split() == [
        "bin/run",
        "index.html",
        "latest",
        "src/a.css",
    ]
    git(folder, "fsck", "--strict")


@pytest.mark.parametrize("command", ["tag", "remote", "stash list", "reflog show --all", "notes list"])
def test_starter_has_no_other_history(store: ObjectStore, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "out"
    write_out(store, workspace.with_history(store, starter(store)), folder)
    assert git(folder, *command.split()) == ""
    assert not list(folder.glob(".git/**/*.sample"))


def test_the_same_starter_gives_the_same_tree(store: ObjectStore, tmp_path: Path) -> None:
    other = ObjectStore.create(tmp_path / "other", "none")
    assert workspace.with_history(store, starter(store)) == workspace.with_history(other, starter(other))


@pytest.mark.parametrize("path", [".git/config", ".GIT/HEAD", ".git"])
def test_starter_with_a_git_folder_is_refused(store: ObjectStore, path: str) -> None:
    with pytest.raises(InputError, match="git"):
        workspace.with_history(store, tree(store, {path: b"x"}))


def package(store: ObjectStore) -> Tree:
    files = {"brief.md": b"b", "contract.json": b"{}", "evidence/a.png": b"p", "starter/x": b"s", "kit.json": b"secret"}
    return tree(store, files)


def test_agent_sees_only_brief_contract_and_evidence(store: ObjectStore) -> None:
    files = save_tree(store, tree(store, {"fix.py": b"pass"}))
    with workspace.staged(store, "folder", "attempt", package(store), files) as stage:
        shown = sorted(str(path.relative_to(stage.task)) for path in stage.task.rglob("*"))
        assert shown == ["brief.md", "contract.json", "evidence", "evidence/a.png"]
        assert [path.name for path in stage.agent.iterdir()] == ["fix.py"]
        assert stage.task.parent.stat().st_mode & 0o077 == 0
    assert not stage.task.exists()


def test_case_without_evidence_and_agent_without_files_show_empty_folders(store: ObjectStore) -> None:
    with workspace.staged(store, "folder", "attempt", tree(store, {"brief.md": b"b"}), None) as stage:
        assert list((stage.task / "evidence").iterdir()) == []
        assert list(stage.agent.iterdir()) == []


def test_an_attempt_is_not_staged_twice(store: ObjectStore) -> None:
    with workspace.staged(store, "folder", "attempt", package(store), None):  # noqa: SIM117  the inner one fails
        with pytest.raises(Conflict), workspace.staged(store, "folder", "attempt", package(store), None):
            pass


def test_stages_of_dead_harnesses_are_reaped_and_of_living_ones_not(store: ObjectStore) -> None:
    with workspace.staged(store, "folder", "living", package(store), None) as stage:
        dead = stage.task.parent.parent / "dead"
        dead.mkdir()
        (dead / "owner").write_text("nobody:1 0.0")
        name, since = (stage.task.parent / "owner").read_text().split()
        (dead / "owner").write_text(f"{name.rpartition(':')[0]}:1 {since}")
        assert workspace.reap("folder") == ["stage dead"]
        assert workspace.reap("other") == []
        assert stage.task.exists()


def test_named_attempts_are_reaped_whoever_owns_them(store: ObjectStore) -> None:
    with workspace.staged(store, "folder", "one", package(store), None):
        assert workspace.reap("folder", frozenset({"other"})) == []


def test_a_stage_folder_of_somebody_else_is_refused(store: ObjectStore) -> None:
    with workspace.staged(store, "folder", "one", package(store), None) as stage:
        home = stage.task.parent.parent
    assert not home.exists()
    home.symlink_to("/tmp")
    with pytest.raises(Conflict):
        workspace.reap("folder")
