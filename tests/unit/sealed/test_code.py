"""The evaluator's digest follows its code; what must not be imported is not."""

from __future__ import annotations

import subprocess
import sys

from sealed.code import evaluator_digest

FORBIDDEN = ("docker", "playwright", "dvc", "pygit2", "typer", "runners", "rbl", "sealed.preference")


def test_the_digest_is_stable():
    assert evaluator_digest() == evaluator_digest()


def test_the_evaluator_loads_nothing_that_could_run_or_rank():
    program = f"import sys, sealed.__main__; print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
