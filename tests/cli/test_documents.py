"""`--json`: one document on standard output, with a schema and the keys that scripts rely on."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

ROW = {
    "id", "case", "entry", "repeat", "try", "purpose", "backend", "outcome", "reason", "detail", "score", "seconds",
    "record",
}  # fmt: skip

DOCUMENTS = {
    "ledger status": {"origin", "vkey", "size", "root", "checkpoint", "kinds", "open_attempts"},
    "ledger list": {"records"},
    "ledger show 0": {"record", "index", "kind", "roles", "keys", "version"},
    "ledger verify": {"ok", "size", "root", "verified_before", "witnessed", "findings"},
    "ledger append": {"indices", "refused"},
    "trust show": {"record", "index", "roles", "keys"},
    "key list": {"keys"},
    "case list": {"cases"},
    "case show pricing": {"record", "index", "id", "version"},
    "split show": {"name", "record", "index", "cases"},
    "protocol show": {"record", "index", "name", "limits", "weights"},
    "entry list": {"entries"},
    "entry show oracle": {"record", "index", "id", "agent"},
    "schedule show s1": {"record", "index", "name", "entries", "repeats"},
    "attempt list": {"attempts"},
    "attempt show": {*ROW, "dimensions", "artifacts", "records"},
    "attempt trace": {"lines"},
    "release show r1": {"record", "index", "name", "root", "attempts", "results"},
    "release verify r1": {"ok", "steps", "digest", "findings"},
    "release diff r1 r1": {"old", "new", "changes"},
    "report r1": {"rows"},
    "store fsck": {"ok", "missing", "corrupt", "named_by", "quarantined", "in_quarantine", "stray", "read"},
    "store pins": {"pins"},
    "store gc": {"removed", "objects", "size", "temporary", "put_back", "kept", "young", "before", "waits_for"},
    "store push ../remote": {"ok", "remote", "sent", "size", "there", "lacking"},
    "store fetch ../remote": {"ok", "remote", "fetched", "size", "here", "lacking", "wrong"},
}


@pytest.mark.parametrize("words", DOCUMENTS)
def test_a_document_has_its_schema_first_and_its_keys(rbl, story, released, words):
    last = {
        "attempt show": story.told[0].id,
        "attempt trace": story.told[0].id,
        "split show": story.split.body.name,
        "protocol show": story.protocol.body.name,
    }.get(words)
    found = rbl("-C", released, *words.split(), *([] if last is None else [last]), "--json").document
    assert found["schema"].startswith("rbl/")
    assert found.keys() >= DOCUMENTS[words]


def test_every_record_can_be_shown(rbl, released):
    size = rbl("-C", released, "ledger", "status", "--json").document["size"]
    shown = {rbl("-C", released, "ledger", "show", index).document["kind"] for index in range(0, size, 3)}
    assert "attempt-opened" in shown


def test_rows_of_attempts_have_stable_keys(rbl, released):
    rows = rbl("-C", released, "attempt", "list", "--json").document["attempts"]
    assert all(row.keys() == ROW for row in rows)
    assert all((row["score"] is None) == (row["outcome"] != "scored") for row in rows if row["outcome"] != "withdrawn")
    assert {row["outcome"] for row in rows} == {"scored", "ungradeable", "timeout", "harness-failure", "withdrawn"}


def test_the_folder_is_found_from_below_and_by_c(rbl, released):
    below = rbl("ledger", "status", "--json", cwd=released / "log").document
    assert below == rbl("-C", released, "ledger", "status", "--json").document


def test_ids_and_digests_may_be_shortened(rbl, story, released):
    attempt = story.told[0]
    for name in (attempt.id[-8:], attempt.id):
        assert rbl("-C", released, "attempt", "show", name, "--json").document["id"] == attempt.id
    results = rbl("-C", released, "release", "show", "r1").document["results"]
    for name in (results, results[:19], results.removeprefix("sha256:")[:8]):
        assert rbl("-C", released, "store", "stat", name, "--json").document["digest"] == results
    record = rbl("-C", released, "ledger", "show", "3").document["record"]
    assert rbl("-C", released, "ledger", "show", record[7:19]).document["index"] == 3


def on_a_terminal(rbl, *words, **more):
    """Standard output of a command whose standard output is a terminal."""
    environment = {name: value for name, value in rbl.environment.items() if name != "NO_COLOR"} | more
    main, side = pty.openpty()
    try:
        subprocess.run(
            [rbl.program, *map(str, words)], env=environment, stdout=side, stderr=subprocess.DEVNULL, check=True
        )
    finally:
        os.close(side)
    with os.fdopen(main, "rb") as file:
        return file.read1(65536)


def test_colour_is_for_terminals_and_never_with_no_color(rbl, released):
    words = ("-C", released, "ledger", "verify")
    assert b"\x1b[" in on_a_terminal(rbl, *words)
    assert b"\x1b[" not in on_a_terminal(rbl, *words, NO_COLOR="1")
    assert "\x1b[" not in rbl(*words).out


def test_a_reader_that_stops_early_is_no_error(rbl, released):
    command = f"'{rbl.program}' -C '{released}' ledger show 0 | head -c 1"
    done = subprocess.run(
        ["sh", "-c", command], env=rbl.environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("{", "")


def test_a_full_disk_is_said_in_one_line(rbl, released):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [rbl.program, "-C", str(released), "attempt", "list"],
            env=rbl.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
