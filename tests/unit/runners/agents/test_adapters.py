"""The adapters that ship without a model."""

import pytest

from ledger.records import kinds
from runners.agents.base import SANDBOX, Places
from runners.agents.registry import adapter, names
from store.errors import InputError


def agent(name: str, *argv: str) -> kinds.Agent:
    return kinds.Agent(adapter=name, version="1", argv=list(argv), files=None)


def test_names_are_those_that_an_entry_may_use() -> None:
    assert {"command", "mock-fix", "noop", "oracle"} <= set(names())


def test_unknown_adapter_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="command"):
        adapter("gpt")


def test_command_runs_its_arguments_as_they_stand() -> None:
    launch = adapter("command").launch(agent("command", "python3", "/agent/fix.py", "a b", "$HOME"))
    assert launch.argv == ("python3", "/agent/fix.py", "a b", "$HOME")
    assert not launch.needs_files


def test_command_without_arguments_is_refused() -> None:
    with pytest.raises(InputError):
        adapter("command").launch(agent("command"))


def test_paths_move_with_the_places() -> None:
    places = Places(workspace="/t/w", task="/t/t", agent="/t/a")
    launch = adapter("command").launch(agent("command", "/agent/x", "/agents", "/task", "--in=/task"), places)
    assert launch.argv == ("/t/a/x", "/agents", "/t/t", "--in=/task")


@pytest.mark.parametrize("name", ["oracle", "mock-fix"])
def test_oracle_needs_files(name: str) -> None:
    assert adapter(name).launch(agent(name), SANDBOX).needs_files


def test_noop_does_nothing() -> None:
    assert adapter("noop").launch(agent("noop")).argv == ("true",)
