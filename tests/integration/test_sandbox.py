"""Attempts in real containers: what an agent can do, what it cannot, and what is left of it."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger.records import kinds
from runners.backend import BackendFailure, Job, Produced
from runners.container import Engine
from runners.sandbox import Sandbox
from store.directory import check_out, load_tree, save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

pytestmark = pytest.mark.docker

MIB = 1 << 20
PAGE = b"<!doctype html><title>starter</title>\n"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.connect()
    yield engine
    engine.close()


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


@pytest.fixture
def sandbox(store: ObjectStore) -> Iterator[Sandbox]:
    sandbox = Sandbox.open(store, uuid.uuid4().hex[:12])
    yield sandbox
    label = f"label=org.reconbench.folder={sandbox.folder}"
    for what in (["ps", "--all"], ["volume", "ls"]):
        left = subprocess.run(["docker", *what, "--quiet", "--filter", label], capture_output=True, check=True)
        assert left.stdout == b"", f"left behind: {what}"
    assert sandbox.reap() == []


def tree(store: ObjectStore, files: dict[str, bytes]) -> Tree:
    return Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())


Run = Callable[..., Produced]


@pytest.fixture
def run(sandbox: Sandbox, store: ObjectStore) -> Run:
    """Runs a Python program, or another adapter, as the agent."""

    def run(program: str = "", *, adapter: str = "command", argv: list[str] | None = None, **given: object) -> Produced:
        package = tree(
            store,
            {
                "brief.md": b"make it blue\n",
                "contract.json": b"{}",
                "evidence/desktop.png": b"a picture",
                "starter/index.html": PAGE,
            },
        )
        files = given.get("files", {"agent.py": program.encode()})
        limits = {"seconds": 60, "memory": 512 * MIB, "cpus": 1000, "pids": 64, "workspace": 32 * MIB}
        limits |= {name: value for name, value in given.items() if name in limits}
        job = Job(
            attempt=f"attempt-{uuid.uuid4().hex[:8]}",
            package=save_tree(store, package),
            agent=kinds.Agent(adapter=adapter, version="1", argv=argv or ["python3", "/agent/agent.py"], files=None),
            files=None if files is None else save_tree(store, tree(store, files)),
            limits=kinds.Limits(**limits),
        )
        observe = given.get("observe", lambda _name, _fields: None)
        return sandbox.produce(job, observe)

    return run


def paths(store: ObjectStore, produced: Produced) -> list[str]:
    assert produced.workspace is not None, produced
    return [entry.path for entry in load_tree(store, produced.workspace)]


def read(store: ObjectStore, produced: Produced, path: str) -> bytes:
    assert produced.workspace is not None, produced
    entry = load_tree(store, produced.workspace).get(path)
    assert entry is not None
    assert entry.digest is not None
    return store.get(entry.digest)


def test_noop_hands_the_starter_back(run: Run, store: ObjectStore) -> None:
    produced = run(adapter="noop", files=None)
    assert produced.exit_code == 0
    assert produced.workspace == tree(store, {"index.html": PAGE}).digest
    assert produced.notes == ()


@pytest.mark.parametrize("adapter", ["oracle", "mock-fix"])
def test_oracle_lays_its_files_over_the_starter(run: Run, store: ObjectStore, adapter: str) -> None:
    produced = run(adapter=adapter, files={"index.html": b"done", "css/a.css": b"a{}"})
    assert paths(store, produced) == ["css/a.css", "index.html"]
    assert read(store, produced, "index.html") == b"done"


def test_oracle_without_files_is_the_harness_s_fault(run: Run) -> None:
    with pytest.raises(BackendFailure) as caught:
        run(adapter="oracle", files=None)
    assert caught.value.reason == "preflight"


def test_steps_are_observed_in_order_with_their_events(run: Run) -> None:
    seen: list[str] = []
    run("print('hello')", observe=lambda name, _fields: seen.append(name))
    assert seen == [
        "workspace.prepared",
        "prepared",
        "container.created",
        "agent.started",
        "started",
        "agent.exited",
        "agent-exited",
        "harvested",
    ]


def test_agent_sees_brief_contract_and_evidence_and_is_heard(run: Run, store: ObjectStore) -> None:
    produced = run(
        "import os, sys\n"
        "print(open('/task/brief.md').read(), sorted(os.listdir('/task')), os.listdir('/task/evidence'), os.getcwd())\n"
        "print('oops', file=sys.stderr)\n"
        "open('index.html', 'w').write('blue')\n"
        "sys.exit(3)\n"
    )
    assert produced.stdout == b"make it blue\n ['brief.md', 'contract.json', 'evidence'] ['desktop.png'] /workspace\n"
    assert produced.stderr == b"oops\n"
    assert produced.exit_code == 3
    assert produced.notes == ("exit-nonzero",)
    assert read(store, produced, "index.html") == b"blue"


def test_evidence_and_root_are_read_only_and_privileges_are_gone(run: Run) -> None:
    produced = run(
        "import errno, os\n"
        "for path in ('/task/evidence/x', '/task/brief.md', '/agent/x', '/etc/x', '/usr/bin/x'):\n"
        "    try: open(path, 'w')\n"
        "    except OSError as error: print(errno.errorcode[error.errno])\n"
        "    else: print('written', path)\n"
        "status = open('/proc/self/status').read()\n"
        "print([line for line in status.splitlines() if line.startswith(('CapEff', 'NoNewPrivs', 'Uid'))])\n"
    )
    first, *rest, last = produced.stdout.decode().splitlines()
    assert {first, *rest} <= {"EROFS", "EACCES"}
    assert last == "['Uid:\\t10001\\t10001\\t10001\\t10001', 'CapEff:\\t0000000000000000', 'NoNewPrivs:\\t1']"


def test_network_is_absent(run: Run) -> None:
    produced = run(
        "import os, socket\n"
        "print(sorted(os.listdir('/sys/class/net')))\n"
        "for address in (('192.0.2.1', 80), ('172.17.0.1', 80)):\n"
        "    try: socket.create_connection(address, 2)\n"
        "    except OSError as error: print(error.strerror)\n"
        "try: socket.getaddrinfo('example.org', 80)\n"
        "except OSError: print('no names')\n"
    )
    assert produced.stdout.decode().splitlines() == ["['lo']", *["Network is unreachable"] * 2, "no names"]


def test_starter_is_one_root_commit_and_nothing_else(run: Run) -> None:
    script = (
        "git status --porcelain; git log --all --format=%an,%at,%P,%s; git reflog --all; git tag; git remote; "
        "git stash list; git branch --all; git fsck --unreachable --lost-found; find .git -name logs; "
        "git count-objects; echo x > x; git add x; git commit --quiet -m mine; git log --format=%s"
    )
    produced = run(argv=["sh", "-c", script])
    assert produced.stderr == b""
    assert produced.stdout.decode().splitlines() == [
        "rbl,1704067200,,Starter",
        "* main",
        "3 objects, 12 kilobytes",
        "mine",
        "Starter",
    ]


def test_git_folders_are_not_harvested(run: Run, store: ObjectStore) -> None:
    produced = run(argv=["sh", "-c", "git init --quiet sub; echo a > sub/a; mkdir .GIT; echo b > .GIT/b"])
    assert paths(store, produced) == ["index.html", "sub/a"]


def test_agent_that_ignores_term_times_out(run: Run, store: ObjectStore) -> None:
    produced = run(
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: open('termed', 'w').write('yes'))\n"
        "while True: signal.pause()\n",
        seconds=1,
    )
    assert produced.timed_out
    assert produced.exit_code is None
    assert 5_500 < produced.milliseconds < 12_000
    assert "termed" in paths(store, produced)


def test_exit_code_of_a_term_handler_does_not_hide_the_time_out(run: Run) -> None:
    produced = run(
        "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nsignal.pause()\n", seconds=1
    )
    assert produced.timed_out
    assert produced.exit_code is None
    assert produced.milliseconds < 5_000


def test_agent_that_closes_its_outputs_still_times_out(run: Run) -> None:
    produced = run("import os, signal\nos.close(1); os.close(2)\nsignal.pause()\n", seconds=1)
    assert produced.timed_out


def test_background_survivor_is_dead_before_the_harvest(run: Run, store: ObjectStore) -> None:
    produced = run(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True:\n"
        "        open('survivor', 'a').write(str(time.time()) + '\\n')\n"
        "while not os.path.exists('survivor'): pass\n"
    )
    assert produced.exit_code == 0
    assert produced.milliseconds < 30_000
    assert "survivor" in paths(store, produced)


def test_memory_kill_is_a_note_and_no_error(run: Run, store: ObjectStore) -> None:
    produced = run("open('kept', 'w').write('x')\nx = b'1' * (1 << 30)\n", memory=128 * MIB)
    assert produced.memory_killed
    assert produced.exit_code == 137
    assert produced.notes == ("exit-nonzero", "memory-kill")
    assert "kept" in paths(store, produced)


def test_memory_kill_of_a_child_is_noticed(run: Run) -> None:
    produced = run(argv=["sh", "-c", "python3 -c 'x = b\"1\" * (1 << 30)'; exit 0"], memory=128 * MIB)
    assert produced.exit_code == 0
    assert produced.memory_killed


def test_fork_bomb_is_bounded(run: Run) -> None:
    produced = run(
        "import os, signal\n"
        "made = 0\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "        made += 1\n"
        "except OSError: print(made)\n",
        pids=32,
    )
    assert 20 <= int(produced.stdout) < 32


def test_full_disk_is_the_agent_s_own_matter(run: Run, store: ObjectStore) -> None:
    produced = run(
        "import errno\n"
        "for path in ('/workspace/big', '/tmp/big', '/home/big'):\n"
        "    try:\n"
        "        with open(path, 'wb', buffering=0) as file:\n"
        "            while file.write(bytes(1 << 16)): pass\n"
        "    except OSError as error: print(errno.errorcode[error.errno])\n"
        "import os; os.truncate('/workspace/big', 10)\n",
        workspace=4 * MIB,
        memory=256 * MIB,
    )
    assert produced.stdout.decode().split() == ["ENOSPC"] * 3
    assert read(store, produced, "big") == bytes(10)


def test_hostile_entries_are_left_out_one_by_one(run: Run, store: ObjectStore, tmp_path: Path) -> None:
    produced = run(
        "import os, socket\n"
        "os.symlink('/etc/passwd', 'absolute')\n"
        "os.symlink('../../../../etc/passwd', 'escape')\n"
        "os.mkdir('d'); os.symlink('..', 'd/up'); os.symlink('d/up/../x', 'via')\n"
        "os.symlink('/deps/vite', 'vite')\n"
        "os.symlink('index.html', 'good')\n"
        "os.mkfifo('fifo')\n"
        "socket.socket(socket.AF_UNIX).bind('socket')\n"
        "open('set', 'w').write('x'); os.chmod('set', 0o6755)\n"
        "open('README', 'w'); open('readme', 'w')\n"
        "open('back\\\\slash', 'w')\n"
        "os.link('index.html', 'hard')\n"
        "open('new\\nline', 'w')\n"
    )
    assert produced.notes == ("harvest-rejected",)
    found = load_tree(store, produced.workspace) if produced.workspace else Tree(())
    assert [entry.path for entry in found] == ["README", "d/up", "good", "hard", "index.html", "new\nline", "set"]
    assert read(store, produced, "hard") == PAGE
    check_out(store, found.digest, tmp_path / "out")
    assert (tmp_path / "out/set").stat().st_mode & 0o7777 == 0o755


def test_rejected_entries_are_observed_with_their_rule(run: Run) -> None:
    seen: list[dict[str, str]] = []
    run(
        "import os\nos.mkfifo('a')\nos.symlink('/etc', 'b')\nopen('c', 'w'); os.chmod('c', 0o4755)\n",
        observe=lambda name, fields: seen.append(fields) if name == "harvest.rejected" else None,
    )
    assert sorted((entry["path"], entry["rule"]) for entry in seen) == [("a", "device"), ("b", "link"), ("c", "setuid")]


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("import os; open('huge', 'w'); os.truncate('huge', 1 << 40)", id="sparse"),
        pytest.param("for n in range(7000): open(f'{n:x}', 'w').write('x' * 5000)", id="bytes"),
        pytest.param("open(b'\\xff\\xfe', 'w')", id="name"),
    ],
)
def test_workspace_beyond_the_caps_is_refused_and_no_fault_of_the_harness(run: Run, program: str) -> None:
    produced = run(program, workspace=64 * MIB if "range" in program else 32 * MIB)
    if "range" in program:
        assert produced.refused is None  # fits: the volume itself is the cap on bytes
        return
    assert produced.refused == "harvest-limit"
    assert produced.workspace is None


def test_names_deeper_than_any_path_do_not_break_the_harvest(run: Run) -> None:
    produced = run("import os\nfor _ in range(400):\n    os.mkdir('d' * 200); os.chdir('d' * 200)\nopen('deep', 'w')\n")
    assert produced.exit_code == 0
    assert produced.refused is None
    assert produced.notes == ("harvest-rejected",)


def test_empty_workspace_is_no_output(run: Run) -> None:
    produced = run(argv=["sh", "-c", "rm -rf .git index.html"])
    assert produced.refused == "no-output"


def test_missing_executable_is_the_harness_s_fault(run: Run) -> None:
    for argv in (["no-such-agent"], ["/agent/none"], ["/etc/passwd"]):
        with pytest.raises(BackendFailure) as caught:
            run(argv=argv)
        assert caught.value.reason == "preflight"


@pytest.mark.parametrize("code", [126, 127])
def test_exit_code_of_a_started_agent_is_its_own(run: Run, code: int) -> None:
    produced = run(f"import sys; sys.exit({code})")
    assert produced.exit_code == code


def test_output_is_capped_and_drained(run: Run) -> None:
    produced = run("import sys\nfor _ in range(40): sys.stdout.write('x' * (1 << 20))\n")
    assert produced.exit_code == 0
    assert len(produced.stdout) <= 8 << 20
    assert produced.notes == ("output-truncated",)


def test_limits_that_the_machine_cannot_give_are_refused_before_anything_starts(run: Run) -> None:
    with pytest.raises(BackendFailure) as caught:
        run("", cpus=1_000_000)
    assert caught.value.reason == "preflight"


def test_sealed_material_is_not_mounted(run: Run) -> None:
    produced = run("print(open('/proc/self/mountinfo').read())")
    targets = {line.split()[4] for line in produced.stdout.decode().splitlines() if line}
    ours = {target for target in targets if not target.startswith(("/proc", "/sys", "/dev"))}
    assert ours - {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/sbin/docker-init", "/usr/sbin/docker-init"} == {
        "/",
        "/agent",
        "/home",
        "/task",
        "/tmp",
        "/workspace",
    }


def test_interrupted_observer_leaves_nothing(run: Run) -> None:
    def stop(name: str, _fields: object) -> None:
        if name == "started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("import signal; signal.pause()", observe=stop)
