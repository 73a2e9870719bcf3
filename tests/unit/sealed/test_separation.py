"""Separation is achieved where the machine allows it, and never claimed where it does not."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
from sealed import separation
separation.USER = sys.argv[1]
root = Path(sys.argv[2])
places = separation.Places(root / "key", root / "identity", root / "objects", root / "outbox")
print(separation.separate(places), os.geteuid(), os.getegid(), os.getgroups())
try:
    os.seteuid(0)
    print("root again")
except PermissionError:
    print("for good")
(root / "outbox" / "record").write_text("written")
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def root():
    with tempfile.TemporaryDirectory(prefix="rbl-separation-") as name:
        path = Path(name)
        path.chmod(0o755)
        for folder in ("objects", "outbox"):
            (path / folder).mkdir()
        for file in ("key", "identity"):
            (path / file).write_text("secret")
            (path / file).chmod(0o600)
        yield path


def separate(user, root):
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, user, str(root)], capture_output=True, check=True, text=True
    )
    return done.stdout.splitlines()


def test_without_such_a_user_it_is_a_process(root):
    assert separate("rbl-nobody-of-that-name", root)[0].startswith("process ")


def test_started_as_that_user_it_is_a_user(root):
    assert separate(pwd.getpwuid(os.geteuid()).pw_name, root)[0].startswith("user ")


@needs_root
def test_root_becomes_the_evaluator_for_good(root):
    account = pwd.getpwnam("nobody")
    for file in ("key", "identity"):
        os.chown(root / file, account.pw_uid, account.pw_gid)
    assert separate("nobody", root) == [f"user {account.pw_uid} {account.pw_gid} []", "for good"]
    assert (root / "outbox" / "record").stat().st_uid == account.pw_uid


@needs_root
def test_a_key_that_the_user_cannot_read_leaves_it_a_process(root):
    assert separate("nobody", root)[0].startswith("process 0 ")
