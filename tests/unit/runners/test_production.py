"""How an agent is started and how its end is told, without a container."""

import subprocess

import pytest

from ledger.records import kinds
from runners.agents.base import Launch
from runners.backend import BackendFailure, Job
from runners.harvest import Harvest, Rejected
from runners.production import agent_result, faults, finish, guarded
from runners.runspec import RunResult
from store.digest import Digest
from store.errors import InputError, ObjectMissing

JOB = Job(
    attempt="a",
    package=Digest.of(b""),
    agent=kinds.Agent(adapter="command", version="1", argv=[], files=None),
    files=None,
    limits=kinds.Limits(seconds=1, memory=1, cpus=1, pids=1, workspace=1),
)


def start(launch: Launch) -> RunResult:
    done = subprocess.run(guarded(launch, JOB), capture_output=True, check=False)
    return RunResult(done.returncode, False, False, done.stdout, done.stderr, False, 5)


def run(launch: Launch) -> RunResult:
    return agent_result(start(launch), launch, lambda _name, _fields: None)


def test_arguments_reach_the_agent_as_they_are() -> None:
    assert run(Launch(("printf", "%s|", "a b", "$HOME", "it's", "*"))).stdout == b"a b|$HOME|it's|*|"


@pytest.mark.parametrize("code", [0, 1, 126, 127])
def test_exit_code_after_the_mark_is_the_agent_s(code: int) -> None:
    assert run(Launch(("sh", "-c", f"exit {code}"))).exit_code == code


@pytest.mark.parametrize("name", ["no-such-agent", "/no/such/agent", "/etc/passwd", "/etc"])
def test_what_cannot_be_executed_is_the_harness_s_fault(name: str) -> None:
    with pytest.raises(BackendFailure) as caught:
        run(Launch((name,)))
    assert caught.value.reason == "preflight"


def test_preflight_that_fails_is_the_harness_s_fault_and_says_why() -> None:
    with pytest.raises(BackendFailure, match="broken"):
        run(Launch(("true",), preflight=("sh", "-c", "echo broken >&2; exit 1")))


def test_preflight_leaves_no_output() -> None:
    assert run(Launch(("echo", "agent"), preflight=("echo", "version 1"))).stdout == b"agent\n"


def test_agent_cannot_take_its_mark_back() -> None:
    result = start(Launch(("sh", "-c", "echo 'rbl: agent starts'; exit 127")))
    told = agent_result(result, Launch(("sh",)), lambda _name, _fields: None)
    assert (told.exit_code, told.stdout) == (127, b"rbl: agent starts\n")


def test_agent_that_needs_files_and_brings_none_is_refused() -> None:
    with pytest.raises(BackendFailure):
        guarded(Launch(("cp",), needs_files=True), JOB)


def test_end_is_told_with_its_limits() -> None:
    seen: list[str] = []
    result = RunResult(None, True, True, b"rbl: agent starts\n", b"", True, 5)
    agent_result(result, Launch(("x",)), lambda name, _fields: seen.append(name))
    assert seen == ["limit.time", "limit.memory", "limit.output", "agent.exited", "agent-exited"]


def test_notes_and_refusals_are_values() -> None:
    seen: list[str] = []
    result = RunResult(137, False, True, b"", b"", False, 5)
    taken = Harvest(None, "harvest-limit", (Rejected("a", "device"),), "too large")
    produced = finish(result, taken, None, lambda name, _fields: seen.append(name))
    assert produced.refused == "harvest-limit"
    assert produced.notes == ("exit-nonzero", "memory-kill", "harvest-rejected")
    assert seen == ["harvest.rejected", "harvest.refused", "harvested"]


@pytest.mark.parametrize("error", [InputError("x", where="y", fix="z"), ObjectMissing("x", where="y", fix="z")])
def test_errors_of_preparing_become_the_harness_s_fault(error: Exception) -> None:
    def fail() -> None:
        with faults("preflight"):
            raise error

    with pytest.raises(BackendFailure) as caught:
        fail()
    assert (caught.value.reason, caught.value.where, caught.value.fix) == ("preflight", "y", "z")
