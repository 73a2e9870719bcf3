"""Bad input gets what, where and what to do, with its exit code, and loses nothing."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.conftest import SITES


def explained(answer, code, *said):
    assert answer.code == code, (answer.out, answer.err)
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    for text in said:
        assert text in answer.err, answer.err


def test_a_second_init_in_the_same_place_changes_nothing(rbl, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    explained(rbl("init", folder), 5, "a benchmark folder is here already", str(folder), "do:")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_init_does_not_take_over_a_folder_with_files(rbl, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    explained(rbl("init", tmp_path), 5, "not empty", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_unknown_key_is_named_with_file_and_line(rbl, folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with (copy / "rbl.toml").open("a") as file:
        file.write('colour = "red"\n')
    line = len((copy / "rbl.toml").read_text().splitlines())
    explained(rbl("-C", copy, "ledger", "status"), 2, "`colour` is unknown", f"rbl.toml:{line}")


def test_outside_a_folder_the_way_in_is_said(rbl, tmp_path):
    explained(rbl("ledger", "status", cwd=tmp_path), 2, "not inside a benchmark folder", "rbl init")


def test_without_docker_freezing_says_how_to_get_it(rbl, folder):
    answer = rbl("-C", folder, "case", "freeze", SITES / "plain", "--id", "x", DOCKER_HOST="unix:///no/such/socket")
    explained(answer, 3, "no Docker engine answers", "do:")
    assert rbl("-C", folder, "ledger", "verify").code == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [("empty", "no index.html"), ("absent", "no such folder"), ("file", "")],
)
@pytest.mark.docker
def test_what_is_no_page_is_refused_by_name(rbl, folder, tmp_path, source, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("<html>")
    explained(rbl("-C", folder, "case", "freeze", tmp_path / source, "--id", "x"), 2, said, str(tmp_path / source))
    assert not (folder / "cases" / "x").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("split", "freeze", "s", "no-such-case"), 2),
        (("schedule", "freeze", "s", "--split", "a", "--protocol", "b", "--entry", "c"), 2),
        (("entry", "freeze", "e", "--agent", "no-such-agent"), 2),
        (("entry", "freeze", "Not An Id", "--agent", "noop"), 2),
        (("entry", "show", "none"), 2),
        (("attempt", "show", "none"), 2),
        (("attempt", "trace", "none"), 2),
        (("attempt", "withdraw", "none", "--reason", "leak", "--detail", "d", "--author", "a"), 2),
        (("case", "show", "none"), 2),
        (("case", "publish", "none"), 2),
        (("release", "show", "none"), 2),
        (("report", "none"), 2),
        (("ledger", "show", "999"), 2),
        (("store", "cat", "zz"), 2),
        (("store", "cat", "0123456789"), 1),
        (("store", "put", "/no/such/file"), 2),
        (("store", "get", "0123456789", "/tmp"), 1),
    ],
)
def test_a_name_that_stands_for_nothing_is_said_so(rbl, folder, words, code):
    explained(rbl("-C", folder, *words), code)


def test_a_release_that_is_not_there_does_not_verify(rbl, folder):
    answer = rbl("-C", folder, "release", "verify", "none", "--json")
    found = json.loads(answer.out)
    assert (answer.code, found["ok"]) == (1, False)
    assert found["findings"]


def test_a_word_that_is_no_command_is_usage(rbl):
    assert rbl("frobnicate").code == 2
    assert rbl("store", "frobnicate").code == 2
    assert rbl("store", "put").code == 2


def test_freezing_a_name_again_is_the_same_or_a_conflict(rbl, folder):
    first = json.loads(rbl("-C", folder, "entry", "freeze", "one", "--agent", "noop", "--json").out)
    again = json.loads(rbl("-C", folder, "entry", "freeze", "one", "--agent", "noop", "--json").out)
    assert again == first
    explained(rbl("-C", folder, "entry", "freeze", "one", "--agent", "noop", "--version", "2"), 5, "other content")


def test_a_tampered_object_is_named_and_not_given_out(rbl, folder, tmp_path):
    (tmp_path / "note").write_bytes(b"what was said\n")
    digest = rbl("-C", folder, "store", "put", tmp_path / "note").out.strip()
    name = digest.removeprefix("sha256:")
    place = folder / "objects" / "sha256" / name[:2] / name[2:]
    place.chmod(0o644)
    place.write_bytes(b"what was Said\n")
    answer = rbl("-C", folder, "store", "cat", name[:12])
    explained(answer, 1, name)


def test_a_missing_key_is_said_with_its_file(rbl, folder, tmp_path):
    config = tmp_path / "config"
    shutil.copytree(rbl.environment["RBL_CONFIG_HOME"], config)
    for key in config.rglob("release-manager.pem"):
        key.unlink()
    answer = rbl("-C", folder, "entry", "freeze", "two", "--agent", "noop", RBL_CONFIG_HOME=str(config))
    explained(answer, 3, "release-manager", ".pem")


def test_a_log_that_was_rolled_back_is_refused_and_not_forked(rbl, folder, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(folder / "log", old)
    assert rbl("-C", folder, "entry", "freeze", "three", "--agent", "noop").code == 0
    new = tmp_path / "new"
    shutil.move(folder / "log", new)
    shutil.copytree(old, folder / "log")
    explained(rbl("-C", folder, "ledger", "status"), 1, "rollback")
    explained(rbl("-C", folder, "entry", "freeze", "four", "--agent", "noop"), 1)
    shutil.rmtree(folder / "log")
    shutil.move(new, folder / "log")
    assert rbl("-C", folder, "ledger", "verify").code == 0
