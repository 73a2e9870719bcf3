"""Whether the owner of a container still lives."""

import os
import subprocess
import sys

from runners.owner import alive, owner, started


def test_this_process_is_alive() -> None:
    assert alive(owner(), started())
    assert owner().endswith(f":{os.getpid()}")


def test_an_id_used_again_is_another_process() -> None:
    assert not alive(owner(), "00000000.1")


def test_an_ended_process_is_dead_even_before_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name, since = owner(child.pid), started(child.pid)
        assert alive(name, since)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(name, since)
    assert not alive(name, since)


def test_a_process_of_another_host_counts_as_alive() -> None:
    assert alive("elsewhere.example:1", "x")


def test_labels_without_an_owner_belong_to_nobody() -> None:
    assert not alive("", "")
