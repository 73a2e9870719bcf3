"""The one error tree of `rbl`, each branch with the exit code that the command line gives.

    RblError                      what, where, fix
    ├── CheckFailed          1    a check found something wrong
    │   ├── ObjectMissing         a digest is referred to, its bytes are not here
    │   ├── ObjectCorrupt         bytes do not hash to their name
    │   └── RuleBroken            a named rule (`rule`)
    │       ├── RecordRejected    a record breaks a rule of admission
    │       └── LogInvalid        a checkpoint, tile or proof does not verify
    ├── InputError           2    bad usage or bad input
    │   ├── CanonicalError        JSON outside the canonical subset
    │   ├── TreeError             a directory that a tree may not hold (`rule`)
    │   └── SchemaError           a document does not match its schema
    ├── Unavailable          3    something that the machine lacks
    ├── HarnessError         4    the harness failed, not the Candidate
    └── Conflict             5    busy, or already there

Every error says what is wrong, where (file, line, record or digest), and what to do about it. Only these leave a
public function of this project on bad input; anything else is a defect.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CanonicalError",
    "CheckFailed",
    "Conflict",
    "HarnessError",
    "InputError",
    "LogInvalid",
    "ObjectCorrupt",
    "ObjectMissing",
    "RblError",
    "RecordRejected",
    "RuleBroken",
    "SchemaError",
    "TreeError",
    "Unavailable",
]


class RblError(Exception):
    """Root of the tree.

    Args:
        what: one sentence that says what is wrong.
        where: the file, line, record or digest it is about; empty when there is no place.
        fix: what the reader can do; empty when nothing can be done.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f": {self.fix}" if self.fix else ""
        return f"{self.what}{place}{advice}"


class CheckFailed(RblError):  # noqa: N818 — the tree speaks of what happened, not of errors
    """A check found something wrong."""

    exit_code = 1


class ObjectMissing(CheckFailed):
    """A digest is referred to, and the store does not hold its bytes."""


class ObjectCorrupt(CheckFailed):
    """Stored bytes do not hash to the name they are stored under."""


class RuleBroken(CheckFailed):
    """A check with a stable rule name, so that vectors and machines can tell failures apart."""

    def __init__(self, rule: str, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.rule}: {super().__str__()}"


class RecordRejected(RuleBroken):
    """A record breaks a rule of admission."""


class LogInvalid(RuleBroken):
    """A checkpoint, tile, bundle or proof does not verify."""


class InputError(RblError):
    """Bad usage or bad input."""

    exit_code = 2


class CanonicalError(InputError):
    """JSON outside the canonical subset."""


class TreeError(InputError):
    """A directory, archive or listing that a tree may not hold.

    Args:
        what: one sentence that says what is wrong.
        rule: the stable name of the broken rule. `path`, `duplicate`, `link`, `device`, `setuid`, `truncated`,
            `format`, `limit-entries`, `limit-bytes`, `limit-file`; `changed` and `size` where bytes are not what was
            promised.
        where: the path inside the tree, or the file read.
        fix: what the reader can do.
    """

    def __init__(self, what: str, *, rule: str = "path", where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self.rule = rule


class SchemaError(InputError):
    """A document does not match its schema."""


class Unavailable(RblError):  # noqa: N818
    """Something that the machine lacks; `fix` is the command that brings it."""

    exit_code = 3


class HarnessError(RblError):
    """The harness failed, on harness-side evidence; never the Candidate's doing."""

    exit_code = 4


class Conflict(RblError):  # noqa: N818
    """Busy, or already there."""

    exit_code = 5
