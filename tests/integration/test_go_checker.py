"""Go's own note and tlog packages open our checkpoints, cosigned or not, and verify our proofs."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.log import LogReader, read_folder
from ledger.log.note import Note, VerifierKey
from ledger.log.writer import LogWriter
from ledger.records.keys import Signer
from store.digest import Digest

ORIGIN = "example.org/bench"
VECTORS = Path(__file__).parents[1] / "vectors" / "ledger"
SIZES = (1, 2, 3, 255, 256, 257, 65_536, 65_537, 70_000)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Builds a Go program of ours offline, from what the Go distribution vendors."""
    go = shutil.which("go") or str(Path(sys.executable).parent / "go")
    root = subprocess.run([go, "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip()
    place = tmp_path_factory.mktemp("go")
    shutil.copytree(Path(root) / "src/cmd/vendor/golang.org/x/mod/sumdb", place / "mod/sumdb")
    (place / "mod/go.mod").write_text("module golang.org/x/mod\n\ngo 1.22\n")
    shutil.rmtree(place / "mod/sumdb/dirhash")
    for file in (place / "mod/sumdb").glob("*.go"):  # only note and tlog are wanted
        file.unlink()
    (place / "go.mod").write_text(
        "module check\n\ngo 1.22\n\nrequire golang.org/x/mod v0.0.0\n\nreplace golang.org/x/mod => ./mod\n"
    )
    offline = os.environ | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOSUMDB": "off", "GOCACHE": str(place / "cache")}

    def one(name):
        (place / name).mkdir()
        shutil.copy(Path(__file__).parent / "go" / f"{name}.go", place / name / "main.go")
        command = [go, "build", "-o", str(place / name / "run"), f"./{name}"]
        subprocess.run(command, cwd=place, check=True, capture_output=True, env=offline)
        return place / name / "run"

    return one


@pytest.fixture(scope="module")
def checker(build):
    return build("main")


def encoded(hashes):
    return [base64.b64encode(item).decode() for item in hashes]


def entry(number):
    return b"entry %d" % number


@pytest.mark.parametrize("size", SIZES)
def test_go_agrees_at_every_size(checker, tmp_path, size):
    signer = Signer.from_seed(bytes(range(32)))
    directory = tmp_path / "log"
    writer = LogWriter(directory, None)
    writer.integrate([entry(number) for number in range(size)])
    root = Digest.from_raw(merkle.root([merkle.leaf_hash(entry(number)) for number in range(size)]))
    note = sign_checkpoint(Checkpoint(ORIGIN, size, root), signer)
    writer.publish(note)
    log = LogReader(read_folder(directory), Checkpoint(ORIGIN, size, root))
    questions = [
        {
            "Size": size,
            "Root": base64.b64encode(root.raw).decode(),
            "Index": index,
            "Leaf": base64.b64encode(entry(index)).decode(),
            "Inclusion": encoded(log.prove_inclusion(index)),
            "Old": old,
            "OldRoot": base64.b64encode(log.root_at(old).raw).decode(),
            "Consistency": encoded(log.prove_consistency(old)),
        }
        for index in sorted({0, size // 2, size - 1, min(size - 1, 255), min(size - 1, 256)})
        for old in sorted({1, max(1, size // 2), min(size, 256), size})
    ]
    vkey = str(VerifierKey(ORIGIN, signer.public))
    asked = json.dumps(questions)
    done = subprocess.run([checker, directory, vkey], input=asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(questions)} questions agreed\n"), done.stderr

    wrong = json.loads(asked)
    flipped = bytearray(base64.b64decode(wrong[-1]["Leaf"]))
    flipped[0] ^= 1
    wrong[-1]["Leaf"] = base64.b64encode(bytes(flipped)).decode()
    refused = subprocess.run(
        [checker, directory, vkey], input=json.dumps(wrong), capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    other = str(VerifierKey(ORIGIN, Signer.from_seed(bytes(32)).public))
    unsigned = subprocess.run([checker, directory, other], input=asked, capture_output=True, text=True, check=False)
    assert unsigned.returncode == 1


GO_LETS_PASS = {
    "note-with-stray-base64-bits": "its base64 decoder ignores the stray bits; C2SP does not ask for more",
}
GO_REFUSES = {
    "consistency-from-nothing": "tlog proves nothing about a tree of size zero",
}
"""Where Go's packages and ours differ, both within the specifications."""


def test_go_judges_the_vectors_as_we_do(build):
    """Notes, proofs, receipts and logs: an attack is refused by both, a control accepted by both."""
    files = {path.stem: json.loads(path.read_bytes()) for path in VECTORS.glob("*.json")}
    judged = {
        name: v for name, v in files.items() if v["check"] in {"note", "inclusion", "consistency", "receipt", "log"}
    }
    paths = [str(VECTORS / f"{name}.json") for name in judged]
    done = subprocess.run([build("vectors"), *paths], capture_output=True, text=True, check=True)
    answers = {Path(line.split()[0]).stem: line.split()[1].rstrip(":") for line in done.stdout.splitlines()}
    ours = {name: "refused" if vector["expect"]["findings"] else "accepted" for name, vector in judged.items()}
    ours |= dict.fromkeys(GO_LETS_PASS, "accepted") | dict.fromkeys(GO_REFUSES, "refused")
    assert answers == ours, done.stdout
    assert len(judged) > 50


def test_go_opens_a_cosigned_checkpoint_and_refuses_a_spoilt_one(build):
    """With a verifier of cosignatures that is not ours; the lines of keys that it does not know are passed over."""
    checker, name = build("cosignature"), "witness.example/w1"
    log, witness, stranger = (Signer.from_seed(letter * 32) for letter in (b"l", b"w", b"s"))
    head = Checkpoint(ORIGIN, 41, Digest.of(b"root"))

    def asked(note):
        words = [checker, str(VerifierKey(ORIGIN, log.public)), str(CosignerKey(name, witness.public))]
        return subprocess.run(words, input=note.format(), capture_output=True, check=False)

    bare = Note.parse(sign_checkpoint(head, log))
    assert asked(bare).stdout.decode() == f"{ORIGIN}\n"
    foreign = bare.signed_also(cosign(head, "witness.example/other", stranger, 1679315147))
    assert asked(foreign).stdout.decode() == f"{ORIGIN}\n"
    cosigned = foreign.signed_also(cosign(head, name, witness, 1679315147))
    assert asked(cosigned).stdout.decode() == f"{ORIGIN}\n{name} 1679315147\n"
    spoilt = bare.signed_also(cosign(Checkpoint(ORIGIN, 42, head.root), name, witness, 1679315147))
    refused = asked(spoilt)
    assert refused.returncode == 1
    assert b"invalid signature" in refused.stderr
