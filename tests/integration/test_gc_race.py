"""gc beside eight writing processes, and killed again and again: no record loses an object."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import count

import pytest

from ledger.announce import announce
from ledger.reach import reachable
from ledger.reader import Ledger
from ledger.records import kinds
from rbl.upkeep import check, collect
from rbl.workspace import create
from store import dvc, gc
from store.digest import Digest
from store.directory import save_tree
from store.tree import Tree, TreeEntry
from tests.unit.store.moments import moment

WRITERS, ROUNDS, OLD, WANTED = 8, 16, 300, 20

WRITER = """
import random, sys
from pathlib import Path
from ledger.announce import announce
from ledger.folder import Folder
from ledger.records import kinds
from store.directory import save_tree
from store.tree import Tree, TreeEntry

folder, writer, old, wanted = Folder.open(Path(sys.argv[1])), *map(int, sys.argv[2:])
draw = random.Random(writer)
for line in sys.stdin:
    number = int(line)
    texts = {"new": b"%d of %d" % (number, writer)}
    texts |= {f"old-{n}": b"old %d of round %d" % (n, number) for n in draw.sample(range(old), wanted)}
    entries = [TreeEntry.file(name, folder.store.put_bytes(text), len(text)) for name, text in texts.items()]
    agent = kinds.Agent(
        adapter="command", version="1", argv=["run"], files=save_tree(folder.store, Tree.of(entries)))
    announce(folder, "release-manager", lambda at: kinds.Entry(
        ledger=at.ledger, after=at.after, issued_at=at.issued_at, id=f"w{writer}-{number}", agent=agent, model=None,
        reasoning_effort=None, tool_profile="none", skills=None, runtime="default", evidence_condition="full",
        sandbox="none", limits=None))
    print("appended", flush=True)
"""

COLLECTOR = """
import sys
from pathlib import Path
from ledger.folder import Folder
from rbl.upkeep import collect

folder = Folder.open(Path(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    print(len(collect(folder, before=int(line), remove=True).objects), flush=True)
"""


def start(stack, code, *words):
    process = subprocess.Popen(
        [sys.executable, "-B", "-P", "-c", code, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def test_no_record_loses_an_object_to_a_gc_beside_eight_writers(homes, tmp_path):
    folder = create(tmp_path / "bench", None)
    draw = random.Random(4)
    with ExitStack() as stack:
        writers = [start(stack, WRITER, folder.root, number, OLD, WANTED) for number in range(WRITERS)]
        collector = start(stack, COLLECTOR, folder.root)
        assert collector.stdout.readline() == "ready\n"
        for number in range(ROUNDS):
            # old by the time that gc is told, and named by nothing; the writers take some of it up at that moment
            for old in range(OLD):
                folder.store.put_bytes(b"old %d of round %d" % (old, number))
            before = moment(folder.store)
            for writer in writers:
                writer.stdin.write(f"{number}\n")
            collector.stdin.write(f"{before}\n")
            if number % 4 == 3:
                time.sleep(draw.random() / 8)  # to be killed anywhere in it
                collector.kill()
                collector = start(stack, COLLECTOR, folder.root)
                assert collector.stdout.readline() == "ready\n"
            else:
                assert int(collector.stdout.readline()) >= OLD - WRITERS * WANTED
            for writer in writers:
                assert writer.stdout.readline() == "appended\n"
            if number % 4 == 3:
                assert check(folder).report.ok, number

    assert check(folder).report.ok
    records = Ledger.open(folder).of(kinds.Entry)
    assert {record.body.id for record in records} == {f"w{w}-{n}" for w in range(WRITERS) for n in range(ROUNDS)}
    needed = reachable(Ledger.open(folder), folder.store).keys()
    assert {Digest.of(b"%d of %d" % (n, w)) for w in range(WRITERS) for n in range(ROUNDS)} < needed
    collect(folder, before=moment(folder.store), remove=True)
    assert set(folder.store.digests()) == needed
    assert not check(folder).report.stray


def tree(folder, *names):
    """A tree of small files that DVC is offered too; it and its files."""
    parts = [TreeEntry.file(name, folder.store.put_bytes(name.encode()), len(name)) for name in names]
    made = Tree.of(parts)
    dvc.offer(folder.store, made, {})
    return {save_tree(folder.store, made), *(part.digest for part in parts)}, made.digest


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
def test_a_gc_killed_at_any_call_that_moves_a_file_leaves_a_whole_store(homes, tmp_path):
    folder = create(tmp_path / "bench", None)
    needed, top = tree(folder, "needed", "needed too")
    agent = kinds.Agent(adapter="command", version="1", argv=["run"], files=top)
    announce(
        folder,
        "release-manager",
        lambda at: kinds.Entry(
            ledger=at.ledger, after=at.after, issued_at=at.issued_at, id="a", agent=agent, model=None,
            reasoning_effort=None, tool_profile="none", skills=None, runtime="default", evidence_condition="full",
            sandbox="none", limits=None,
        ),
    )  # fmt: skip
    killed = dict.fromkeys(("rename", "linkat", "unlink"), 0)
    for call in killed:
        for number in count(1):
            tree(folder, "stray", "stray too")
            if call == "linkat":  # as after a gc that was killed while a slow writer appended
                gc.set_aside(folder.store, needed, moment(folder.store))
            words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
            words += ["-e", f"inject={call}:signal=SIGKILL:when={number}"]
            done = subprocess.run(
                [*words, sys.executable, "-B", "-P", "-c", COLLECTOR, str(folder.root)],
                input=f"{moment(folder.store)}\n",
                capture_output=True,
                text=True,
                check=False,
            )
            assert check(folder).report.ok, (call, number)
            assert needed <= set(folder.store.digests())
            if done.returncode == 0:
                break
            assert done.returncode in {-signal.SIGKILL, 128 + signal.SIGKILL}, done.stderr
            killed[call] += 1
    assert min(killed.values()) >= 3, killed
    collect(folder, before=moment(folder.store), remove=True)
    assert set(folder.store.digests()) == needed
    assert len(list((folder.objects / "dvc").glob("files/md5/*/*"))) == 3
