"""One harness at a time works on a folder: a running attempt is never closed as lost, and no slot is raced for."""

from __future__ import annotations

import pytest

from rbl.runs import plan_run, run_all
from rbl.workspace import open_backend
from runners.harness import working
from runners.recovery import recover
from store.errors import Conflict

pytestmark = pytest.mark.docker


def test_neither_recovery_nor_a_second_run_works_beside_a_harness(bench):
    backend = open_backend(bench, "docker")
    planned = plan_run(bench, backend, schedule=None, entry="noop", case="plain", repeats=1)
    with working(bench):
        with pytest.raises(Conflict, match="another harness"):
            recover(bench, backend)
        with pytest.raises(Conflict, match="another harness"):
            run_all(bench, backend, planned, workers=1, say=lambda _: None)
    assert recover(bench, backend) == ([], [])
