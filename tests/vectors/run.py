"""Runs a vector over the project's own verifier: writes what it gives, verifies, and says what was found.

    found = run(vector, tmp_path)       # {"findings": [{"record": "record 5", "rule": "chain"}]}
    assert found == vector["expect"]

The counterpart that is not ours is `tests/integration/go/vectors.go`.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ledger.folder import Folder
from ledger.log import merkle
from ledger.log.checkpoint import open_checkpoint
from ledger.log.log import LogReader
from ledger.log.note import Note, VerifierKey
from ledger.log.pin import Pin
from ledger.log.policy import Policy
from ledger.log.proof import TlogProof
from ledger.records.kinds import Head
from ledger.release.verify import verify
from ledger.verify import verify_ledger
from store.digest import Digest
from store.errors import InputError, LogInvalid

Given = dict[str, Any]


def run(vector: dict[str, Any], place: Path) -> dict[str, Any]:
    """What the verifier finds; `place` is an empty folder, beside which nothing is remembered.

    The caller sets `RBL_STATE_HOME` to a folder of its own.
    """
    given: Given = vector["given"]
    check = vector["check"]
    if check in {"ledger", "release"}:
        return _folder(check, given, place)
    try:
        CHECKS[check](given)
    except (LogInvalid, InputError) as error:
        return {"findings": [{"rule": error.rule if isinstance(error, LogInvalid) else "input"}]}
    return {"findings": []}


def _folder(check: str, given: Given, place: Path) -> dict[str, Any]:
    folder = Folder.create(place / "bench", given["origin"])
    for name, data in given["files"].items():
        path = folder.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
    pin = Pin(folder.state)
    pin.pin(Digest.parse(given["pin"]))
    if given["remembered"] is not None:
        pin.remember(Head(size=given["remembered"]["size"], root=Digest.parse(given["remembered"]["root"])))
    prefix = f"{folder.root}/"
    if check == "release":
        found = verify(folder, given["release"], processes=1)
        # what stands behind a digest in brackets is for people
        pairs = sorted({(item.rule, item.where.partition(" (")[0].removeprefix(prefix)) for item in found.findings})
    else:
        report = verify_ledger(folder, 1)
        pairs = [(item.rule, item.record.removeprefix(prefix)) for item in report.findings]
    return {"findings": [{"record": record, "rule": rule} for rule, record in pairs]}


def raw(text: str) -> bytes:
    return base64.b64decode(text)


def _note(given: Given) -> None:
    verifiers = [VerifierKey.parse(text) for text in given["vkeys"]]
    open_checkpoint(raw(given["note"]), given["origin"], verifiers)


def _inclusion(given: Given) -> None:
    path = [raw(item) for item in given["proof"]]
    merkle.verify_inclusion(
        merkle.leaf_hash(raw(given["entry"])), given["index"], given["size"], path, raw(given["root"])
    )


def _consistency(given: Given) -> None:
    path = [raw(item) for item in given["proof"]]
    merkle.verify_consistency(given["old"], given["size"], raw(given["old_root"]), raw(given["root"]), path)


def _log(given: Given) -> None:
    """Every entry of a log of any entries, under its checkpoint."""
    files = {name: raw(data) for name, data in given["files"].items()}
    checkpoint = open_checkpoint(files["checkpoint"], given["origin"], [VerifierKey.parse(given["vkeys"][0])])
    reader = LogReader(lambda path: files.get(str(path)), checkpoint)
    for _ in reader.entries():
        pass


def _receipt(given: Given) -> None:
    proof = TlogProof.parse(raw(given["receipt"]))
    proof.verify(raw(given["entry"]), given["origin"], [VerifierKey.parse(text) for text in given["vkeys"]])


def _policy(given: Given) -> None:
    policy = Policy.parse(raw(given["policy"]))
    found = policy.judge(Note.parse(raw(given["note"])), given["origin"])
    if not found.ok:
        raise LogInvalid("policy", found.missing)


CHECKS = {
    "note": _note,
    "inclusion": _inclusion,
    "consistency": _consistency,
    "log": _log,
    "receipt": _receipt,
    "policy": _policy,
}
