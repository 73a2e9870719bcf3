"""What the ledger vectors are made of: logs that an operator with every key, and no scruples, could publish.

    scene = Scene()                              # trust root 1 stands in the log; keys from fixed seeds
    scene.story.plan(["a"], ["pricing"])         # honest records, through the gate
    scene.force(envelope)                        # a record that no gate has seen, in the tree all the same
    scene.given()                                # {"origin": …, "pin": …, "remembered": null, "files": {…}}

Everything comes from fixed seeds and a fixed time: Ed25519 is deterministic, so the same call gives the same bytes.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.note import VerifierKey
from ledger.log.writer import LogWriter
from ledger.records import kinds
from ledger.records.envelope import Envelope, sign
from ledger.records.keys import Signer
from ledger.records.statement import sign_statement
from store.digest import Digest
from tests.unit.ledger.records.world import SIGNERS, World
from tests.unit.ledger.release.story import ORIGIN, Story

LOG = SIGNERS["log"]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def vkey(signer: Signer = LOG, name: str = ORIGIN) -> str:
    return str(VerifierKey(name, signer.public))


def root_of(leaves: Sequence[bytes]) -> Digest:
    return Digest.from_raw(merkle.root([merkle.leaf_hash(leaf) for leaf in leaves]))


def node_of(leaves: Sequence[bytes]) -> merkle.Node:
    def node(level: int, index: int) -> bytes:
        return root_of(leaves[index << level : (index + 1) << level]).raw

    return node


def head_of(leaves: Sequence[bytes]) -> dict[str, Any]:
    return {"size": len(leaves), "root": str(root_of(leaves))}


def note_of(leaves: Sequence[bytes], signer: Signer = LOG, origin: str = ORIGIN) -> bytes:
    return sign_checkpoint(Checkpoint(origin, len(leaves), root_of(leaves)), signer)


def log_files(leaves: Sequence[bytes]) -> dict[str, bytes]:
    """A signed tlog-tiles folder over these leaves, as the writer of the project writes it: path → bytes."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "log"
        writer = LogWriter(directory, None)
        writer.integrate(leaves)
        writer.publish(note_of(leaves))
        return read_files(directory, Path(place))


def read_files(directory: Path, base: Path) -> dict[str, bytes]:
    found = sorted(path for path in directory.rglob("*") if path.is_file() and ".tmp" not in path.parts)
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in found}


class Scene(World):
    """A log that can be told honestly, and forced."""

    def __init__(self, root: kinds.TrustRoot | None = None, signers: Sequence[Signer] = (SIGNERS["root"],)) -> None:
        super().__init__(root, signers)
        self.story = Story(self.say)
        self.beside: dict[str, bytes] = {}

    def force(self, record: kinds.Body | Envelope | bytes, *signers: Signer) -> bytes:
        """Put a record into the tree that the gate has not seen; nothing is admitted after it."""
        if isinstance(record, kinds.Body):
            record = self.sign(record, *signers)
        leaf = record if isinstance(record, bytes) else record.format()
        self.leaves.append(leaf)
        return leaf

    def files(self) -> dict[str, bytes]:
        """The folder: the log, and the trust roots that the gate has admitted."""
        roots = [record for record in self.records if isinstance(record.body, kinds.TrustRoot)]
        trust = {f"trust/{record.body.version}.root.json": self.leaves[record.index] for record in roots}
        return {**log_files(self.leaves), **trust, **self.beside}

    def given(
        self,
        files: Mapping[str, bytes | None] | None = None,
        *,
        pin: Digest | None = None,
        remembered: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What a verifier is given; `files` replaces some of the folder's, and None takes one away."""
        present = {**self.files(), **(files or {})}
        return {
            "origin": ORIGIN,
            "pin": str(pin or Digest.of(self.leaves[0])),
            "remembered": remembered,
            "files": {name: b64(data) for name, data in sorted(present.items()) if data is not None},
        }


def planned() -> Scene:
    """A scene with one case, one entry, and a schedule of two repeats with two tries each."""
    scene = Scene()
    scene.story.plan(["a"], ["pricing"], repeats=2)
    return scene


def resigned(payload: bytes, *signers: Signer) -> Envelope:
    """Any bytes as a payload, under true signatures."""
    return sign(payload, list(signers))


def payload_of(body: kinds.Body, signer: Signer) -> bytes:
    return sign_statement(body, [signer]).payload


def spoiled(data: bytes, offset: int) -> bytes:
    """The same bytes with one bit flipped."""
    changed = bytearray(data)
    changed[offset] ^= 1
    return bytes(changed)
