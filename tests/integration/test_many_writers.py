"""Eight processes that append at once: every record stands once, in one verified log."""

from __future__ import annotations

import subprocess
import sys

from ledger.reader import Ledger
from ledger.records import kinds
from ledger.sequencer import Sequencer
from ledger.verify import verify_ledger
from rbl.workspace import create

WRITERS, EACH, BATCH = 8, 1250, 125

WRITER = """
import sys
from pathlib import Path
from ledger.announce import Stamp
from ledger.folder import Folder
from ledger.records import kinds
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer, spool

folder, writer, each, batch = Folder.open(Path(sys.argv[1])), *map(int, sys.argv[2:])
signer = folder.keys.signer("release-manager")

def record(number):
    at = Stamp.now(folder) if number % batch == 0 else record.at
    record.at = at
    agent = kinds.Agent(adapter="noop", version="1", argv=[], files=None)
    return sign_statement(kinds.Entry(
        ledger=at.ledger, after=at.after, issued_at="2026-11-30T23:05:01Z", id=f"w{writer}-{number}", agent=agent,
        model=None, reasoning_effort=None, tool_profile="none", skills=None, runtime="default",
        evidence_condition="full", sandbox="none", limits=None), [signer])

for start in range(0, each, batch):
    made = [record(number) for number in range(start, start + batch)]
    if writer % 2:
        for envelope in made:
            spool(folder, envelope)
    else:
        with Sequencer.open(folder, wait=300) as sequencer:
            sequencer.append(made)
            sequencer.append(made[:10])
"""


def test_ten_thousand_records_of_eight_writers_stand_once_each(homes, tmp_path):
    folder = create(tmp_path / "bench", None)
    words = [str(folder.root)]
    running = [
        subprocess.Popen([sys.executable, "-P", "-c", WRITER, *words, str(writer), str(EACH), str(BATCH)])
        for writer in range(WRITERS)
    ]
    assert [process.wait() for process in running] == [0] * WRITERS
    with Sequencer.open(folder) as sequencer:
        sequencer.drain()
    ids = [record.body.id for record in Ledger.open(folder).of(kinds.Entry)]
    assert len(ids) == WRITERS * EACH
    assert set(ids) == {f"w{writer}-{number}" for writer in range(WRITERS) for number in range(EACH)}
    report = verify_ledger(folder, 2)
    assert report.findings == ()
    assert report.size == WRITERS * EACH + 1
    assert not list(folder.spool.glob("*.dsse"))
