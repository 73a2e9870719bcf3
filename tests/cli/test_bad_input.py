"""Bad input gets what, where and what to do, with its exit code, and loses nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import SITES, explained


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "`origin` is missing"),
        ("origin = 3\n", "rbl.toml:1"),
        ('origin = "x\n', "not TOML"),
        ('origin = "a space"\n', "not an origin"),
    ],
)
def test_a_configuration_that_is_none_is_named(rbl, tmp_path, text, said):
    (tmp_path / "rbl.toml").write_text(text)
    explained(rbl("-C", tmp_path, "ledger", "status"), 2, said, tmp_path / "rbl.toml")


def test_a_folder_that_does_not_exist_is_said_so(rbl, tmp_path):
    explained(rbl("-C", tmp_path / "absent", "ledger", "status"), 2, "no such folder", tmp_path / "absent")


def test_outside_a_folder_the_way_in_is_said(rbl, tmp_path):
    explained(rbl("ledger", "status", cwd=tmp_path), 2, "not inside a benchmark folder", "rbl init")


def test_without_docker_freezing_says_how_to_get_it(rbl, folder):
    answer = rbl("-C", folder, "case", "freeze", SITES / "plain", "--id", "x", DOCKER_HOST="unix:///no/such/socket")
    explained(answer, 3, "no Docker engine answers", "do:")
    assert rbl("-C", folder, "ledger", "verify").code == 0


@pytest.mark.parametrize("words", ["image list", "image build", "attempt run --schedule s1", "attempt recover"])
def test_without_docker_what_needs_it_says_so(rbl, released, words):
    answer = rbl("-C", released, *words.split(), DOCKER_HOST="unix:///no/such/socket")
    explained(answer, 3, "no Docker engine answers", "do:")


def test_without_docker_the_demo_makes_no_folder(rbl, tmp_path):
    answer = rbl("demo", tmp_path / "demo", DOCKER_HOST="unix:///no/such/socket")
    explained(answer, 3, "no Docker engine answers")
    assert not (tmp_path / "demo").exists()


def test_without_docker_everything_that_was_run_can_be_checked(rbl, released):
    for words in ("ledger verify", "release verify r1", "store fsck", "report r1", "attempt list"):
        assert rbl("-C", released, *words.split(), DOCKER_HOST="unix:///no/such/socket").code == 0


@pytest.mark.docker
def test_a_missing_image_is_named_with_what_brings_it(rbl, tmp_path):
    explained(rbl("image", "list", XDG_CACHE_HOME=str(tmp_path), RBL_CACHE_HOME=str(tmp_path)), 3, "rbl image build")


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
        (("store", "push"), 2),
        (("store", "fetch", "elsewhere"), 2),
        (("store", "push", "ftp://example.org/x"), 2),
        (("case", "pull"), 2),
        (("case", "pull", "../x"), 2),
        (("case", "pull", "--pin", "x"), 2),
        (("store", "get", "0123456789", "/tmp"), 1),
    ],
)
def test_a_name_that_stands_for_nothing_is_said_so(rbl, folder, words, code):
    explained(rbl("-C", folder, *words), code)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("entry show orcale", "oracle"),
        ("case show priceing", "pricing"),
        ("split freeze x priceing", "pricing"),
        ("split freeze x pricing@7", "pricing"),
        ("schedule show z1", "s1"),
        ("release show q1", "r1"),
        ("report q1", "r1"),
        ("release freeze new --schedule z1", "s1"),
        ("attempt run --backend native --schedule z1", "s1"),
        ("attempt run --backend native --entry orcale --case docs", "oracle"),
        ("attempt run --backend native --entry oracle --case dcos", "docs"),
        ("ledger list --kind atempt-opened", "attempt-opened"),
    ],
)
def test_a_misspelt_name_gets_the_one_that_was_meant(rbl, released, words, meant):
    explained(rbl("-C", released, *words.split()), 2, meant, "do:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("attempt run --backend native", "--schedule"),
        ("attempt run --backend native --schedule s1", "frozen for docker, not native"),
        ("attempt run --backend vmware --schedule s1", "no backend 'vmware'"),
        ("attempt show 2026", "give more of one id"),
        ("split freeze x pricing@new", "id@1"),
        ("split freeze x pricing pricing", "twice"),
        ("protocol freeze p --backend native --weight functional=much", "NAME=INTEGER"),
        ("protocol freeze p --backend native --weight beauty=1", "functional"),
        ("store get 0 /tmp/x", "at least 4"),
        ("release verify r1 --digest 12", "not a digest"),
        ("case freeze --id x", "--authored"),
        ("entry freeze e", "argument vector"),
        ("entry freeze e --files /no/such -- true", "/no/such"),
    ],
)
def test_usage_that_cannot_be_meant_is_explained(rbl, released, words, said):
    explained(rbl("-C", released, *words.split()), 2, said)


def test_a_split_is_not_redefined(copied):
    rbl, bench = copied
    assert rbl("-C", bench, "split", "freeze", "two", "docs").code == 0
    assert rbl("-C", bench, "split", "freeze", "two", "docs@1").code == 0
    explained(rbl("-C", bench, "split", "freeze", "two", "docs", "pricing"), 5, "split two is frozen", "another name")


def test_a_release_waits_for_every_slot_and_names_those_that_are_missing(copied, story):
    rbl, bench = copied
    rules = ("--split", story.split.body.name, "--protocol", story.protocol.body.name)
    explained(
        rbl("-C", bench, "schedule", "freeze", "s2", *rules, "--entry", "oracle", "--repeats", "9"), 2, "allows 1"
    )
    assert rbl("-C", bench, "schedule", "freeze", "s2", *rules, "--entry", "oracle", "--repeats", "1").code == 0
    explained(rbl("-C", bench, "release", "freeze", "r2", "--schedule", "s2"), 1, "oracle", "pricing", "docs")
    explained(rbl("-C", bench, "release", "freeze", "r1", "--schedule", "s1"), 5, "never redefined")
    assert not (bench / "releases" / "r2").exists()


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


def flip(path):
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_tampered_object_is_found_by_every_check(copied):
    rbl, bench = copied
    digest = rbl("-C", bench, "release", "show", "r1").document["results"]
    name = digest.removeprefix("sha256:")
    flip(bench / "objects" / "sha256" / name[:2] / name[2:])
    for words in ("store fsck", "release verify r1"):
        answer = rbl("-C", bench, *words.split())
        assert (answer.code, name in answer.out) == (1, True), answer.out
    explained(rbl("-C", bench, "report", "r1"), 1, name)
    found = rbl("-C", bench, "store", "fsck", "--json")
    assert found.code == 1
    assert digest in found.out


def test_a_tampered_checkpoint_is_believed_by_nobody(copied):
    rbl, bench = copied
    flip(bench / "log" / "checkpoint")
    explained(rbl("-C", bench, "attempt", "list"), 1, bench / "log" / "checkpoint")
    for words in ("ledger verify", "release verify r1"):
        assert rbl("-C", bench, *words.split()).code == 1
        assert json.loads(rbl("-C", bench, *words.split(), "--json").out)["ok"] is False


def test_a_pin_file_is_made_used_and_refused_where_it_is_none(copied, tmp_path):
    rbl, bench = copied
    pin = tmp_path / "auditor.pin"
    found = [rbl("-C", bench, "ledger", "verify", "--pin-file", pin, "--json").document for _ in range(2)]
    assert [one["verified_before"] for one in found] == [0, found[0]["size"]]
    letter = tmp_path / "letter.txt"
    letter.write_text("no pin file")
    explained(rbl("-C", bench, "ledger", "verify", "--pin-file", letter), 2, letter)
    explained(rbl("-C", bench, "ledger", "verify", "--pin-file", tmp_path / "a" / "b"), 2, tmp_path / "a")


def test_the_digest_that_was_given_decides(rbl, released):
    digest = rbl("-C", released, "release", "show", "r1").document["root"]
    assert rbl("-C", released, "release", "verify", "r1", "--digest", digest).code == 0
    other = rbl("-C", released, "release", "verify", "r1", "--digest", f"sha256:{'0' * 64}")
    assert other.code == 1
    assert f"this release is {digest}" in other.out


def test_an_object_is_never_written_over_a_file(copied):
    rbl, bench = copied
    digest = rbl("-C", bench, "release", "show", "r1").document["results"]
    (bench / "mine").write_text("mine")
    explained(rbl("-C", bench, "store", "get", digest, bench / "mine"), 5, bench / "mine")
    explained(rbl("-C", bench, "store", "get", digest, bench / "no" / "such"), 4, bench / "no" / "such")
    assert (bench / "mine").read_text() == "mine"
    assert rbl("-C", bench, "store", "get", digest, bench / "new").code == 0
    assert json.loads((bench / "new").read_text())["schema"] == "rbl/results/v1"


@pytest.mark.parametrize(
    ("option", "name", "text", "said"),
    [
        ("--contract", "c.json", "{", "not JSON"),
        ("--contract", "c.json", "[]", "rbl/contract/v1"),
        ("--contract", "c.json", '{"schema":"rbl/contract/v1","routes":[]}', "c.json"),
        ("--kit", "kit.toml", "\ncolour = 1\n", "kit.toml, line 2"),
        ("--kit", "kit.toml", "[[x]\n", "not TOML"),
        ("--brief", "absent.md", None, "absent.md"),
        ("--starter", "absent", None, "absent"),
        ("--id", "Not An Id", None, "lower-case"),
    ],
)
@pytest.mark.docker
def test_what_an_author_got_wrong_is_named(rbl, folder, tmp_path, option, name, text, said):
    if text is not None:
        (tmp_path / name).write_text(text)
    value = name if option == "--id" else tmp_path / name
    explained(rbl("-C", folder, "case", "freeze", SITES / "plain", "--id", "x", option, value), 2, said)
    assert not (folder / "cases" / "x").exists()
    assert not (folder / "kits" / "x.age").exists()


@pytest.mark.docker
def test_an_authored_folder_is_read_strictly(rbl, folder, tmp_path):
    explained(rbl("-C", folder, "case", "freeze", "--authored", tmp_path), 2, "no case.toml", tmp_path)
    (tmp_path / "case.toml").write_text('id = "x"\ncolour = 1\n')
    explained(rbl("-C", folder, "case", "freeze", "--authored", tmp_path), 2, "`colour`", "case.toml, line 2")
    explained(rbl("-C", folder, "case", "freeze", tmp_path, "--authored", tmp_path), 2, "leave out")


def test_keys_that_others_may_read_or_that_are_none_are_not_used(copied):
    rbl, bench = copied
    keys = rbl("-C", bench, "key", "list", "--json").document["keys"]
    [key] = [Path(row["path"]) for row in keys if row["role"] == "release-manager"]
    words = ("-C", bench, "entry", "freeze", "new", "--agent", "noop")
    key.chmod(0o644)
    explained(rbl(*words), 2, key, f"chmod 600 {key}")
    key.chmod(0o600)
    key.write_text("no key")
    explained(rbl(*words), 2, key)


def test_an_unreadable_folder_of_keys_is_said(copied):
    rbl, bench = copied
    words = ("-C", bench, "entry", "freeze", "new", "--agent", "noop")
    explained(rbl(*words, RBL_CONFIG_HOME=str(bench.parent / "elsewhere")), 3, "release-manager", "[signers]")


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
