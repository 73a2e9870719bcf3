"""Builds in the sandbox image: what comes out, and what a build cannot do."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cases.contract import BuildRecipe
from ledger.records import kinds
from runners.backend import Built, Job
from runners.build import build
from runners.container import Engine
from runners.image import Image, ensure
from store.digest import Digest
from store.directory import load_tree, save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

pytestmark = pytest.mark.docker

MIB = 1 << 20


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.connect()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(engine: Engine) -> Image:
    return ensure(engine=engine)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


Make = Callable[..., Built]


@pytest.fixture
def make(engine: Engine, image: Image, store: ObjectStore) -> Make:
    """Builds a workspace whose `build.py` is given, or with another program."""

    def make(program: str = "", *, argv: tuple[str, ...] = ("python3", "build.py"), output: str = "dist") -> Built:
        files = {"build.py": program.encode(), "index.html": b"<!doctype html>source", ".git/HEAD": b"ref"}
        tree = Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())
        limits = kinds.Limits(seconds=20, memory=512 * MIB, cpus=1000, pids=64, workspace=8 * MIB)
        agent = kinds.Agent(adapter="noop", version="1", argv=[], files=None)
        job = Job(f"attempt-{uuid.uuid4().hex[:8]}", Digest.of(b""), agent, None, limits)
        return build(
            engine, store, image, uuid.uuid4().hex[:12], save_tree(store, tree), BuildRecipe(argv, output), job
        )

    return make


GOOD = """
import os, pathlib, socket
print('building', sorted(os.listdir()))
try:
    socket.create_connection(('1.1.1.1', 80), 1)
except OSError as error:
    print('no network')
out = pathlib.Path('dist/assets'); out.mkdir(parents=True)
(out / 'a.css').write_text('a{}')
(out.parent / 'index.html').write_text('built')
os.symlink('index.html', 'dist/home.html')
"""


def test_output_of_a_build_is_a_tree_and_the_same_again(make: Make, store: ObjectStore) -> None:
    built = make(GOOD)
    assert built.output is not None, built.log
    tree = load_tree(store, built.output)
    assert [(entry.path, entry.mode) for entry in tree] == [
        ("assets/a.css", "100644"),
        ("home.html", "120000"),
        ("index.html", "100644"),
    ]
    assert b"building ['build.py', 'index.html']\nno network\n" in built.log
    assert make(GOOD).output == built.output


def test_node_is_there_for_builds(make: Make) -> None:
    program = "require('fs').mkdirSync('dist'); require('fs').writeFileSync('dist/index.html', process.version)"
    assert make(argv=("node", "-e", program)).output is not None


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; print('no such module', file=sys.stderr); sys.exit(3)", "build-failed"),
        ("pass", "no-output"),
        ("import os; os.mkdir('dist')", "no-output"),
        ("import os; os.symlink('/etc', 'dist')", "no-output"),
        ("open('dist', 'w')", "no-output"),
        ("import os; os.mkdir('dist'); os.symlink('/etc/passwd', 'dist/index.html')", "harvest-limit"),
        ("import os; os.mkdir('dist'); os.mkfifo('dist/index.html')", "harvest-limit"),
        ("import os; os.mkdir('dist'); open('dist/index.html', 'wb').write(bytes(12 << 20))", "harvest-limit"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "build-failed"),
    ],
)
def test_build_that_gives_no_site_has_a_reason(make: Make, program: str, reason: str) -> None:
    built = make(program)
    assert (built.output, built.reason) == (None, reason)
    assert built.log


def test_program_that_is_not_there_is_a_failed_build(make: Make) -> None:
    built = make(argv=("no-such-tool",))
    assert built.reason == "build-failed"
    assert b"no-such-tool: No such file or directory" in built.log


def test_processes_left_behind_do_not_outlive_the_build(make: Make, store: ObjectStore) -> None:
    built = make(
        "import os, time, pathlib\n"
        "pathlib.Path('dist').mkdir(); pathlib.Path('dist/index.html').write_text('done')\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True: pathlib.Path('dist/index.html').write_text('late')\n"
        "time.sleep(0.2); pathlib.Path('dist/index.html').write_text('done')\n"
    )
    assert built.output is not None
    assert built.milliseconds < 15_000


def test_build_that_does_not_end_is_ended(make: Make) -> None:
    built = make("import time\nwhile True: time.sleep(1)")
    assert built.reason == "build-failed"
    assert b"ran out of time" in built.log


def test_what_a_build_prints_is_capped_and_never_the_tar(make: Make) -> None:
    built = make("import os, sys\nos.mkdir('dist'); open('dist/index.html', 'w').write('x')\nprint('y' * (4 << 20))")
    assert built.output is not None
    assert len(built.log) <= 1 << 20
