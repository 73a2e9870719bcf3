"""Verifies a whole log: checkpoint, every tile and leaf, every signature, every rule of admission.

    report = verify_ledger(folder)
    report.size, report.root
    report.findings      # (Finding("leaf", "records 256 to 511", "entry 300 is not the one in the tree: …"),)

Steps: the checkpoint under the pinned trust root and the head remembered here; the bundles, authenticated and examined
in parallel (a broken one is a finding, and the others are looked at all the same); the gate over all records in order,
up to the first that it refuses; then what only the whole log shows: trust roots that are not those in `trust/`,
records by a key that was distrusted afterwards for their index, verdicts that differ though evaluator and captures are
the same. Objects are not read here: see `store.fsck`. Releases are verified by `ledger.release.verify`.
"""

from __future__ import annotations

import base64
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import open_log, trust_chain
from ledger.log.checkpoint import Checkpoint
from ledger.log.log import LogReader, read_folder
from ledger.log.tiles import WIDTH
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.examined import Examined, examine
from ledger.records.gate import Gate
from ledger.records.record import Record
from store.digest import Digest
from store.errors import InputError, LogInvalid, RecordRejected, RuleBroken

__all__ = ["Finding", "LedgerReport", "verify_ledger"]

_ALONE: Final = 8 * WIDTH
"""Logs below this many records are not worth starting processes for."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: its stable name, that of the error which a reader would meet.
        record: what it is about: a record, some records, or a file.
        consequence: what is wrong, and what may not be believed because of it.
    """

    rule: str
    record: str
    consequence: str


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """What was found.

    Attributes:
        size, root: the verified head; no records, and the root over none, where no checkpoint verifies.
        findings: empty when all is well.
    """

    size: int
    root: Digest
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    """One bundle to authenticate and examine, in any process."""

    directory: Path
    checkpoint: Checkpoint
    public: Mapping[str, bytes]
    start: int
    end: int


_Answer = list[Examined | bytes] | Finding


def verify_ledger(
    folder: Folder, processes: int | None = None, progress: Progress | None = None, *, pinned: Digest | None = None
) -> LedgerReport:
    """Verify a folder's log.

    Args:
        folder: the benchmark folder.
        processes: how many work at it; by default as many as there are cores.
        progress: told how many records of how many were examined.
        pinned: digest of the first trust root; by default the one that this machine remembers.
    """
    try:
        log = open_log(folder, pinned)
        roots = trust_chain(folder, pinned)
    except (RuleBroken, InputError) as error:
        rule = error.rule if isinstance(error, RuleBroken) else "checkpoint"
        finding = Finding(rule, error.where or str(folder.log), f"{error.what}: nothing of the log can be believed")
        return LedgerReport(0, Digest.from_raw(merkle.EMPTY_ROOT), (finding,))
    public = {key.keyid: base64.b64decode(key.public) for root in roots for key in root.keys}
    tasks = [
        _Task(folder.log, log.checkpoint, public, start, min(start + WIDTH, log.size))
        for start in range(0, log.size, WIDTH)
    ]
    findings: list[Finding] = []
    fold = _Fold(folder.config.origin, log)
    for task, answer in _answers(tasks, processes, log.size):
        if isinstance(answer, Finding):
            findings.append(answer)
            fold.stop()
        elif (refused := fold.take(answer)) is not None:
            findings.append(refused)
        if progress is not None:
            progress(task.end, log.size)
    findings += _trust_files(folder, fold.records)
    findings += _distrusted(fold)
    findings += _twins(fold.records)
    return LedgerReport(log.size, log.checkpoint.root, tuple(findings))


class _Fold:
    """The gate over the examined records, until it refuses one."""

    def __init__(self, origin: str, log: LogReader) -> None:
        self.gate = Gate(origin, log.root_at)
        self.records: list[Record] = []
        self._stopped = False

    def stop(self) -> None:
        """Judge nothing more: a record is missing."""
        self._stopped = True

    def take(self, examined: Sequence[Examined | bytes]) -> Finding | None:
        """Admit the next records; what is wrong with the first that is refused."""
        if self._stopped:
            return None
        for item in examined:
            index = len(self.records)
            try:
                record = (
                    self.gate.admit(Envelope.parse(item), index)
                    if isinstance(item, bytes)
                    else self.gate.admit_examined(item, index)
                )
            except RecordRejected as error:
                self._stopped = True
                what = f"{error.what}: it may not stand in the log, and none after it was judged"
                return Finding(error.rule, f"record {index}", what)
            self.records.append(record)
        return None


def _answers(tasks: Sequence[_Task], processes: int | None, size: int) -> Iterator[tuple[_Task, _Answer]]:
    workers = min(processes or os.cpu_count() or 1, len(tasks))
    if workers <= 1 or size < _ALONE:
        for task in tasks:
            yield task, _examine(task)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from zip(tasks, pool.map(_examine, tasks, chunksize=2), strict=True)


def _examine(task: _Task) -> _Answer:
    """Authenticate one bundle; a leaf that is not in order is handed back as it is, for the gate to say why."""
    try:
        leaves = list(LogReader(read_folder(task.directory), task.checkpoint).entries(task.start, task.end))
    except LogInvalid as error:
        what = f"{error.what}: these records cannot be believed, and none after them was judged"
        return Finding(error.rule, f"records {task.start} to {task.end - 1}", what)
    return [examine(leaf, task.public) or leaf for leaf in leaves]


def _trust_files(folder: Folder, records: Sequence[Record]) -> Iterator[Finding]:
    for record in records:
        if isinstance(record.body, kinds.TrustRoot):
            place = folder.trust / f"{record.body.version}.root.json"
            known = None
            with suppress(OSError):
                known = Digest.of(place.read_bytes())
            if known != record.digest:
                what = f"not the trust root {record.body.version} in {place}: two answers to who may sign"
                yield Finding("trust", f"record {record.index}", what)


def _distrusted(fold: _Fold) -> Iterator[Finding]:
    """Records admitted before a later trust root said from which index on their key is distrusted."""
    for record in fold.records:
        for keyid in record.keyids:
            if fold.gate.trust.distrusts(keyid, record.index):
                what = f"its key {keyid} was distrusted afterwards, for this index too: what it says is in doubt"
                yield Finding("distrusted", f"record {record.index}", what)


def _twins(records: Sequence[Record]) -> Iterator[Finding]:
    first: dict[tuple[str, Digest, Digest], Record[kinds.Evaluation]] = {}
    for record in records:
        body = record.body
        if not isinstance(body, kinds.Evaluation):
            continue
        before = first.setdefault((body.attempt, body.captures, body.evaluator), record)
        if before.body.verdict != body.verdict:
            what = f"not the verdict of record {before.index}, from the same captures by the same evaluator: grading "
            what += f"{body.attempt} does not give the same twice"
            yield Finding("twin", f"record {record.index}", what)
