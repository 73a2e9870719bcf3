"""Brings the evidence of published cases into a clone, by DVC, and believes it once it was checked.

    pull_cases(folder, ["bindery"], remote="web")
    # dvc pull --remote web cases/bindery/evidence.dvc     where a file is missing
    # every file against the signed tree, then links, modes, empty directories (cases.published)

`dvc` runs as a process of its own, without its analytics. What it says goes to standard error.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from cases.published import DVC_FILE, Pulled, carried_cases, check_pulled, lacks_files, published
from ledger.carried import pin_or_own
from ledger.folder import Folder
from store.digest import Digest
from store.errors import HarnessError, InputError, Unavailable

__all__ = ["Pull", "dvc_pull", "pull_cases"]


@dataclass(frozen=True, slots=True)
class Pull:
    """What was pulled.

    Attributes:
        trust_root: digest of the first trust root that the records rest on.
        pinned: whether it was known from elsewhere than the folder.
        cases: each case.
    """

    trust_root: Digest
    pinned: bool
    cases: tuple[Pulled, ...]


def pull_cases(
    folder: Folder,
    cases: Sequence[str],
    *,
    remote: str | None = None,
    fetch: bool = True,
    pin: Digest | None = None,
    quiet: bool = False,
) -> Pull:
    """Fetch, check and complete cases in a benchmark folder, of which a clone will do.

    Args:
        folder: the benchmark folder.
        cases: ids; all that were published into it if empty.
        remote: name of DVC's remote; its default otherwise.
        fetch: whether to run `dvc pull` where files are missing.
        pin: digest of trust root 1; null believes what this machine has pinned, or else the folder's own.
        quiet: no progress.

    Raises:
        InputError: no such case, or none at all.
        CheckFailed: a record, or a listing, does not verify. Files that do not are in the answer.
        Unavailable: dvc is needed and not installed.
        HarnessError: dvc failed.
    """
    wanted = list(cases) or carried_cases(folder)
    if not wanted:
        raise InputError(
            "no case was published into this folder",
            where=str(folder.cases),
            fix="rbl case publish ID where the case was frozen, and commit what it writes",
        )
    trust_root, pinned = pin_or_own(folder, pin)
    known = [published(folder, case, trust_root) for case in wanted]
    lacking = [case for case, (_, tree) in zip(wanted, known, strict=True) if lacks_files(folder, case, tree)]
    if lacking and fetch:
        dvc_pull(folder, [f"cases/{case}/{DVC_FILE}" for case in lacking], remote, quiet=quiet)
    return Pull(trust_root, pinned, tuple(check_pulled(folder, record, tree) for record, tree in known))


def dvc_pull(folder: Folder, targets: Sequence[str], remote: str | None, *, quiet: bool = False) -> None:
    """Run `dvc pull`.

    Raises:
        Unavailable: dvc is not installed.
        HarnessError: it failed; what it said is on standard error.
    """
    if importlib.util.find_spec("dvc") is None:
        raise Unavailable("dvc is not installed", fix="pip install dvc; or dvc-s3 for a remote in S3")
    words = [sys.executable, "-P", "-m", "dvc", "pull", *(["--quiet"] if quiet else [])]
    words += [] if remote is None else ["--remote", remote]
    environment = os.environ | {"DVC_NO_ANALYTICS": "1"}
    done = subprocess.run([*words, *targets], cwd=folder.root, env=environment, stdout=sys.stderr, check=False)
    if done.returncode:
        raise HarnessError(
            f"`dvc pull` ended with exit code {done.returncode}, as it says above",
            where=str(folder.root / ".dvc" / "config"),
            fix="name another remote with --remote, or check this one's address and keys: dvc remote list",
        )
