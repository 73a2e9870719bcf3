"""The record of a release, found by its own folder: no other record of the log is read, however long it is.

    record = recorded(folder, "2026-12")      # or None: there is no releases/2026-12/
    folder.store.get(record.body.results)     # the result artifact, hashed

`releases/<name>/proofs.json` says where the record stands; it is read there, authenticated under the log's present
head, and must be the folder's `record.dsse` byte for byte, signed by who may sign releases, and call itself so. That is
all that is established: `rbl release verify` establishes the rest.
"""

from __future__ import annotations

from pathlib import Path

from ledger.folder import Folder
from ledger.log.authority import open_log
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import Statement
from ledger.release.package import Proofs
from ledger.signers import Signers
from store import disk
from store.errors import CheckFailed

__all__ = ["recorded"]

_FIX = "compare the folder with the log: rbl release verify"


def recorded(folder: Folder, name: str) -> Record[kinds.Release] | None:
    """The record that a release folder is of.

    Args:
        folder: the benchmark folder.
        name: of the release, whole.

    Returns:
        None when there is no folder of that name.

    Raises:
        CheckFailed: the folder's record is not the log's, or is of another release.
        LogInvalid: the log does not verify.
        RecordRejected: the record is not signed by who may sign releases.
        InputError: the proofs cannot be read.
    """
    place = folder.releases / name
    if Path(name).name != name or not (place / "proofs.json").is_file():
        return None
    with disk.faults("cannot read the release folder", place):
        index = Proofs.parse((place / "proofs.json").read_bytes()).index
        said = (place / "record.dsse").read_bytes()
    log = open_log(folder)
    if not 0 <= index < log.size or log.entry(index) != said:
        raise CheckFailed(f"it is not record {index} of the log", where=str(place / "record.dsse"), fix=_FIX)
    envelope = Envelope.parse(said, where=str(place / "record.dsse"))
    statement = Statement.parse(envelope.payload)
    body = statement.body
    if not isinstance(body, kinds.Release) or body.name != name:
        raise CheckFailed(f"record {index} is not of the release {name}", where=str(place / "record.dsse"), fix=_FIX)
    signed = Signers.of(folder).check(envelope, statement.kind, index)
    return Record(index, envelope.digest, envelope.payload_digest, body, statement.kind, signed.keyids, signed.role)
