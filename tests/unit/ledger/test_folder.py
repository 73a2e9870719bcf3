"""The benchmark folder and its configuration."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.folder import Config, Executor, Folder, check_origin, config_home, slug, state_home
from store.errors import Conflict, InputError


@pytest.fixture(autouse=True)
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "state"))


def test_a_folder_is_made_once_and_opened_again(tmp_path):
    made = Folder.create(tmp_path / "bench", "example.org/bench")
    assert Folder.open(tmp_path / "bench") == made
    assert made.config == Config("example.org/bench")
    assert all(place.is_dir() for place in (made.log, made.trust, made.spool, made.cases, made.kits, made.releases))
    assert made.store.root == made.objects
    with pytest.raises(Conflict):
        Folder.create(tmp_path / "bench", "example.org/other")
    assert made.config.origin == "example.org/bench"


def test_a_folder_is_found_from_below(tmp_path):
    made = Folder.create(tmp_path / "bench", "example.org/bench")
    below = made.cases / "deep" / "down"
    below.mkdir(parents=True)
    assert Folder.find(below) == made
    with pytest.raises(InputError, match="rbl init"):
        Folder.find(tmp_path)
    with pytest.raises(InputError, match="rbl init"):
        Folder.open(below)


def test_keys_and_state_lie_outside_the_folder(tmp_path):
    made = Folder.create(tmp_path / "bench", "example.org/bench")
    assert made.keys.directory == tmp_path / "config" / "keys" / slug("example.org/bench")
    assert made.state == tmp_path / "state" / slug("example.org/bench")
    assert not made.keys.directory.is_relative_to(made.root)


def test_without_a_variable_the_platform_says_where(monkeypatch):
    monkeypatch.delenv("RBL_CONFIG_HOME")
    monkeypatch.delenv("RBL_STATE_HOME")
    assert config_home().name == "rbl"
    assert state_home().name == "rbl"
    assert config_home() != state_home()


def test_a_folder_travels_to_another_process(tmp_path):
    made = Folder.create(tmp_path / "bench", "example.org/bench")
    assert made.store is made.store
    assert pickle.loads(pickle.dumps(made)).config == made.config


def test_a_signer_elsewhere_is_found_there(tmp_path):
    config = Config("example.org/bench", signers={"evaluator": tmp_path / "far" / "evaluator.pem"})
    made = Folder.create(tmp_path / "bench", config.origin, config=config)
    assert made.keys.path("evaluator") == tmp_path / "far" / "evaluator.pem"


@pytest.mark.parametrize("origin", ["", "a b", "a+b", "/a", "a\n", "é", "x" * 201, "-a"])
def test_what_cannot_name_a_ledger_is_refused(tmp_path, origin):
    with pytest.raises(InputError):
        check_origin(origin)
    with pytest.raises(InputError):
        Folder.create(tmp_path / "bench", origin)


def test_origins_that_differ_never_share_a_place():
    origins = ["a/b", "a-b", "A/b", "a:b", "a/b/", "a" * 100, "a" * 101]
    assert len({slug(origin) for origin in origins}) == len(origins)
    assert all("/" not in slug(origin) for origin in origins)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('origin = "a"\nremote = "x"\n', 2, "remote"),
        ('origin = "a"\n\n[signers]\nrunner = "k"\nboss = "k"\n', 5, "boss"),
        ('origin = "a"\n[executors.local]\nkind = "local"\nthreads = 3\n', 4, "threads"),
        ('origin = "a"\n[executors.local]\njobs = 0\n', 3, "jobs"),
        ('origin = "a"\n[executors.local]\njobs = true\n', 3, "jobs"),
        ('origin = "a"\n[executors."Not A Name"]\n', 2, "Not A Name"),
        ('origin = "a b"\n', 1, "origin"),
        ("# first\norigin = 3\n", 2, "origin"),
        ('origin = "a"\nremotes = 3\n', 2, "remotes"),
        ('origin = "a"\n[remotes]\nmain = 3\n', 3, "main"),
    ],
)
def test_a_mistake_is_named_with_file_key_and_line(tmp_path, text, line, word):
    with pytest.raises(InputError) as caught:
        Config.parse(text, "bench/rbl.toml")
    assert caught.value.where == f"bench/rbl.toml:{line}"
    assert f"`{word}`" in caught.value.what
    (tmp_path / "rbl.toml").write_text(text)
    with pytest.raises(InputError):
        Folder.open(tmp_path)


@pytest.mark.parametrize("text", ["", "origin = ", "[remotes]\n", "origin = 'a'\norigin = 'b'\n"])
def test_what_is_no_configuration_is_refused(text):
    with pytest.raises(InputError):
        Config.parse(text)


NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@settings(deadline=None)
@given(
    st.dictionaries(NAMES, TEXTS, max_size=4),
    st.dictionaries(NAMES, st.builds(Executor, kind=TEXTS, jobs=st.integers(1, 1024)), max_size=4),
    st.dictionaries(st.sampled_from(["runner", "log", "root"]), st.just(Path("/keys/k.pem")), max_size=3),
)
def test_configurations_round_trip(remotes, executors, signers):
    config = Config("example.org/bench", signers=signers, remotes=remotes, executors=executors)
    assert Config.parse(config.format()) == config
