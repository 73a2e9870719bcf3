"""The evaluator's own digest: which code, and which libraries, a verdict was computed with.

    evaluator_digest()     # sha256:5d1e…, of {"cases/capture.py":"sha256:…", …, "version:numpy":"2.4.6", …}

It stands in the protocol and in every `evaluation`: numbers of different evaluators are never mixed. It covers this
package, the formats it reads, and the libraries whose results could change a score; the interpreter is not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata, resources
from typing import Final

from store import canonical
from store.digest import Digest

__all__ = ["evaluator_digest"]

FORMATS: Final = ("age.py", "capture.py", "contract.py", "kit.py")
LIBRARIES: Final = ("cssselect", "lxml", "numpy", "pillow", "scipy")


def evaluator_digest() -> Digest:
    """SHA-256 of the canonical JSON of every source file's digest and every library's version."""
    parts = dict(_sources())
    parts |= {f"version:{name}": metadata.version(name) for name in LIBRARIES}
    return Digest.of(canonical.dumps(parts))


def _sources() -> Iterator[tuple[str, str]]:
    for package, names in (("sealed", None), ("cases", FORMATS)):
        for item in resources.files(package).iterdir():
            if item.name.endswith(".py") and (names is None or item.name in names):
                yield f"{package}/{item.name}", str(Digest.of(item.read_bytes()))
