"""Evidence by plain `dvc pull` in a fresh clone: from a folder, over HTTP, from S3; with the real dvc."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import json
import os
import shutil
import stat
import subprocess
import sys
import threading

import pytest

from ledger.folder import Folder
from tests.integration.published_folder import publish

REMOTES = ("disk", "web")


def run(words, cwd, **more):
    environment = os.environ | {"DVC_NO_ANALYTICS": "1", "NO_COLOR": "1"} | more
    return subprocess.run(
        [sys.executable, "-P", "-m", *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A published folder, and its objects served as they stand: from their folder, and over HTTP."""
    place = tmp_path_factory.mktemp("published")
    with served(place / "bench" / "objects") as web, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        yield publish(place, {"disk": str(place / "bench" / "objects"), "web": web})


@contextlib.contextmanager
def served(directory):
    """A web server over a folder on loopback; gives its address."""
    handler = functools.partial(Quiet, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words):
        pass


@pytest.fixture
def clone(places, tmp_path):
    """A fresh clone, on a machine that never saw the ledger."""
    target = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(places.root), str(target)], check=True)
    return target


def rbl(clone, *words):
    homes = {"RBL_CONFIG_HOME": str(clone.parent / "config"), "RBL_STATE_HOME": str(clone.parent / "state")}
    return run(["rbl", "-C", str(clone), *words], clone, **homes)


def inventory(root):
    found = {}
    for path in sorted(root.rglob("*")):
        kind = path.lstat()
        what = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (stat.S_IFMT(kind.st_mode), bool(kind.st_mode & 0o100), what)
    return found


@pytest.mark.parametrize("remote", REMOTES)
def test_plain_dvc_pull_brings_the_bytes_and_rbl_what_dvc_does_not_carry(places, clone, remote):
    pulled = run(["dvc", "pull", "--remote", remote], clone)
    assert pulled.returncode == 0, pulled.stderr
    evidence = clone / "cases" / "page" / "evidence"
    assert inventory(evidence) != inventory(places.cases / "page" / "evidence")
    done = rbl(clone, "case", "pull", "--json")
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert {"evidence/first.png", "evidence/latest", "evidence/tools/run", "starter/img"} <= set(case["restored"])
    for name in ("evidence", "starter"):
        assert inventory(clone / "cases" / "page" / name) == inventory(places.cases / "page" / name)
    assert json.loads(rbl(clone, "case", "pull", "--json").stdout)["cases"][0]["restored"] == []
    (evidence / "gone").unlink()  # dvc cannot look at a link that leads nowhere
    assert "Data and pipelines are up to date" in run(["dvc", "status"], clone).stdout


def test_rbl_runs_dvc_where_files_are_missing(places, clone):
    done = rbl(clone, "case", "pull", "page", "--remote", "disk")
    assert done.returncode == 0, done.stderr
    assert "nothing is pinned" in done.stdout
    assert inventory(clone / "cases" / "page" / "evidence") == inventory(places.cases / "page" / "evidence")


def test_what_is_missing_is_named_when_nothing_may_be_fetched(clone):
    done = rbl(clone, "case", "pull", "--no-fetch")
    assert done.returncode == 1
    assert "missing  cases/page/evidence/pictures/7.png" in done.stdout


def test_a_flipped_byte_in_the_remote_is_named_where_dvc_ends_well(places, clone, tmp_path):
    remote = tmp_path / "remote"
    shutil.copytree(places.objects / "dvc", remote)
    name = hashlib.md5(bytes([7]) * 5_000).hexdigest()
    victim = remote / "files" / "md5" / name[:2] / name[2:]
    victim.chmod(0o644)
    data = bytearray(victim.read_bytes())
    data[1234] ^= 1
    victim.write_bytes(data)
    run(["dvc", "remote", "add", "--local", "bad", str(remote)], clone)
    pulled = run(["dvc", "pull", "--remote", "bad"], clone)
    assert pulled.returncode == 0, pulled.stderr
    assert (clone / "cases/page/evidence/pictures/7.png").read_bytes() == bytes(data)
    done = rbl(clone, "case", "pull", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["ok"] is False
    assert told["cases"][0]["faults"] == [{"path": "evidence/pictures/7.png", "what": "changed"}]
    assert not (clone / "cases/page/evidence/nothing").exists()  # nothing is completed beside a fault
    assert "changed  cases/page/evidence/pictures/7.png" in rbl(clone, "case", "pull").stdout


def test_a_copy_that_is_not_what_its_link_leads_to_is_named(clone):
    assert run(["dvc", "pull", "--remote", "disk"], clone).returncode == 0
    place = clone / "cases" / "page" / "evidence" / "first.png"
    assert not place.is_symlink()
    place.unlink()
    place.write_text("something else")
    (place.parent / "surplus").write_text("x")
    done = json.loads(rbl(clone, "case", "pull", "--json").stdout)
    assert done["cases"][0]["faults"] == [
        {"path": "evidence/first.png", "what": "changed"},
        {"path": "evidence/surplus", "what": "surplus"},
    ]


@pytest.mark.parametrize("name", ["record.dsse", "record.tlog-proof", "package.json", "brief.md"])
def test_what_git_brought_is_checked_too(clone, name):
    assert run(["dvc", "pull", "--remote", "disk"], clone).returncode == 0
    place = clone / "cases" / "page" / name
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(data)
    done = rbl(clone, "case", "pull")
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


def test_another_ledger_s_trust_root_is_not_believed(places, clone):
    own = hashlib.sha256((places.trust / "1.root.json").read_bytes()).hexdigest()
    assert "the pinned one" in rbl(clone, "case", "pull", "--remote", "disk", "--pin", f"sha256:{own}").stdout
    done = rbl(clone, "case", "pull", "--remote", "disk", "--pin", "sha256:" + "0" * 64)
    assert done.returncode == 1
    assert "not the pinned trust root" in done.stderr


def test_errors_say_what_to_do(clone, places):
    unknown = rbl(clone, "case", "pull", "pages")
    assert unknown.returncode == 2
    assert "there are: page" in unknown.stderr
    nowhere = rbl(clone, "case", "pull", "--remote", "nowhere")
    assert nowhere.returncode == 4
    assert "--remote" in nowhere.stderr


def test_bytes_are_kept_once(places: Folder):
    linked = [path for path in (places.objects / "dvc").rglob("*") if path.is_file() and path.suffix != ".dir"]
    assert len(linked) == 13  # twelve pictures and a script
    assert {path.stat().st_nlink for path in linked} == {2}
