"""Help: an example for every noun and verb, and no more loaded than the parser needs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from rbl.cli.app import NOUNS

HEAVY = ("docker", "playwright", "numpy", "scipy", "PIL", "dvc", "pygit2", "lxml", "jsonschema")


def test_the_nouns_are_listed(rbl):
    found = rbl("--help")
    assert found.code == 0
    assert all(re.search(rf"^  {noun}\b", found.out, re.MULTILINE) for noun in NOUNS)


@pytest.mark.parametrize("noun", NOUNS)
def test_every_verb_has_an_example(rbl, noun):
    found = rbl(noun, "--help")
    assert found.code == 0
    assert "Example:" in " ".join(found.out.split())
    waiting = [(noun, verb) for verb in verbs_of(found)]
    for words in waiting:  # which grows by the verbs of a noun in a noun
        told = rbl(*words, "--help")
        assert told.code == 0
        assert "Example:" in " ".join(told.out.split()), words
        waiting += [(*words, verb) for verb in verbs_of(told)]


def verbs_of(told):
    return re.findall(r"^  ([a-z]+) ", told.out.partition("Commands:")[2], re.MULTILINE)


def test_help_loads_nothing_heavy():
    code = "import sys; from rbl.cli.app import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([A-Za-z0-9_]+)'", done.stderr))
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("words", [("ledger", "status"), ("ledger", "show", "0"), ("report", "r1")])
def test_reading_loads_only_what_reads(rbl, released, words):
    code = (
        "import sys; from rbl.cli.app import run\n"
        f"code = run(['-C', {str(released)!r}, *{words!r}])\n"
        "print(sorted(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=rbl.environment, capture_output=True, text=True, check=True
    )
    loaded = set(re.findall(r"'([A-Za-z0-9_]+)'", done.stderr))
    assert loaded.isdisjoint({*HEAVY, "cases", "runners", "sealed"})


def test_the_version_is_the_package_s(rbl):
    assert re.fullmatch(r"rbl \d+\.\d+\.\d+\n", rbl("--version").out)
