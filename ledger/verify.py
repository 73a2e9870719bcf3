"""Verifies a whole log: checkpoint, every tile and leaf, every signature, every rule of admission.

    report = verify_ledger(folder)
    report.size, report.root
    report.findings      # (Finding("leaf", "records 256 to 511", "entry 300 is not the one in the tree: …"),)

Steps: the checkpoint under the pinned trust root and the head remembered here; the bundles, authenticated and examined
in parallel (a broken one is a finding, and the others are looked at all the same); the gate over all records in order,
up to the first that it refuses; then what only the whole log shows: trust roots that are not those in `trust/`,
records by a key that was distrusted afterwards for their index, verdicts that differ though evaluator and captures are
the same; then the cosigned heads, which the log must continue, and the reader's policy. Objects are not read here: see
`store.fsck`. Releases are verified by `ledger.release.verify`.

With a pin file (`ledger.pinfile`) the log must continue the head that is kept there, and only what is beyond it is
read: the time grows with what is new. The answer is that of a verification in full, except that damage to bytes that
were verified before is not looked for.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import Final

import msgspec

from ledger.bundles import examined
from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import open_log, pinned_root, trust_chain
from ledger.log.log import LogReader
from ledger.log.policy import Policy
from ledger.pinfile import PinFile, Said, Signed
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.examined import Examined
from ledger.records.gate import Gate
from ledger.records.numbered import Numbered
from ledger.records.record import Record
from ledger.witnessed import Witnessed, gather, judge
from store.digest import Digest
from store.errors import InputError, RecordRejected, RuleBroken

__all__ = ["Finding", "LedgerReport", "verify_ledger"]

_LATE: Final = ("trust", "distrusted", "twin", "policy")
_TWO: Final = "a head that was kept for its cosignatures is not one of this log"
_json: Final = msgspec.json.Encoder(enc_hook=Digest.__str__, order="sorted").encode

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
        witnessed: how far the policy is satisfied; null where none was given, or no checkpoint verifies.
        before: how many of the records were verified an earlier time, and not read again.
    """

    size: int
    root: Digest
    findings: tuple[Finding, ...]
    before: int = 0
    witnessed: Witnessed | None = None


def verify_ledger(
    folder: Folder,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    pinned: Digest | None = None,
    policy: Policy | None = None,
    pin_file: Path | None = None,
) -> LedgerReport:
    """Verify a folder's log.

    Args:
        folder: the benchmark folder.
        processes: how many work at it; by default as many as there are cores.
        progress: told how many records of how many were examined.
        pinned: digest of the first trust root; by default the one that this machine remembers.
        policy: who must have cosigned the head; null demands nobody.
        pin_file: what was verified an earlier time; made where it is not there. It is brought up to date where every
            record was admitted, the log continues every cosigned head, and the policy is satisfied.

    Raises:
        InputError: the pin file is none, or is another ledger's.
        Conflict: another verification wrote to the pin file meanwhile.
        HarnessError: the disk refused.
    """
    heads = gather(folder)
    try:
        first = pinned_root(folder) if pinned is None else pinned
        log = open_log(folder, first)
        roots = trust_chain(folder, first)
    except (RuleBroken, InputError) as error:
        rule = error.rule if isinstance(error, RuleBroken) else "checkpoint"
        finding = Finding(rule, error.where or str(folder.log), f"{error.what}: nothing of the log can be believed")
        return LedgerReport(0, Digest.from_raw(merkle.EMPTY_ROOT), (finding,))
    public = {key.keyid: base64.b64decode(key.public) for root in roots for key in root.keys}
    with ExitStack() as stack:
        kept = None
        if pin_file is not None:
            kept = stack.enter_context(PinFile.open(pin_file, folder.config.origin, first))
            if (broken := _discontinued(log, kept)) is not None:
                return LedgerReport(log.size, log.checkpoint.root, (broken,))
        fold = _Fold(folder, log, kept)
        findings = list(fold.other_roots())
        for bundle in examined(folder.log, log.checkpoint, public, fold.before, processes):
            if bundle.records is not None:
                findings += fold.take(bundle.records)
            else:
                fold.stop()
                rule, what = bundle.fault or ("bundle", "not there")
                what = f"{what}: these records cannot be believed, and none after them was judged"
                findings.append(Finding(rule, f"records {bundle.start} to {bundle.end - 1}", what))
            if progress is not None:
                progress(bundle.end, log.size)
        findings += fold.doubts()
        witnessed = judge(heads, folder, roots, log.head, log.root_at, policy)
        unwitnessed = list(_unwitnessed(log, witnessed, policy))
        if not unwitnessed:
            fold.keep()
    found = tuple(sorted(findings + unwitnessed, key=_by_step))
    report = LedgerReport(log.size, log.checkpoint.root, found, fold.before)
    return report if policy is None else replace(report, witnessed=witnessed)


def _unwitnessed(log: LogReader, witnessed: Witnessed, policy: Policy | None) -> Iterator[Finding]:
    """The cosigned heads that the log contradicts, and the records for which the policy is not satisfied."""
    for fault in witnessed.faults:
        yield Finding(fault.rule, fault.where, f"{fault.what}: {_TWO}")
    if policy is not None and witnessed.size < log.size:
        what = f"{witnessed.missing}: others may be shown another history"
        yield Finding("policy", f"records {witnessed.size} to {log.size - 1}", what)


def _discontinued(log: LogReader, kept: PinFile) -> Finding | None:
    """What is wrong where a log does not continue what was verified."""
    head = kept.head
    if head is None:
        return None
    if log.size < head.size:
        what = f"{log.size} records, and {head.size} were verified before: records were taken back"
        return Finding("rollback", str(kept.path), what)
    if log.root_at(head.size) != head.root:
        what = f"at {head.size} records the root was {head.root} when it was verified: another history"
        return Finding("fork", str(kept.path), what)
    return None


class _Fold:
    """The gate over the examined records, until it refuses one; of each record a few bytes are kept, and no body."""

    def __init__(self, folder: Folder, log: LogReader, kept: PinFile | None) -> None:
        self._folder = folder
        self._log = log
        self._file = kept
        self.before = 0 if kept is None else kept.size  # records that were verified an earlier time
        self._before = kept if self.before else None  # nothing is looked up where nothing is kept
        self._gate = Gate(folder.config.origin, log.root_at, self._before)
        self._stopped = False
        self._signed = Signed(self.before)
        self._judged = Numbered()  # attempt, captures and evaluator
        self._verdicts = bytearray()  # of each the first verdict, hashed
        self._first = array("Q")  # and its record
        self._twins: list[Finding] = []

    def stop(self) -> None:
        """Judge nothing more: a record is missing."""
        self._stopped = True

    def take(self, records: Sequence[Examined | bytes]) -> Iterator[Finding]:
        """Admit the next records; what is wrong with them, up to the first that is refused."""
        for item in records:
            index = self._gate.size
            if self._stopped:
                return
            try:
                record = (
                    self._gate.admit(Envelope.parse(item), index)
                    if isinstance(item, bytes)
                    else self._gate.admit_examined(item, index)
                )
            except RecordRejected as error:
                self._stopped = True
                what = f"{error.what}: it may not stand in the log, and none after it was judged"
                yield Finding(error.rule, f"record {index}", what)
                return
            self._signed.add(record.keyids)
            if isinstance(record.body, kinds.TrustRoot):
                yield from self._other_root(record)
            elif isinstance(record.body, kinds.Evaluation):
                self._judge(record)

    def doubts(self) -> Iterator[Finding]:
        """What only the whole log shows, and stays true: verdicts that differ, keys that were distrusted afterwards."""
        blocks = [self._signed]
        if self._before is not None:
            yield from starmap(Finding, self._before.doubts())
            if any(self._gate.trust.limits):
                blocks = [*self._before.signed(), self._signed]
        yield from self._twins
        for block in blocks:
            for index, keyid in block.by(self._gate.trust.limits):
                what = f"its key {keyid} was distrusted afterwards, for this index too: what it says is in doubt"
                yield Finding("distrusted", f"record {index}", what)

    def keep(self) -> None:
        """Bring the pin file up to date, unless there is none, nothing is new, or a record was not admitted."""
        if self._file is None or self._stopped or self._file.head == self._log.head:
            return
        each = range(len(self._judged))
        size = sha256().digest_size
        hashes = (bytes(self._verdicts[n * size : n * size + size]) for n in each)
        doubts = [(finding.rule, finding.record, finding.consequence) for finding in self._twins]
        verdicts = zip(self._judged, hashes, self._first, strict=True)
        self._file.keep(self._log.head, self._gate, Said(self._signed, sorted(verdicts), doubts))

    def other_roots(self) -> Iterator[Finding]:
        """The trust roots that were verified before, and are not those in `trust/` now."""
        for record in [] if self._before is None else self._before.trust_roots():
            yield from self._other_root(record)

    def _other_root(self, record: Record[kinds.TrustRoot]) -> Iterator[Finding]:
        place = self._folder.trust / f"{record.body.version}.root.json"
        known = None
        with suppress(OSError):
            known = Digest.of(place.read_bytes())
        if known != record.digest:
            what = f"not the trust root {record.body.version} in {place}: two answers to who may sign"
            yield Finding("trust", f"record {record.index}", what)

    def _judge(self, record: Record[kinds.Evaluation]) -> None:
        body = record.body
        key = sha256(f"{body.attempt} {body.captures} {body.evaluator}".encode()).digest()
        verdict = sha256(_json(body.verdict)).digest()
        found = self._verdict(key)
        if found is None:
            self._judged.add(key)
            self._verdicts += verdict
            self._first.append(record.index)
        elif found[0] != verdict:
            what = f"not the verdict of record {found[1]}, from the same captures by the same evaluator: "
            what += f"grading {body.attempt} does not give the same twice"
            self._twins.append(Finding("twin", f"record {record.index}", what))

    def _verdict(self, key: bytes) -> tuple[bytes, int] | None:
        """The first verdict on something, hashed, and its record."""
        number, size = self._judged.find(key), sha256().digest_size
        if number is not None:
            return bytes(self._verdicts[number * size : number * size + size]), self._first[number]
        return None if self._before is None else self._before.verdict(key)


def _by_step(finding: Finding) -> int:
    """What the log itself shows first, then what only the whole of it shows."""
    return _LATE.index(finding.rule) + 1 if finding.rule in _LATE else 0
