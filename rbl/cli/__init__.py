"""The command line: `rbl`. One module a noun; each function parses, calls one function, prints."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run `rbl` and end the process with its exit code."""
    from rbl.cli.app import run

    raise SystemExit(run())
