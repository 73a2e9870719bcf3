"""The ledger vectors: made anew they are the same bytes, and each attack is found, by its rule and at its record."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.vectors.make import FORMAT, PLACE, text_of, vectors
from tests.vectors.run import run

NAMES = sorted(path.name for path in PLACE.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_is_found_and_nothing_else(name, tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    vector = json.loads((PLACE / name).read_bytes())
    assert vector["format"] == FORMAT
    assert run(vector, tmp_path) == vector["expect"]


def test_the_generator_gives_the_same_bytes():
    made = {f"{name}.json": text_of(vector) for name, vector in vectors()}
    assert sorted(made) == NAMES
    for name, text in made.items():
        assert (PLACE / name).read_text("utf-8") == text, f"{name}: run python -m tests.vectors.make"


def test_every_kind_of_check_has_attacks_and_a_control():
    found = Counter((vector["check"], bool(vector["expect"]["findings"])) for _, vector in vectors())
    for check in ("ledger", "release", "note", "inclusion", "consistency", "receipt", "log", "policy"):
        assert found[check, False] >= 1, check
        assert found[check, True] >= 6, check
