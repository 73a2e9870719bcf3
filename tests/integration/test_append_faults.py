"""An append in which a system call fails, or the process dies at it: the log verifies afterwards, nothing said is lost.

The faults are the kernel's own: `strace` makes the n-th call of a kind return an error, or kills the process at it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.reader import Ledger
from ledger.records import kinds
from ledger.sequencer import Sequencer
from ledger.verify import verify_ledger
from rbl.workspace import create

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")

APPEND = """
import os, sys
from pathlib import Path
from ledger.announce import Stamp
from ledger.folder import Folder
from ledger.records import kinds
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer

folder = Folder.open(Path(sys.argv[1]))
signer = folder.keys.signer("release-manager")
at = Stamp.now(folder)

def record(name):
    agent = kinds.Agent(adapter="noop", version="1", argv=[], files=None)
    return sign_statement(kinds.Entry(
        ledger=at.ledger, after=at.after, issued_at="2026-11-30T23:05:01Z", id=name, agent=agent, model=None,
        reasoning_effort=None, tool_profile="none", skills=None, runtime="default", evidence_condition="full",
        sandbox="none", limits=None), [signer])

records = [record(f"{sys.argv[2]}-{number}") for number in range(3)]
with Sequencer.open(folder) as sequencer:
    for envelope in records:
        sequencer.append([envelope])
        os.write(1, b"said\\n")
"""

CALLS = ("openat", "write", "fsync", "fdatasync", "rename", "linkat", "ftruncate", "mkdir")
"""What an append asks of the kernel; those that it does not use give no points."""


MOST = 8
"""Points tried of each call and fault, spread over the append."""


@pytest.fixture(scope="module")
def template(homes, tmp_path_factory):
    """A log of 255 records, so that the append crosses the end of a bundle."""
    folder = create(tmp_path_factory.mktemp("faults") / "bench", None)
    append(folder.root, "warm")
    return folder


def append(root, name, *inject):
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *inject] if inject else []
    return subprocess.run(
        [*strace, sys.executable, "-B", "-P", "-c", APPEND, str(root), name],
        capture_output=True,
        text=True,
        check=False,
    )


def points(root, name):
    """How often each call touches the folder or the state during one append: (call, first, last) of its numbers."""
    trace = Path(root).parent / "trace"
    words = ["strace", "-f", "-qq", "-y", "-o", str(trace), "-e", f"trace={','.join(CALLS)}"]
    subprocess.run([*words, sys.executable, "-B", "-P", "-c", APPEND, str(root), name], check=True, capture_output=True)
    numbers: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    for line in trace.read_text().splitlines():
        found = re.match(r"\d+\s+(\w+)\((.*)", line)
        if found is None or found[1] not in CALLS:
            continue
        counts[found[1]] = counts.get(found[1], 0) + 1
        if str(Path(root)) in found[2] or "/state/" in found[2]:
            numbers.setdefault(found[1], []).append(counts[found[1]])
    return numbers


@pytest.mark.parametrize("fault", ["error=EIO", "error=ENOSPC", "signal=SIGKILL"])
def test_a_fault_at_each_call_of_an_append_loses_nothing_that_was_said(template, fault):
    numbers = points(template.root, f"probe-{fault.split('=')[1].lower()}")
    assert {"openat", "write", "fsync"} <= numbers.keys()
    tried = 0
    for call, at in numbers.items():
        for number in at[:: -(-len(at) // MOST)]:
            name = f"{call}-{number}-{fault.split('=')[1].lower()}"
            done = append(template.root, name, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={number}")
            said = done.stdout.count("said")
            with Sequencer.open(template):  # recovers
                pass
            ids = [record.body.id for record in Ledger.open(template).of(kinds.Entry)]
            assert [item for item in ids if item.startswith(f"{name}-")][:said] == [
                f"{name}-{index}" for index in range(said)
            ], (call, number, done.stderr[-500:])
            assert len(ids) == len(set(ids))
            if said < 3:
                assert done.returncode != 0, name
            tried += 1
    assert tried > 20
    report = verify_ledger(template, 2)
    assert report.findings == (), report.findings
