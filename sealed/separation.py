"""How far the evaluator is kept apart from whoever started it: as a process, or as an operating-system user of its own.

    separate(Places(key, identity, objects, outbox))     # "user" as root where there is rbl-evaluator, else "process"

Started as root, the process gives up root for good and becomes `rbl-evaluator`, provided that this user can read its
key and the objects; the outbox is handed over first. What was achieved is recorded in the verdict, never assumed.
Nothing is created here: the user and its key come from the operator.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.records.kinds import Separation

__all__ = ["USER", "Places", "separate"]

USER: Final = "rbl-evaluator"
"""The operating-system user of the evaluator."""


@dataclass(frozen=True, slots=True)
class Places:
    """What the evaluator must reach.

    Attributes:
        key: its signing key.
        identity: its age identity.
        objects: the object store, read only.
        outbox: where the verdict is left; None when none is.
    """

    key: Path
    identity: Path
    objects: Path
    outbox: Path | None


def separate(places: Places) -> Separation:
    """Become the evaluator's user where that is possible, and say what was achieved."""
    try:
        account = pwd.getpwnam(USER)
    except KeyError:
        return "process"
    if os.geteuid() == account.pw_uid:
        return "user"
    if os.geteuid() != 0 or not _can_read(account, places):
        return "process"
    if places.outbox is not None:
        for path in (places.outbox, *places.outbox.rglob("*")):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    # what this user keeps is kept in its own home, not in root's
    os.environ["HOME"] = account.pw_dir
    os.environ.pop("XDG_CACHE_HOME", None)
    return "user"


def _can_read(account: pwd.struct_passwd, places: Places) -> bool:
    """Whether the user reaches what it must, asked as that user."""
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(account.pw_gid)
    os.seteuid(account.pw_uid)
    try:
        readable = [os.access(path, os.R_OK, effective_ids=True) for path in (places.key, places.identity)]
        return all(readable) and os.access(places.objects, os.R_OK | os.X_OK, effective_ids=True)
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
