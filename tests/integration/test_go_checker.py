"""Go's own note and tlog packages open our checkpoints and verify our proofs."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.log import LogReader, read_folder
from ledger.log.note import VerifierKey
from ledger.log.writer import LogWriter
from ledger.records.keys import Signer
from store.digest import Digest
from tests.integration.golang import build

ORIGIN = "example.org/bench"
SIZES = (1, 2, 3, 255, 256, 257, 65_536, 65_537, 70_000)


@pytest.fixture(scope="module")
def checker(tmp_path_factory):
    """The checker, built offline from what the Go distribution vendors."""
    return build(Path(__file__).parent / "go" / "main.go", tmp_path_factory.mktemp("go"))


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
