"""What a verification has established so far; each method takes one thing from the folder and refuses to believe it.

    walk = Walk(folder, "2026-12", pin=None, processes=None)
    walk.open_head()      # the signed head, or a finding
    walk.rebuild()        # the records, or a finding and NotReachedError

A fault becomes a finding (rule, where, what, consequence), never an exception, and the next step goes on with what is
there. A method that cannot give what its caller needs raises `NotReachedError`; `ledger.release.verify` catches it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.authority import check_retired, log_keys, open_log, read_checkpoint, trust_chain
from ledger.log.checkpoint import open_checkpoint
from ledger.log.cosigned import KeptHead
from ledger.log.pin import Pin
from ledger.log.policy import Policy
from ledger.records import kinds
from ledger.records.record import Record
from ledger.records.trust import distrusted
from ledger.release.admission import admit_all
from ledger.release.draft import Draft
from ledger.release.finding import Finding
from ledger.release.logfiles import Rebuilt, rebuild
from ledger.release.outcome import withdrawn
from ledger.release.package import Package, Proofs
from ledger.witnessed import gather, judge
from store.digest import Digest
from store.errors import InputError, RblError, RuleBroken
from store.objects import ObjectStore

__all__ = ["NotReachedError", "Walk"]

T = TypeVar("T")

_NOBODY: Final = "nobody vouches for the log"
_RULES: Final = "the log holds what may not stand in it"
_HISTORY: Final = "the release was cut from another history than this log's"


class NotReachedError(Exception):
    """An earlier step did not establish what this one needs."""


@dataclass(slots=True)
class Walk:
    """The state of one verification.

    Attributes:
        folder, name, pin, processes, policy: what `verify` was given.
        findings: what is wrong so far.
        package: files of the release folder.
        proofs: read from it, not yet believed.
        trusted: digest of trust root 1, as believed.
        head: the log's signed head.
        rebuilt: the log from its files.
        records: every record below the head, admitted.
        record: of the release.
        heads: those that were kept for their cosignatures, not yet believed.
    """

    folder: Folder
    name: str
    pin: Digest | None
    processes: int | None
    policy: Policy | None = None
    findings: list[Finding] = field(default_factory=list)
    package: Package | None = None
    proofs: Proofs | None = None
    trusted: Digest | None = None
    head: kinds.Head | None = None
    rebuilt: Rebuilt | None = None
    records: Sequence[Record] | None = None
    record: Record[kinds.Release] | None = None
    drafted: Draft | None = None
    heads: Sequence[KeptHead] = ()

    def find(self, rule: str, where: str, what: str, consequence: str) -> None:
        """Note that something is wrong."""
        self.findings.append(Finding(rule, where, what, consequence))

    def attempt(self, rule: str, where: str, consequence: str, make: Callable[[], T]) -> T | None:
        """What `make` gives, or null and a finding when it raises an error of this project."""
        try:
            return make()
        except RuleBroken as error:
            self.find(rule, error.where or where, f"{error.rule}: {error.what}", consequence)
        except RblError as error:
            self.find(rule, error.where or where, error.what, consequence)
        return None

    def open_head(self) -> str:
        """Verify the log's checkpoint under the chain of trust roots.

        Returns:
            Where the belief in the first trust root comes from, for people.
        """
        remembered = self.attempt("pin", "trust root", _NOBODY, lambda: Pin(self.folder.state).trust_root)
        own = self.folder.trust / "1.root.json"
        if self.pin is not None:
            whose, self.trusted = "trust root 1 is the given one", self.pin
        elif remembered is not None:
            whose, self.trusted = "trust root 1 is the pinned one", remembered
        else:
            whose = "trust root 1 is the folder's own, not pinned"
            data = self.attempt("pin", str(own.name), _NOBODY, lambda: _read(own))
            self.trusted = None if data is None else Digest.of(data)
        trusted = self.trusted
        if trusted is None:
            raise NotReachedError("no trust root")
        self.heads = gather(self.folder)  # before the newest head is read
        checkpoint = self.attempt(
            "checkpoint", "log/checkpoint", _NOBODY, lambda: read_checkpoint(self.folder, trusted)
        )
        self.head = None if checkpoint is None else checkpoint.head
        return whose

    def open_package(self) -> None:
        """Read the release folder and its proofs, and verify the head that they lead to."""
        where = f"releases/{self.name}"
        consequence = "the release cannot be compared with what was published"
        self.package = self.attempt("file", where, consequence, lambda: Package.read(self.folder.releases / self.name))
        if self.package is not None:
            data = self.package.files["proofs.json"]
            consequence = "the release cannot be placed in the log"
            self.proofs = self.attempt("proof", f"{where}/proofs.json", consequence, lambda: Proofs.parse(data))
        if self.package is not None and self.trusted is not None:
            note, trusted = self.package.files["checkpoint"], self.trusted
            shipped = self.attempt("proof", f"{where}/checkpoint", consequence, lambda: self._open(note, trusted))
            if shipped is not None and self.proofs is not None and shipped != self.proofs.head:
                what = f"it is of {shipped.size} records, the proofs lead to {self.proofs.head.size}"
                self.find("proof", f"{where}/checkpoint", what, consequence)

    def _open(self, note: bytes, trusted: Digest) -> kinds.Head:
        """The head of a signed checkpoint, under the keys that may sign one of its size."""
        origin = self.folder.config.origin
        roots = trust_chain(self.folder, trusted)
        size = open_checkpoint(note, origin, log_keys(origin, roots, 0)).size
        shipped = open_checkpoint(note, origin, log_keys(origin, roots, size))
        check_retired(self.folder, note, roots, lambda: open_log(self.folder, trusted), trusted)
        return shipped.head

    def rebuild(self) -> Rebuilt:
        """Rebuild the log below its head."""
        if self.head is None:
            raise NotReachedError("no signed head")
        self.rebuilt = rebuild(self.folder.log, self.head)
        self.findings += self.rebuilt.findings
        if not self.rebuilt.entries:
            raise NotReachedError("the records do not give the signed root")
        return self.rebuilt

    def check_proofs(self) -> int:
        """Verify inclusion and consistency, and that both are about this log.

        Returns:
            The size of the cutoff.
        """
        package, proofs, rebuilt = self.package, self.proofs, self.rebuilt
        if package is None or proofs is None or rebuilt is None:
            raise NotReachedError("no proofs")
        where = f"releases/{self.name}/proofs.json"
        for what, head in (("head", proofs.head), ("cutoff", proofs.cutoff)):
            if not 0 < head.size <= rebuilt.levels.size or rebuilt.levels.root(head.size) != head.root:
                self.find("proof", where, f"this log never had the {what} of {head.size} records", _HISTORY)
        leaf = merkle.leaf_hash(package.files["record.dsse"])
        head, cutoff = proofs.head, proofs.cutoff
        self.attempt(
            "proof",
            where,
            _HISTORY,
            lambda: merkle.verify_inclusion(leaf, proofs.index, head.size, proofs.inclusion, head.root.raw),
        )
        self.attempt(
            "proof",
            where,
            _HISTORY,
            lambda: merkle.verify_consistency(
                cutoff.size, head.size, cutoff.root.raw, head.root.raw, proofs.consistency
            ),
        )
        return proofs.cutoff.size

    def admit(self) -> Sequence[Record]:
        """Admit every record by the rules, in order; the first that breaks one ends it."""
        rebuilt = self.rebuilt
        if rebuilt is None or not rebuilt.entries:
            raise NotReachedError("no records")
        if Digest.of(rebuilt.entries[0]) != self.trusted:
            self.find("pin", "record 0", f"not the trust root {self.trusted}", _NOBODY)
        trusted = self.trusted
        roots = self.attempt("checkpoint", "trust", _NOBODY, lambda: trust_chain(self.folder, trusted))
        public = {key.keyid: base64.b64decode(key.public) for root in roots or () for key in root.keys}
        origin = self.folder.config.origin
        admission = admit_all(rebuilt.entries, origin, rebuilt.levels.root, public, processes=self.processes)
        records: list[Record] = []
        while (
            record := self.attempt("record", f"record {len(records)}", _RULES, lambda: next(admission, None))
        ) is not None:
            records.append(record)
        if len(records) != len(rebuilt.entries):
            raise NotReachedError(f"record {len(records)} may not stand in the log")
        self.records = records
        for record in records:
            if isinstance(record.body, kinds.TrustRoot):
                self._copy_of(record, rebuilt.entries[record.index])
        return records

    def _copy_of(self, record: Record, entry: bytes) -> None:
        name = f"{record.body.version}.root.json"
        data = self.attempt("file", f"trust/{name}", _NOBODY, lambda: _read(self.folder.trust / name))
        if data is not None and data != entry:
            self.find("file", f"trust/{name}", f"not the bytes of record {record.index}", _NOBODY)

    def find_record(self) -> None:
        """Take the release record from the log, and compare the folder's copy with it."""
        rebuilt = self.rebuilt
        if self.records is None or rebuilt is None:
            raise NotReachedError("no records")
        named = [record for record in self.records if isinstance(record.body, kinds.Release)]
        named = [record for record in named if record.body.name == self.name]
        if not named:
            self.find("record", f"release {self.name}", "the log has no such release", "nothing can be verified")
            raise NotReachedError("no release record")
        self.record = named[0]
        for later in named[1:]:
            what = f"record {later.index} calls itself {self.name} too; record {named[0].index} came first"
            self.find("name", f"release {self.name}", what, "two releases share a name")
        where = f"releases/{self.name}/record.dsse"
        consequence = "the folder was made for another record"
        entry = rebuilt.entries[self.record.index]
        if self.package is not None and self.package.files["record.dsse"] != entry:
            self.find("file", where, f"not the bytes of record {self.record.index}", consequence)
        if self.proofs is not None:
            said = (self.proofs.index, self.proofs.record, self.proofs.cutoff)
            if said != (self.record.index, self.record.digest, self.record.body.cutoff):
                self.find("proof", f"releases/{self.name}/proofs.json", "not about the release record", consequence)
        cutoff, levels = self.record.body.cutoff, rebuilt.levels
        if not 0 < cutoff.size <= self.record.index or levels.root(cutoff.size) != cutoff.root:
            what = f"its cutoff of {cutoff.size} records is no earlier state of this log"
            self.find("proof", f"release {self.name}", what, _HISTORY)
            raise NotReachedError("no cutoff")

    def check_distrust(self) -> None:
        """Find what the release rests on that a later trust root no longer trusts, for its index too."""
        roots = [record.body for record in self.records or () if isinstance(record.body, kinds.TrustRoot)]
        limits = distrusted(roots)
        for record in (self.release(), *self.draft().records()):
            for keyid in record.keyids:
                limit = limits.get(keyid)
                if limit is not None and record.index >= limit:
                    what = f"its key {keyid} was distrusted afterwards, from record {limit} on"
                    self.find("record", f"record {record.index}", what, "nobody vouches for what it says")

    def check_witnesses(self) -> str:
        """Compare the cosigned heads with the log, and ask whether one that includes the release satisfies the policy.

        Returns:
            Who cosigned it, for people; nothing without a policy.
        """
        folder, head, rebuilt, trusted, index = self.folder, self.head, self.rebuilt, self.trusted, self.release().index
        if head is None or rebuilt is None:
            raise NotReachedError("no records")
        root_at = rebuilt.levels.root
        found = self.attempt(
            "checkpoint",
            "log/cosigned",
            _NOBODY,
            lambda: judge(self.heads, folder, trust_chain(folder, trusted), head, root_at, self.policy),
        )
        if found is None:
            return ""
        for one in found.faults:
            self.find("checkpoint", one.where, f"{one.rule}: {one.what}", _HISTORY)
        if self.policy is None:
            return ""
        if found.size <= index:
            what = f"no head that includes it satisfies the policy; of the newest head: {found.missing}"
            self.find("policy", f"record {index}", what, "others may be shown another history, without this release")
        return f"; its head of {found.size} records is cosigned by {', '.join(found.names) or 'nobody'}"

    def release(self) -> Record[kinds.Release]:
        """The release record."""
        if self.record is None:
            raise NotReachedError("no release record")
        return self.record

    def withdrawn_since(self) -> str:
        """What to say when the release was withdrawn afterwards: it still verifies, and the reader must know."""
        sidecars = [record for record in self.records or () if isinstance(record.body, kinds.Withdrawal)]
        gone = withdrawn(sidecars).get(("release", self.release().digest))
        return "" if gone is None else f"; withdrawn since by record {gone.index}: {gone.body.reason}"

    def draft(self) -> Draft:
        """The release computed again from the records below its cutoff."""
        if self.drafted is None:
            record = self.release()
            if self.records is None:
                raise NotReachedError("no records")
            records = self.records
            self.drafted = self.attempt(
                "reference",
                f"release {self.name}",
                "the release cannot be computed again",
                lambda: Draft.of(records, record.body.cutoff, record.body.schedule),
            )
        if self.drafted is None:
            raise NotReachedError("the release cannot be computed again")
        return self.drafted

    def store(self) -> ObjectStore:
        """The objects."""
        try:
            return self.folder.store
        except InputError as error:
            self.find("object", error.where, error.what, "no object can be read")
            raise NotReachedError("no object store") from error

    def compare(self, name: str, expected: bytes, consequence: str) -> None:
        """Compare a file of the release folder with what it must be."""
        if self.package is None:
            return
        found = self.package.files[name]
        if found != expected:
            at = next((i for i, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]), None)
            place = min(len(found), len(expected)) if at is None else at
            what = f"differs from what the records give, from byte {place} on"
            self.find("file", f"releases/{self.name}/{name}", what, consequence)


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=place.name) from error
