"""Go's note package opens our cosigned checkpoints, with a verifier of cosignatures that is not ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.note import Note, VerifierKey
from ledger.records.keys import Signer
from store.digest import Digest
from tests.integration.golang import build

ORIGIN, NAME = "example.org/bench", "witness.example/w1"
LOG, WITNESS = Signer.from_seed(b"l" * 32), Signer.from_seed(b"w" * 32)
HEAD = Checkpoint(ORIGIN, 41, Digest.of(b"root"))


@pytest.fixture(scope="module")
def checker(tmp_path_factory):
    return build(Path(__file__).parent / "go" / "cosignature" / "main.go", tmp_path_factory.mktemp("go"))


def asked(checker, note):
    words = [checker, str(VerifierKey(ORIGIN, LOG.public)), str(CosignerKey(NAME, WITNESS.public))]
    return subprocess.run(words, input=note.format(), capture_output=True, check=False)


def test_go_opens_a_cosigned_checkpoint_and_refuses_a_spoilt_one(checker):
    bare = Note.parse(sign_checkpoint(HEAD, LOG))
    assert asked(checker, bare).stdout.decode() == f"{ORIGIN}\n"
    cosigned = bare.signed_also(cosign(HEAD, NAME, WITNESS, 1679315147))
    assert asked(checker, cosigned).stdout.decode() == f"{ORIGIN}\n{NAME} 1679315147\n"
    other = bare.signed_also(cosign(Checkpoint(ORIGIN, 42, HEAD.root), NAME, WITNESS, 1679315147))
    refused = asked(checker, other)
    assert refused.returncode == 1
    assert b"invalid signature" in refused.stderr
