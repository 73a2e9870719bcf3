"""What a machine must have."""

import pytest

from ledger.records import kinds
from runners.backend import BackendFailure
from runners.conditions import DISK, Machine, check

LIMITS = kinds.Limits(seconds=60, memory=1000, cpus=2000, pids=64, workspace=500)


def test_enough_is_enough() -> None:
    check(LIMITS, Machine(cpus=2000, memory=1000, disk=DISK + 500))


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (Machine(cpus=1999, memory=1000, disk=DISK + 500), "preflight"),
        (Machine(cpus=2000, memory=999, disk=DISK + 500), "preflight"),
        (Machine(cpus=2000, memory=1000, disk=DISK + 499), "disk"),
    ],
)
def test_less_is_refused_with_a_reason(machine: Machine, reason: str) -> None:
    with pytest.raises(BackendFailure) as caught:
        check(LIMITS, machine)
    assert caught.value.reason == reason
    assert caught.value.fix
