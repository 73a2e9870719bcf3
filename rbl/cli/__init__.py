"""The command line: `rbl`. One module a noun; each function parses, calls one function, prints."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run `rbl` and end the process with its exit code."""
    import os
    import sys

    from rbl.cli.app import INTERRUPTED, run

    code = run()
    if code == INTERRUPTED:  # threads that still make attempts would be waited for; a dead harness is recovered from
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)
