"""Writes the ledger vectors: `python -m tests.vectors.make`. The same bytes at every run, which a test checks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.vectors import attempts, records, sequel, trust
from tests.vectors.attacks import ATTACKS
from tests.vectors.policies import policies
from tests.vectors.proofs import proofs
from tests.vectors.releases import releases

PLACE = Path(__file__).parent / "ledger"
FORMAT = "rbl-vector/1"


def vectors() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each vector's name and content."""
    assert all((attempts, records, sequel, trust))  # importing them registers their attacks
    for name, make in ATTACKS.items():
        found = make()
        yield name, _vector("ledger", found.attack, found.source, found.given, found.expected)
    for name, proof in proofs().items():
        expected = [] if proof.rule is None else [{"rule": proof.rule}]
        yield name, _vector(proof.check, proof.attack, proof.source, proof.given, expected)
    for name, demand in policies().items():
        expected = [] if demand.rule is None else [{"rule": demand.rule}]
        yield name, _vector("policy", demand.attack, demand.source, demand.given, expected)
    for name, found in releases().items():
        yield name, _vector("release", found.attack, found.source, found.given, found.expected)


def _vector(check: str, attack: str, source: str, given: dict[str, Any], findings: list[Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "check": check,
        "attack": attack,
        "source": source,
        "expect": {"findings": findings},
        "given": given,
    }


def text_of(vector: dict[str, Any]) -> str:
    """A vector's file."""
    return json.dumps(vector, indent=1, ensure_ascii=True) + "\n"


def main() -> None:
    """Write all of them, and remove what is none of them."""
    PLACE.mkdir(exist_ok=True)
    made = {f"{name}.json": text_of(vector) for name, vector in vectors()}
    for stale in {path.name for path in PLACE.glob("*.json")} - made.keys():
        (PLACE / stale).unlink()
    for name, text in made.items():
        (PLACE / name).write_text(text, "utf-8")
    sys.stdout.write(f"{len(made)} vectors in {PLACE}\n")


if __name__ == "__main__":
    main()
