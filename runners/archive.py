"""The attempt archive: the directory of one attempt's results, complete before anything of it is logged.

    attempts/<attempt id>/manifest.json      what was made, by digest (canonical JSON, below)
    attempts/<attempt id>/events.jsonl       the chained event log

    {"artifacts":[{"class":"log","digest":"sha256:…","media_type":"text/plain","name":"agent.stdout","size":412}, …],
     "attempt":"2026…","build":"sha256:…","decision":{"notes":[],"outcome":null,"reason":"ok"},
     "milliseconds":8123,"schema":"rbl/attempt-manifest/v1","shots":[…],"sweep":"sha256:…","workspace":"sha256:…"}

It is written as `.<id>.partial/`, synced, and renamed into place: an archive is either whole or not there. Recovery
logs a whole one and closes an attempt without one. The objects it names are in the store, durable, before it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from ledger.records import kinds
from runners.outcome import Decision
from store import canonical
from store.digest import Digest
from store.errors import Conflict, InputError

__all__ = ["Archive", "Manifest"]

_SCHEMA: Final = "rbl/attempt-manifest/v1"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an attempt made.

    Attributes:
        attempt: its id.
        decision: its outcome, or that the evaluator has the word.
        workspace, build: trees; null where there is none.
        shots, sweep: the captures; empty and null when nothing was rendered.
        artifacts: every object worth keeping, with its class.
        milliseconds: wall time of all rooms.
    """

    attempt: str
    decision: Decision
    workspace: Digest | None
    build: Digest | None
    shots: tuple[kinds.Shot, ...]
    sweep: Digest | None
    artifacts: tuple[kinds.Artifact, ...]
    milliseconds: int

    def format(self) -> bytes:
        """Its canonical bytes."""
        return canonical.dumps(
            {
                "schema": _SCHEMA,
                "attempt": self.attempt,
                "decision": {
                    "outcome": self.decision.outcome,
                    "reason": self.decision.reason,
                    "notes": list(self.decision.notes),
                },
                "workspace": _text(self.workspace),
                "build": _text(self.build),
                "shots": [msgspec.to_builtins(shot, enc_hook=str) for shot in self.shots],
                "sweep": _text(self.sweep),
                "artifacts": [msgspec.to_builtins(item, enc_hook=str) for item in self.artifacts],
                "milliseconds": self.milliseconds,
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read what `format` wrote.

        Raises:
            InputError: it is something else.
        """
        value = canonical.loads(data)
        if not isinstance(value, dict) or value.get("schema") != _SCHEMA:
            raise InputError(f"not an attempt manifest of {_SCHEMA}")
        decision = value["decision"]
        return cls(
            attempt=value["attempt"],
            decision=Decision(decision["outcome"], decision["reason"], tuple(decision["notes"])),
            workspace=_digest(value["workspace"]),
            build=_digest(value["build"]),
            shots=tuple(kinds.part(kinds.Shot, shot) for shot in value["shots"]),
            sweep=_digest(value["sweep"]),
            artifacts=tuple(kinds.part(kinds.Artifact, item) for item in value["artifacts"]),
            milliseconds=value["milliseconds"],
        )


class Archive:
    """The place of one attempt's archive, before and after it is whole."""

    def __init__(self, attempts: Path, attempt: str) -> None:
        """Name the place; nothing is made.

        Args:
            attempts: the folder of all archives.
            attempt: the attempt's id.
        """
        self.attempt = attempt
        self.path = attempts / attempt
        self.partial = attempts / f".{attempt}.partial"

    @property
    def whole(self) -> bool:
        """It was renamed into place."""
        return (self.path / "manifest.json").exists()

    @property
    def events(self) -> Path:
        """Its event log, wherever it stands now."""
        return (self.path if self.path.exists() else self.partial) / "events.jsonl"

    def begin(self) -> None:
        """Make the partial directory.

        Raises:
            Conflict: the attempt has an archive already.
        """
        if self.path.exists():
            raise Conflict("the attempt has an archive already", where=str(self.path))
        self.partial.mkdir(parents=True)

    def manifest(self) -> Manifest:
        """What a whole archive says it holds."""
        return Manifest.parse((self.path / "manifest.json").read_bytes())

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, sync everything, and rename the directory into place."""
        path = self.partial / "manifest.json"
        with path.open("xb") as file:
            file.write(manifest.format())
            file.flush()
            os.fsync(file.fileno())
        _sync(self.partial)
        self.partial.rename(self.path)
        _sync(self.path.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _text(digest: Digest | None) -> str | None:
    return None if digest is None else str(digest)


def _digest(value: Any) -> Digest | None:
    return None if value is None else Digest.parse(value)
