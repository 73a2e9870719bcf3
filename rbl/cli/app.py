"""The root of the command line: options for every verb, lazily loaded nouns, and how errors leave the process.

    rbl -C demo ledger status --json

Each noun is a module of this package with an `app`; it is imported only when it is named, and a verb imports what it
uses inside its function: `rbl --help` costs no more than the parser, and a verb no more than its own work. An error of
`store.errors` is printed as what, where and what to do, and ends the process with the exit code of its class; so is
what the operating system refuses, and a defect of ours. A traceback appears only with `--debug`.
"""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import typer.core
import typer.main

from store import disk
from store.errors import HarnessError, InputError, RblError

__all__ = ["INTERRUPTED", "NOUNS", "Settings", "noun", "run", "settings", "single"]

INTERRUPTED: Final = 130
"""The exit code after ^C, as shells have it."""

NOUNS: Final = {
    "init": "Make a benchmark folder: configuration, keys, trust root, empty log.",
    "doctor": "Say what this machine can do: formal attempts, re-render only, or verify only.",
    "demo": "Run the whole loop on a bundled case, from an empty folder to a verified release.",
    "key": "Make and list signing keys.",
    "trust": "Show and change which keys hold which role.",
    "store": "Put, get, check, pin and remove objects; push and fetch them.",
    "ledger": "Read and verify the log of records.",
    "image": "Build and list the sandbox image.",
    "case": "Freeze a real page into a case, verify, publish, and pull it.",
    "split": "Freeze a list of case versions.",
    "protocol": "Freeze the rules of a run.",
    "entry": "Freeze what is ranked.",
    "schedule": "Freeze the attempts that will be made.",
    "attempt": "Run attempts, list, show, trace, withdraw and recover them.",
    "release": "Cut a release and verify it.",
    "report": "Print a release's results as Markdown, table, CSV or JSON.",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that stand before the noun."""

    directory: Path
    debug: bool
    quiet: bool
    verbose: bool


class _Nouns(typer.core.TyperGroup):
    """A group whose members are imported when they are named."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the parser's signature
        return list(NOUNS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the parser's signature
        if cmd_name not in NOUNS:
            return None
        return typer.main.get_command(import_module(f"rbl.cli.{cmd_name}").app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the parser's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(NOUNS.items()))


app = typer.Typer(
    cls=_Nouns,
    name="rbl",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 a check found something wrong, 2 bad input, 3 something is missing here, "
    "4 harness failure, 5 busy or conflict.",
)


def noun(help_text: str) -> typer.Typer:
    """The application of a noun with verbs."""
    app = single(help_text)

    @app.callback()
    def verbs() -> None:
        """A callback keeps a noun with one verb a noun."""

    verbs.__doc__ = help_text
    return app


def single(help_text: str) -> typer.Typer:
    """The application of a noun that is its own verb."""
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"rbl {metadata.version('reconbench-ledger')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    directory: Annotated[
        Path, typer.Option("-C", help="Work on the benchmark folder DIR, or on the one above it.")
    ] = Path(),
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress on standard error.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="More on standard error.")] = False,
    _version_: Annotated[  # noqa: ARG001 - its callback has the word
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """rbl, the ReconBench ledger: coding-agent benchmark results that anyone can check.

    Example: rbl demo /tmp/demo && rbl -C /tmp/demo release verify demo
    """
    if not directory.exists():
        raise InputError("there is no such folder", where=str(directory), fix="name another with -C")
    ctx.obj = Settings(directory, debug, quiet, verbose)


def settings(ctx: typer.Context) -> Settings:
    """The root options of this invocation."""
    found = ctx.find_object(Settings)
    assert found is not None
    return found


def run(argv: list[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: the words after `rbl`; those of this process if null.

    Returns:
        The exit code.
    """
    words = sys.argv[1:] if argv is None else argv
    debug = "--debug" in words
    try:
        code = app(words, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        _silence()
        return 1
    except Exception as error:  # noqa: BLE001 - the edge of the process: a defect is said in one line
        if _is_usage(error):
            error.show()  # type: ignore[attr-defined]  # a usage error of the parser
            return InputError.exit_code
        if debug:
            traceback.print_exc()
        return _complain(_said(error))
    if code == INTERRUPTED:  # which the parser makes of ^C
        print("interrupted; `rbl attempt recover` closes what was left open", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _is_usage(error: Exception) -> bool:
    return hasattr(error, "show") and hasattr(error, "exit_code")


def _silence() -> None:
    """What is still to be written to standard output has nowhere to go; without this, leaving would say so again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _said(error: Exception) -> RblError:
    """An exception as an error of this project."""
    if isinstance(error, RblError):
        return error
    if isinstance(error, OSError):
        _silence()
        return disk.fault("the system refused", error.filename or "standard output", error)
    fix = "run it again with --debug and report what it prints"
    return HarnessError(f"a defect of rbl: {type(error).__name__}: {error}", fix=fix)


def _complain(error: RblError) -> int:
    rule = getattr(error, "rule", "")
    print(f"error: {rule + ': ' if rule else ''}{error.what}", file=sys.stderr)
    if error.where:
        print(f"  where: {error.where}", file=sys.stderr)
    if error.fix:
        print(f"  do: {error.fix}", file=sys.stderr)
    return error.exit_code
