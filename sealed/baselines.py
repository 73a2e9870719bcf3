"""The evaluator's own cache of baselines: what doing nothing reaches against each shot and region of a kit.

    kept = Baselines.of(identity, commitment, evaluator_digest())
    found = kept.get("region nav") or …                # a `Baseline`, or None: compute it
    kept.put("region nav", baseline)

    $RBL_CACHE_HOME/evaluator/<evaluator's digest>/<name>.json, else the user's cache directory:
    {"mac":"9f2c…","pictures":"0x1.8p-1","schema":"rbl/baseline/v1","start":"0x0.0p+0"}

A baseline is a pure function of the kit, the evaluator's code and what it is of, and most of the work of a verdict.
Numbers are written as exact hexadecimal floats, so that a verdict has the same bytes with and without the cache. A
file's name and its `mac` are HMAC-SHA256 (RFC 2104) under a key that HKDF (RFC 5869) derives from the evaluator's age
identity: nobody else can plant a baseline or tell what one is of. What is missing, foreign or damaged is computed
again, and a folder that cannot be written is left alone: the cache never fails a verdict.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import platformdirs
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sealed.visual import Baseline
from store import canonical
from store.digest import Digest
from store.errors import InputError

__all__ = ["Baselines", "cache_home"]

SCHEMA: Final = "rbl/baseline/v1"
KEY_BYTES: Final = 32
LARGEST: Final = 4096
"""Bytes of the longest file that is read."""
FIELDS: Final = ("pictures", "start")


def cache_home() -> Path:
    """Where this machine keeps what can be made again: `$RBL_CACHE_HOME`, else the user's cache directory."""
    named = os.environ.get("RBL_CACHE_HOME")
    return Path(named) if named else platformdirs.user_cache_path("rbl")


class Baselines:
    """The baselines of one kit under one evaluator.

    Args:
        folder: where their files stand; made when the first is written.
        key: 32 bytes that only the evaluator has.
        context: what all of them depend on, beside their names.
    """

    def __init__(self, folder: Path, key: bytes, context: bytes) -> None:
        self._folder = folder
        self._key = key
        self._context = context

    @classmethod
    def of(cls, identity: str, commitment: Digest, evaluator: Digest) -> Self:
        """The cache of the user's folder, under a key of this age identity."""
        secret = "\n".join(line.strip() for line in identity.splitlines() if line.startswith("AGE-SECRET-KEY-"))
        key = HKDF(SHA256(), KEY_BYTES, salt=None, info=SCHEMA.encode()).derive(secret.encode())
        return cls(cache_home() / "evaluator" / evaluator.hex, key, f"{commitment} {evaluator}".encode())

    def get(self, name: str) -> Baseline | None:
        """The baseline of that name, if this evaluator has written it."""
        try:
            with self._path(name).open("rb") as file:
                document = canonical.loads(file.read(LARGEST))
            told = {field: str(document[field]) for field in FIELDS}
            if not hmac.compare_digest(document["mac"], self._mac(name, told)):
                return None
            numbers = [float.fromhex(told[field]) for field in FIELDS]
        except (OSError, InputError, KeyError, TypeError, ValueError, OverflowError):
            return None
        return Baseline(*numbers) if all(map(math.isfinite, numbers)) else None

    def put(self, name: str, baseline: Baseline) -> None:
        """Keep a baseline, whole or not at all."""
        told = {field: getattr(baseline, field).hex() for field in FIELDS}
        data = canonical.dumps({"schema": SCHEMA, **told, "mac": self._mac(name, told)})
        path = self._path(name)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, made = tempfile.mkstemp(dir=self._folder, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                Path(made).replace(path)
            except OSError:
                Path(made).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._signed(b'name', name.encode())}.json"

    def _mac(self, name: str, told: Mapping[str, str]) -> str:
        return self._signed(b"baseline", name.encode(), *(told[field].encode() for field in FIELDS))

    def _signed(self, *parts: bytes) -> str:
        """HMAC of the context and the parts, each with its length before it."""
        message = b"".join(len(part).to_bytes(8) + part for part in (self._context, *parts))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()
