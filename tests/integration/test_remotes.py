"""Objects to and from a folder and an S3 server: what is missing travels, lies are named, and a killed run goes on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request

import fsspec
import pytest

from rbl.remotes import pick
from store.digest import Digest
from store.errors import HarnessError, InputError, ObjectCorrupt
from store.objects import ObjectStore
from store.remote import Remote, Wanted, fetch, push
from tests.integration.published_folder import publish
from tests.integration.test_case_pull import inventory, run, served

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """An S3 server of our own, a process; the variables that lead to it are set."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("wb") as out:
        words = [sys.executable, "-P", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(words, stdout=out, stderr=out)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address + "/moto-api/"):
            break
        assert server.poll() is None, log.read_text()
        time.sleep(0.05)  # until it listens
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": address}.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir("bucket")
        yield address
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def published(s3, tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch.setenv("RBL_STATE_HOME", str(place / "state"))
        yield publish(place, {"origin": "s3://bucket/bench", "disk": "../remote"})


@pytest.fixture
def remote(request, s3, tmp_path):
    if request.param == "s3":
        return Remote.open("origin", f"s3://bucket/{tmp_path.name}", tmp_path)
    return Remote.open("origin", "remote", tmp_path)


@pytest.fixture
def store(tmp_path):
    return ObjectStore.create(tmp_path / "objects")


@pytest.fixture
def other(tmp_path):
    return ObjectStore.create(tmp_path / "other")


BOTH = pytest.mark.parametrize("remote", ["folder", "s3"], indirect=True)


def fill(store, count=300, large=20_000_000):
    chance = random.Random(7)
    digests = [store.put_bytes(chance.randbytes(chance.randrange(3_000))) for _ in range(count)]
    digests.append(store.put_bytes(chance.randbytes(large)))
    store.flush()
    return digests


def place_of(remote, digest):
    return f"{remote._root}/sha256/{digest.hex[:2]}/{digest.hex[2:]}"


@BOTH
def test_what_is_missing_travels_and_nothing_else(store, other, remote):
    digests = fill(store)
    first = push(store, remote, digests[:100])
    assert (first.sent, first.there) == (100, 0)
    rest = push(store, remote, digests)
    assert (rest.sent, rest.there) == (201, 100)
    assert push(store, remote, digests).sent == 0
    told = []
    wanted = [Wanted(digest, store.size(digest)) for digest in digests]
    done = fetch(other, remote, wanted, progress=lambda *now: told.append(now))
    assert (done.taken, done.here, done.lacking, done.wrong) == (301, 0, (), ())
    assert told[-1] == (301, 301, done.size)
    assert sorted(other.digests()) == sorted(digests)
    assert {stat.S_IMODE(path.stat().st_mode) for path in other.files()} == {0o444}
    assert fetch(other, remote, wanted).here == 301


@BOTH
def test_a_remote_that_lies_is_named_and_nothing_of_it_is_kept(store, other, remote):
    digests = fill(store, 20, large=9_000_000)
    push(store, remote, digests)
    files = remote._files
    files.pipe_file(place_of(remote, digests[3]), b"something else")
    files.pipe_file(place_of(remote, digests[-1]), store.get(digests[-1])[:-1] + b"x")
    files.rm_file(place_of(remote, digests[5]))
    done = fetch(other, remote, [Wanted(digest) for digest in digests])
    assert set(done.wrong) == {digests[3], digests[-1]}
    assert done.lacking == (digests[5],)
    assert set(other.digests()) == set(digests) - {digests[3], digests[5], digests[-1]}
    assert list((other.root / "tmp").iterdir()) == []


@BOTH
def test_a_half_pushed_object_is_pushed_again(store, remote):
    digests = fill(store, 5, large=10)
    push(store, remote, digests)
    remote._files.pipe_file(place_of(remote, digests[2]), b"")
    assert push(store, remote, digests).sent == 1
    assert remote._files.cat_file(place_of(remote, digests[2])) == store.get(digests[2])


@BOTH
@pytest.mark.parametrize("size", [1_000, 20_000_000])
def test_an_object_that_went_bad_here_is_not_pushed(store, remote, size):
    digest = store.put_bytes(random.Random(1).randbytes(size))
    path = store.path(digest)
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ObjectCorrupt):
        push(store, remote, [digest])
    assert not remote._files.exists(place_of(remote, digest))


def test_more_bytes_than_an_object_has_are_not_taken(store, other, tmp_path):
    remote = Remote.open("origin", "remote", tmp_path)
    digest = store.put_bytes(b"x" * 10)
    place = tmp_path / "remote" / "sha256" / digest.hex[:2] / digest.hex[2:]
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(1 << 40)
    assert fetch(other, remote, [Wanted(digest, 10)]).wrong == (digest,)


@pytest.mark.parametrize("verb", ["push", "fetch"])
def test_a_run_that_is_killed_goes_on(store, other, tmp_path, verb):
    """Killed after its first batch; a fetch is then kept waiting by a fifo in place of an object."""
    digests = fill(store, 40, large=10)
    remote = Remote.open("origin", "remote", tmp_path)
    if verb == "fetch":
        push(store, remote, digests)
    code = (
        "import sys; from pathlib import Path; from store.digest import Digest; from store.objects import ObjectStore\n"
        "from store.remote import Remote, Wanted, fetch, push\n"
        "from store import remote as module; module._BATCH = 8\n"
        "store = ObjectStore.open(Path(sys.argv[1])); remote = Remote.open('origin', 'remote', Path(sys.argv[2]))\n"
        "digests = [Digest(text) for text in sys.argv[4:]]\n"
        "tell = lambda *now: print(*now, flush=True)\n"
        "push(store, remote, digests, tell, 2) if sys.argv[3] == 'push' else "
        "fetch(store, remote, map(Wanted, digests), tell, 2)\n"
    )
    held = (store if verb == "push" else other).root
    blocker = digests[21]
    victim = (tmp_path / "remote" if verb == "fetch" else store.root) / "sha256" / blocker.hex[:2] / blocker.hex[2:]
    kept = victim.read_bytes()
    victim.unlink()
    if verb == "fetch":
        os.mkfifo(victim)
    else:
        victim.write_bytes(kept)
    words = [sys.executable, "-P", "-c", code, str(held), str(tmp_path), verb, *(digest.hex for digest in digests)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout.readline().startswith("8 ")
        process.send_signal(signal.SIGKILL)
    if verb == "fetch":
        victim.unlink()
        victim.write_bytes(kept)
        done = fetch(other, remote, map(Wanted, digests))
        assert (done.here >= 8, done.here + done.taken, done.wrong) == (True, 41, ())
        assert all(other.get(digest) == store.get(digest) for digest in digests)
        assert {stat.S_IMODE(path.stat().st_mode) for path in other.files()} == {0o444}
    else:
        done = push(store, remote, digests)
        assert (done.there >= 8, done.there + done.sent) == (True, 41)
        assert fetch(other, remote, map(Wanted, digests)).taken == 41


def test_objects_are_fetched_from_a_web_server(store, other, tmp_path):
    digests = fill(store, 20, large=9_000_000)
    push(store, Remote.open("origin", "remote", tmp_path), digests)
    place = tmp_path / "remote" / "sha256"
    lie, gone = (place / digest.hex[:2] / digest.hex[2:] for digest in digests[3:5])
    lie.chmod(0o644)
    lie.write_bytes(b"something else")
    gone.unlink()
    with served(tmp_path / "remote") as address:
        done = fetch(other, Remote.open("web", address, tmp_path), [Wanted(one, store.size(one)) for one in digests])
    assert (done.taken, done.wrong, done.lacking) == (19, (digests[3],), (digests[4],))
    assert set(other.digests()) == set(digests) - set(digests[3:5])


def test_addresses_that_are_none(tmp_path, store, s3):
    with pytest.raises(InputError, match="scheme ftp"):
        Remote.open("x", "ftp://host/x", tmp_path)
    with pytest.raises(InputError, match="only be read"):
        push(store, Remote.open("x", "http://127.0.0.1:9/x", tmp_path), [store.put_bytes(b"x")])
    with pytest.raises(HarnessError, match="the remote refused"):
        push(store, Remote.open("x", "s3://none/x", tmp_path), [store.put_bytes(b"x")])


def rbl(folder, homes, *words):
    more = {"RBL_CONFIG_HOME": str(homes / "config"), "RBL_STATE_HOME": str(homes / "state")}
    return run(["rbl", "-C", str(folder), *words], homes, **more)


def test_evidence_comes_from_s3_by_plain_dvc_pull(published, tmp_path):
    homes = published.root.parent
    done = rbl(published.root, homes, "store", "push", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True
    assert "objects" in done.stderr
    again = json.loads(rbl(published.root, homes, "-q", "store", "push", "origin", "--json").stdout)
    assert again["sent"] == 0
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(published.root), str(clone)], check=True)
    pulled = run(["dvc", "pull"], clone)
    assert pulled.returncode == 0, pulled.stderr
    done = rbl(clone, tmp_path, "case", "pull")
    assert done.returncode == 0, done.stderr
    assert inventory(clone / "cases/page/evidence") == inventory(published.cases / "page/evidence")


def test_a_byte_flipped_in_s3_is_named_where_dvc_ends_well(published, tmp_path):
    remote = pick(published, "origin")
    assert rbl(published.root, published.root.parent, "store", "push", "origin").returncode == 0
    files, name = remote._files, "dvc/files/md5"
    (victim,) = [path for path in files.find(f"bucket/bench/{name}") if files.cat_file(path) == bytes([7]) * 5_000]
    files.pipe_file(victim, bytes([7]) * 4_999 + b"x")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(published.root), str(clone)], check=True)
    assert run(["dvc", "pull"], clone).returncode == 0
    done = rbl(clone, tmp_path, "case", "pull")
    assert done.returncode == 1
    assert "changed  cases/page/evidence/pictures/7.png" in done.stdout
    files.pipe_file(victim, bytes([7]) * 5_000)


def test_a_store_is_restored_from_a_remote_without_the_source_page(published, tmp_path):
    homes = published.root.parent
    secret = Digest.of(b"<h1>the page itself</h1>")
    assert published.store.has(secret)
    assert rbl(published.root, homes, "store", "push", "disk").returncode == 0
    assert not Remote.open("disk", "../remote", published.root).sizes([f"sha256/{secret.hex[:2]}"])
    copy = tmp_path / "bench"
    shutil.copytree(published.root, copy, symlinks=True, ignore=shutil.ignore_patterns("objects"))
    done = rbl(copy, homes, "store", "fetch", str(homes / "remote"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fetched"] > 13
    told = json.loads(rbl(copy, homes, "store", "fsck", "--json").stdout)
    assert ["(source) artifact" in why for why in told["missing"].values()] == [True]
    assert not ObjectStore.open(copy / "objects").has(secret)
    lying = homes / "remote" / "sha256"
    victim = Digest.of(bytes([3]) * 5_000)
    copied = tmp_path / "lying"
    shutil.copytree(lying, copied / "sha256")
    (copied / "sha256" / victim.hex[:2] / victim.hex[2:]).unlink()
    (copied / "sha256" / victim.hex[:2] / victim.hex[2:]).write_bytes(b"x")
    (copy / "objects" / "sha256" / victim.hex[:2] / victim.hex[2:]).unlink()
    done = rbl(copy, homes, "store", "fetch", str(copied))
    assert done.returncode == 1
    assert f"gave other bytes under the name {victim}" in done.stdout
    assert str(copied) in done.stdout


def test_errors_say_which_remotes_there_are(published):
    homes = published.root.parent
    done = rbl(published.root, homes, "store", "push", "orign")
    assert done.returncode == 2
    assert "origin, disk" in done.stderr
