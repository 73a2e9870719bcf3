"""Freezes a release: checks, computes, stores, signs, and writes the folder that an auditor is handed.

    record = freeze(folder, "2026-12", "s1")      # appends the release record, writes releases/2026-12/
    record.body.root                              # the release digest

It refuses, naming each of them, open attempts, slots never opened, and whatever else a verifier would refuse: a release
that does not verify cannot be made by this command. When the record is in the log and its folder is not (a crash, or a
checkout elsewhere), freezing the same schedule again writes the folder from log and store, and records nothing.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from ledger.announce import announce
from ledger.folder import Folder
from ledger.log.authority import open_log, read_note
from ledger.log.log import LogReader
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.draft import Draft
from ledger.release.finding import refuse
from ledger.release.package import Proofs, format_summary
from store import disk
from store.errors import Conflict, LogInvalid

__all__ = ["draft_release", "freeze", "record_draft", "write_folder"]


def draft_release(folder: Folder, schedule: str) -> Draft:
    """Compute a release at the present head without recording it; nothing is refused and nothing is written.

    Args:
        folder: the benchmark folder.
        schedule: its name, or a prefix that one schedule alone has.
    """
    ledger = Ledger.open(folder)
    return Draft.of(ledger.records, ledger.head, ledger.schedule(schedule).digest)


def freeze(folder: Folder, name: str, schedule: str) -> Record[kinds.Release]:
    """Freeze a schedule's attempts under one root.

    Args:
        folder: the benchmark folder.
        name: of the release.
        schedule: name of the schedule.

    Returns:
        The release record; `releases/<name>/` is written.

    Raises:
        CheckFailed: attempts are open, slots were never opened, or a rule is broken; each is named.
        Conflict: a release of that name is there.
        Unavailable: the release manager's key is not at hand.
    """
    ledger = Ledger.open(folder)
    wanted = ledger.schedule(schedule).digest
    for record in ledger.of(kinds.Release):
        if record.body.name == name:
            if record.body.schedule == wanted and not (folder.releases / name).exists():
                write_folder(folder, record)
                return record
            raise Conflict(
                f"the release {name} is frozen (record {record.index})",
                where=str(folder.releases / name),
                fix="choose another name: a release is never redefined",
            )
    draft = Draft.of(ledger.records, ledger.head, wanted)
    refuse(f"the release {name} cannot be frozen", draft.findings(), fix="see rbl attempt list, rbl attempt recover")
    return record_draft(folder, name, draft)


def record_draft(folder: Folder, name: str, draft: Draft) -> Record[kinds.Release]:
    """Record a computed release and write its folder; whether it may be frozen is the caller's to have checked.

    Raises:
        Conflict: there is a folder of that name.
        Unavailable: the release manager's key is not at hand.
        HarnessError: the disk refused.
    """
    store = folder.store
    results, leaves = store.put_bytes(draft.results), store.put_bytes(draft.leaves)
    store.flush()
    scope = draft.scope
    record = announce(
        folder,
        "release-manager",
        lambda stamp: kinds.Release(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            name=name,
            split=scope.split.digest,
            protocol=scope.protocol.digest,
            schedule=scope.schedule.digest,
            cutoff=draft.cutoff,
            attempts=draft.attempts,
            results=results,
            leaves=leaves,
            root=draft.root,
        ),
    )
    write_folder(folder, record)
    return record


def write_folder(folder: Folder, record: Record[kinds.Release]) -> Path:
    """Write `releases/<name>/` of a recorded release, whole or not at all.

    Args:
        folder: the benchmark folder.
        record: the release record.

    Returns:
        The folder.

    Raises:
        Conflict: it is there already.
        LogInvalid: log or record do not verify.
        ObjectMissing: result artifact or leaves are not in the store.
    """
    place = folder.releases / record.body.name
    if place.exists():
        raise Conflict("the release folder is there already", where=str(place), fix=f"rbl release verify {place.name}")
    files = _files(folder, record)
    partial = folder.releases / f".{record.body.name}.{secrets.token_hex(4)}.partial"
    with disk.faults("cannot write the release folder", place):
        partial.mkdir(parents=True)
        try:
            for name, data in files.items():
                descriptor = disk.create(partial / name, 0o644)
                try:
                    disk.write(descriptor, data)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            disk.sync_directory(partial)
            partial.rename(place)
            disk.sync_directory(folder.releases)
        finally:
            if partial.exists():
                shutil.rmtree(partial)
    return place


def _files(folder: Folder, record: Record[kinds.Release]) -> dict[str, bytes]:
    body = record.body
    log, note = _log(folder)
    leaf = log.entry(record.index)
    if log.root_at(body.cutoff.size) != body.cutoff.root:
        raise LogInvalid("consistency", f"the log never had the release's cutoff of {body.cutoff.size} records")
    proofs = Proofs(
        record=record.digest,
        index=record.index,
        head=log.head,
        cutoff=body.cutoff,
        inclusion=tuple(log.prove_inclusion(record.index)),
        consistency=tuple(log.prove_consistency(body.cutoff.size)),
    )
    store = folder.store
    return {
        "release.json": format_summary(record, log.head),
        "results.json": store.get(body.results),
        "leaves.json": store.get(body.leaves),
        "record.dsse": leaf,
        "proofs.json": proofs.format(),
        "checkpoint": note,
    }


def _log(folder: Folder) -> tuple[LogReader, bytes]:
    """The log and the checkpoint that it is read at, word for word; an append in between is waited out."""
    while True:
        note = read_note(folder)
        log = open_log(folder)
        if read_note(folder) == note:
            return log, note
