"""The native backend: the same walk on the host."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cases.contract import BuildRecipe
from ledger.records import kinds
from runners.backend import BackendFailure, Job, Produced
from runners.native import Native
from store.directory import load_tree, save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Native:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return Native(ObjectStore.create(tmp_path / "objects", "none"), "folder")


def tree(store: ObjectStore, files: dict[str, bytes]) -> Tree:
    return Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())


def job(native: Native, adapter: str, argv: list[str], files: dict[str, bytes] | None, seconds: int = 30) -> Job:
    store = native.store
    package = tree(store, {"brief.md": b"brief", "contract.json": b"{}", "starter/index.html": b"start"})
    return Job(
        attempt="attempt",
        package=save_tree(store, package),
        agent=kinds.Agent(adapter=adapter, version="1", argv=argv, files=None),
        files=None if files is None else save_tree(store, tree(store, files)),
        limits=kinds.Limits(seconds=seconds, memory=1 << 30, cpus=1000, pids=64, workspace=16 << 20),
    )


Run = Callable[..., Produced]


@pytest.fixture
def run(native: Native) -> Run:
    def run(
        adapter: str, argv: list[str] | None = None, files: dict[str, bytes] | None = None, seconds: int = 30
    ) -> Produced:
        return native.produce(job(native, adapter, argv or [], files, seconds), lambda _name, _fields: None)

    return run


def paths(native: Native, tree: object) -> list[str]:
    assert tree is not None
    return [entry.path for entry in load_tree(native.store, tree)]  # type: ignore[arg-type]


def test_it_says_what_it_is(native: Native) -> None:
    assert native.name == "native"


def test_noop_hands_the_starter_back(run: Run, native: Native) -> None:
    produced = run("noop")
    assert produced.workspace == tree(native.store, {"index.html": b"start"}).digest


def test_oracle_lays_its_files_over_the_starter(run: Run, native: Native) -> None:
    assert paths(native, run("oracle", files={"css/a.css": b"a{}"}).workspace) == ["css/a.css", "index.html"]


def test_command_works_where_its_paths_lead(run: Run, native: Native) -> None:
    script = b'cp /dev/null made; cat "$1"; git log --format=%s; exit 4'
    produced = run("command", ["sh", "/agent/run.sh", "/task/brief.md"], {"run.sh": script})
    assert (produced.exit_code, produced.stdout) == (4, b"briefStarter\n")
    assert paths(native, produced.workspace) == ["index.html", "made"]
    assert produced.notes == ("exit-nonzero",)


def test_time_out_is_a_value(run: Run) -> None:
    produced = run("command", ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"], seconds=1)
    assert (produced.timed_out, produced.exit_code) == (True, None)


def test_missing_executable_is_the_harness_s_fault(run: Run) -> None:
    with pytest.raises(BackendFailure) as caught:
        run("command", ["no-such-agent"])
    assert caught.value.reason == "preflight"


def test_hostile_entries_are_left_out_here_too(run: Run, native: Native) -> None:
    produced = run("command", ["sh", "-c", "ln -s /etc/passwd a; mkfifo b; ln -s index.html c"])
    assert paths(native, produced.workspace) == ["c", "index.html"]
    assert produced.notes == ("harvest-rejected",)


def test_nothing_is_left(run: Run) -> None:
    run("noop")
    left = [path for path in Path(tempfile.gettempdir()).rglob("*") if path.is_file() or path.name == "attempt"]
    assert left == []


def test_build_without_a_command_is_the_workspace(native: Native) -> None:
    workspace = save_tree(native.store, tree(native.store, {"index.html": b"x"}))
    built = native.build(workspace, BuildRecipe(argv=(), output="."), job(native, "noop", [], None))
    assert (built.output, built.reason) == (workspace, None)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("mkdir dist; cp index.html dist/", None),
        ("echo no >&2; exit 1", "build-failed"),
        ("true", "no-output"),
        ("mkdir dist; touch dist/a", "no-output"),
    ],
)
def test_build_gives_its_output_or_a_reason(native: Native, script: str, reason: str | None) -> None:
    workspace = save_tree(native.store, tree(native.store, {"index.html": b"x"}))
    built = native.build(
        workspace, BuildRecipe(argv=("sh", "-c", script), output="dist"), job(native, "noop", [], None)
    )
    assert built.reason == reason
    if reason is None:
        assert paths(native, built.output) == ["index.html"]
