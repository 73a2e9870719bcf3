"""A ledger against a model of it: appends, crashes at any byte, reopenings. What was acknowledged is there, once.

The model is a list of names. A crash lets go of the sequencer as a killed process does, and leaves the journal cut at
any byte after what was acknowledged, only some tiles of the next head, and a temporary file cut short. A real process
is killed at each system call in `tests/integration/test_append_faults.py`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer
from ledger.verify import verify_ledger
from tests.unit.ledger.release import bench

HOMES = ("RBL_CONFIG_HOME", "RBL_STATE_HOME")


class LedgerMachine(RuleBasedStateMachine):
    """`names` are acknowledged, in the order of their records; before them stand the `base` records of the plan."""

    @initialize()
    def begin(self):
        self.place = Path(tempfile.mkdtemp())
        self.before = {name: os.environ.get(name) for name in HOMES}
        for name in HOMES:
            os.environ[name] = str(self.place / name)
        self.folder = bench.begin(self.place / "bench")
        self.signer = self.folder.keys.signer("release-manager")
        story = bench.tell(self.folder)
        story.plan(["a"], ["pricing"])
        self.template = story.entries["a"].body
        self.base = Ledger.open(self.folder).head.size
        self.names: list[str] = []
        self.envelopes = {}
        self.count = 0
        self.sequencer = Sequencer.open(self.folder)

    def teardown(self):
        self.abandon()
        for name, value in self.before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        shutil.rmtree(self.place)

    def abandon(self):
        """What a killed process does: its files are closed and its lock is free, and nothing is written any more."""
        if self.sequencer is not None:
            self.sequencer._journal.close()
            self.sequencer._lock.release()
            self.sequencer = None

    def fresh(self, count):
        names = [f"n{self.count + number}" for number in range(count)]
        self.count += count
        for name in names:
            self.envelopes[name] = sign_statement(msgspec.structs.replace(self.template, id=name), [self.signer])
        return names

    @property
    def journal(self):
        return self.folder.journal / "batches"

    @rule(count=st.integers(1, 40), integrate=st.booleans())
    def append(self, count, integrate):
        names = self.fresh(count)
        indices = self.sequencer.append([self.envelopes[name] for name in names], integrate=integrate)
        assert indices == list(range(self.base + len(self.names), self.base + len(self.names) + count))
        self.names += names

    @precondition(lambda self: self.names)
    @rule(data=st.data())
    def append_again(self, data):
        name = data.draw(st.sampled_from(self.names))
        assert self.sequencer.append([self.envelopes[name]]) == [self.base + self.names.index(name)]

    @rule()
    def reopen(self):
        self.sequencer.close()
        self.sequencer = Sequencer.open(self.folder)

    @rule(count=st.integers(1, 40), where=st.floats(0, 1))
    def die_while_journaling(self, count, where):
        """The batch reached the disk up to some byte: all of it is there, or nothing."""
        names = self.fresh(count)
        acknowledged = self.journal.stat().st_size
        self.sequencer.append([self.envelopes[name] for name in names], integrate=False)
        written = self.journal.stat().st_size
        self.abandon()
        cut = acknowledged + round((written - acknowledged) * where)
        os.truncate(self.journal, cut)
        self.recover(names if cut == written else [])

    @rule(count=st.integers(1, 300), keep=st.floats(0, 1), junk=st.binary(max_size=40))
    def die_while_integrating(self, count, keep, junk):
        """The batch is acknowledged; of the tiles and bundles of its head only the first few were linked."""
        names = self.fresh(count)
        self.sequencer.append([self.envelopes[name] for name in names], integrate=False)
        before = self.tiles()
        base = self.sequencer._writer.size
        entries = [e for batch in self.sequencer._journal.batches if batch.first >= base for e in batch.entries]
        self.sequencer._writer.integrate(entries)
        self.abandon()
        written = sorted(self.tiles() - before)
        for path in written[round(len(written) * keep) :]:
            path.unlink()
        (self.folder.log / ".tmp" / "1.0123456789abcdef").write_bytes(junk)
        self.recover(names)

    @rule(count=st.integers(1, 20))
    def die_before_the_head_is_remembered(self, count):
        names = self.fresh(count)
        remembered = {path: path.read_bytes() for path in self.folder.state.iterdir() if path.is_file()}
        self.sequencer.append([self.envelopes[name] for name in names])
        self.abandon()
        for path, data in remembered.items():
            path.write_bytes(data)
        self.recover(names)

    def tiles(self):
        return {path for path in (self.folder.log / "tile").rglob("*") if path.is_file()}

    def recover(self, survived):
        self.names += survived
        self.sequencer = Sequencer.open(self.folder)
        self.everything_acknowledged_is_there_once_and_verifies()

    @rule()
    def everything_acknowledged_is_there_once_and_verifies(self):
        self.sequencer.integrate()
        ids = [record.body.id for record in Ledger.open(self.folder).of(kinds.Entry)]
        assert ids == ["a", *self.names]
        report = verify_ledger(self.folder, 1)
        assert report.findings == ()
        assert report.size == self.base + len(self.names)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    deadline=None, max_examples=8, stateful_step_count=10, suppress_health_check=list(HealthCheck)
)
