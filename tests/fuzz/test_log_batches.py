"""Random histories of a log: batches of any size, reopenings, crashes that cut the journal. One tree comes out."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint
from ledger.log.journal import Journal
from ledger.log.log import LogReader, read_folder
from ledger.log.writer import LogWriter
from ledger.records.kinds import Head
from store.digest import Digest

NAME = "example.org/bench"

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("journal"), st.integers(1, 300)),
        st.tuples(st.just("integrate"), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("crash"), st.integers(1, 5_000)),
        st.tuples(st.just("lose-tiles"), st.just(0)),
    ),
    max_size=10,
)


class History:
    """Journal and writer as the sequencer drives them, without records and signatures."""

    def __init__(self, root):
        self.root = root
        self.reader = None
        self.entries = []
        self.durable = 0
        self.open()

    def open(self):
        self.journal = Journal(self.root / "batches")
        size = 0 if self.reader is None else self.reader.size
        journaled = self.journal.batches[-1].head.size if self.journal.batches else size
        self.entries = self.entries[: max(journaled, size)]
        self.writer = LogWriter(self.root / "log", self.reader)
        self.integrate()

    def head(self, size):
        root = merkle.root([merkle.leaf_hash(entry) for entry in self.entries[:size]])
        return Head(size=size, root=Digest.from_raw(root))

    def append(self, count):
        first = len(self.entries)
        self.entries += [b'{"n":%d}' % number for number in range(first, first + count)]
        self.journal.append(first, self.entries[first:], self.head(len(self.entries)))

    def integrate(self):
        size = self.writer.size
        entries = [entry for batch in self.journal.batches if batch.first >= size for entry in batch.entries]
        if entries:
            self.writer.integrate(entries)
            head = self.head(len(self.entries))
            self.reader = LogReader(read_folder(self.root / "log"), Checkpoint(NAME, head.size, head.root))
            self.writer.prune()

    def crash(self, cut):
        """The end of a batch that is not integrated yet never reached the disk."""
        self.journal.close()
        whole = (self.root / "batches").read_bytes()
        size = 0 if self.reader is None else self.reader.size
        keep = 14 + sum(len(batch.format()) for batch in self.journal.batches if batch.head.size <= size)
        (self.root / "batches").write_bytes(whole[: max(keep, len(whole) - cut)])
        self.open()

    def lose_tiles(self):
        """A power failure before the folder was fsynced: files of the next head are there, or not."""
        before = {path for path in (self.root / "log").rglob("*") if path.is_file()}
        self.writer.integrate(
            [b for batch in self.journal.batches if batch.first >= self.writer.size for b in batch.entries]
        )
        written = sorted({path for path in (self.root / "log").rglob("*") if path.is_file()} - before)
        for path in written[::2]:
            path.unlink()
        self.journal.close()
        self.open()


@settings(deadline=None, max_examples=20)
@given(STEPS)
def test_any_history_gives_the_tree_of_its_entries(steps):
    root = Path(tempfile.mkdtemp())
    try:
        history = History(root)
        for step, argument in steps:
            if step == "journal":
                history.append(argument)
            elif step == "integrate":
                history.integrate()
            elif step == "reopen":
                history.journal.close()
                history.open()
            elif step == "crash":
                history.crash(argument)
            else:
                history.lose_tiles()
        history.integrate()
        if history.reader is not None:
            assert list(history.reader.entries()) == history.entries
            for size in {0, 1, len(history.entries) // 2, len(history.entries)}:
                assert history.reader.root_at(size) == history.head(size).root
        history.journal.close()
    finally:
        shutil.rmtree(root)
