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
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

import msgspec

from ledger.bundles import examined
from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import open_log, trust_chain
from ledger.log.log import LogReader
from ledger.log.policy import Policy
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
    """

    size: int
    root: Digest
    findings: tuple[Finding, ...]
    witnessed: Witnessed | None = None


def verify_ledger(
    folder: Folder,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    pinned: Digest | None = None,
    policy: Policy | None = None,
) -> LedgerReport:
    """Verify a folder's log.

    Args:
        folder: the benchmark folder.
        processes: how many work at it; by default as many as there are cores.
        progress: told how many records of how many were examined.
        pinned: digest of the first trust root; by default the one that this machine remembers.
        policy: who must have cosigned the head; null demands nobody.
    """
    heads = gather(folder)
    try:
        log = open_log(folder, pinned)
        roots = trust_chain(folder, pinned)
    except (RuleBroken, InputError) as error:
        rule = error.rule if isinstance(error, RuleBroken) else "checkpoint"
        finding = Finding(rule, error.where or str(folder.log), f"{error.what}: nothing of the log can be believed")
        return LedgerReport(0, Digest.from_raw(merkle.EMPTY_ROOT), (finding,))
    public = {key.keyid: base64.b64decode(key.public) for root in roots for key in root.keys}
    findings: list[Finding] = []
    fold = _Fold(folder, log)
    for bundle in examined(folder.log, log.checkpoint, public, processes=processes):
        if bundle.records is not None:
            findings += fold.take(bundle.records)
        else:
            fold.stop()
            rule, what = bundle.fault or ("bundle", "not there")
            what = f"{what}: these records cannot be believed, and none after them was judged"
            findings.append(Finding(rule, f"records {bundle.start} to {bundle.end - 1}", what))
        if progress is not None:
            progress(bundle.end, log.size)
    findings += fold.distrusted()
    witnessed = judge(heads, folder, roots, log.head, log.root_at, policy)
    findings += [Finding(one.rule, one.where, f"{one.what}: {_TWO}") for one in witnessed.faults]
    if policy is not None and witnessed.size < log.size:
        what = f"{witnessed.missing}: others may be shown another history"
        findings.append(Finding("policy", f"records {witnessed.size} to {log.size - 1}", what))
    report = LedgerReport(log.size, log.checkpoint.root, tuple(sorted(findings, key=_by_step)))
    return report if policy is None else replace(report, witnessed=witnessed)


class _Fold:
    """The gate over the examined records, until it refuses one; of each record a few bytes are kept, and no body."""

    def __init__(self, folder: Folder, log: LogReader) -> None:
        self._folder = folder
        self._gate = Gate(folder.config.origin, log.root_at)
        self._stopped = False
        self._signers = array("I")  # which of `_keyids` signed each record
        self._keyids: dict[tuple[str, ...], int] = {}
        self._judged = Numbered()  # attempt, captures and evaluator
        self._verdicts = bytearray()  # of each the first verdict, hashed
        self._first = array("Q")  # and its record

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
            self._signers.append(self._keyids.setdefault(record.keyids, len(self._keyids)))
            if isinstance(record.body, kinds.TrustRoot):
                yield from self._other_root(record)
            elif isinstance(record.body, kinds.Evaluation):
                yield from self._twin(record)

    def distrusted(self) -> Iterator[Finding]:
        """Records admitted before a later trust root said from which index on their key is distrusted."""
        trust, signers = self._gate.trust, list(self._keyids)
        last = len(self._signers) - 1
        doubted = {
            number: [keyid for keyid in keyids if last >= 0 and trust.distrusts(keyid, last)]
            for number, keyids in enumerate(signers)
        }
        if not any(doubted.values()):  # a key is distrusted from some index on: at the last one, or at none
            return
        for index, number in enumerate(self._signers):
            for keyid in doubted[number]:
                if trust.distrusts(keyid, index):
                    what = f"its key {keyid} was distrusted afterwards, for this index too: what it says is in doubt"
                    yield Finding("distrusted", f"record {index}", what)

    def _other_root(self, record: Record[kinds.TrustRoot]) -> Iterator[Finding]:
        place = self._folder.trust / f"{record.body.version}.root.json"
        known = None
        with suppress(OSError):
            known = Digest.of(place.read_bytes())
        if known != record.digest:
            what = f"not the trust root {record.body.version} in {place}: two answers to who may sign"
            yield Finding("trust", f"record {record.index}", what)

    def _twin(self, record: Record[kinds.Evaluation]) -> Iterator[Finding]:
        body = record.body
        key = sha256(f"{body.attempt} {body.captures} {body.evaluator}".encode()).digest()
        verdict = sha256(_json(body.verdict)).digest()
        before = self._judged.find(key)
        if before is None:
            self._judged.add(key)
            self._verdicts += verdict
            self._first.append(record.index)
        elif self._verdicts[before * len(verdict) : (before + 1) * len(verdict)] != verdict:
            what = f"not the verdict of record {self._first[before]}, from the same captures by the same evaluator: "
            what += f"grading {body.attempt} does not give the same twice"
            yield Finding("twin", f"record {record.index}", what)


def _by_step(finding: Finding) -> int:
    """What the log itself shows first, then what only the whole of it shows."""
    return _LATE.index(finding.rule) + 1 if finding.rule in _LATE else 0
