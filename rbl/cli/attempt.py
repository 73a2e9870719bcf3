"""`rbl attempt`: run attempts, list, show, trace, regrade, withdraw and recover them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, mark, millionths, progress, table

if TYPE_CHECKING:
    from ledger.folder import Folder
    from ledger.lookup import Lookup

app = noun("Make attempts and follow them. Example: rbl attempt run --schedule s1 -j 2")

REASONS = "digest-mismatch, leak, wrong-conditions, operator-error, case-defect, author-request or other."
Attempt = Annotated[str, typer.Argument(help="Id of an attempt, or enough of its beginning or end.")]


@app.command()
def run(
    ctx: typer.Context,
    schedule: Annotated[str | None, typer.Option(help="Name of a frozen schedule: formal attempts.")] = None,
    entry: Annotated[str | None, typer.Option(help="Only this entry.")] = None,
    case: Annotated[str | None, typer.Option(help="Only this case.")] = None,
    repeats: Annotated[int, typer.Option(min=1, max=99, help="Without a schedule: how many diagnostic attempts.")] = 1,
    workers: Annotated[int, typer.Option("-j", min=1, max=64, help="Attempts at once.")] = 1,
    backend: Annotated[str, typer.Option(help="docker, or native for diagnosis only.")] = "docker",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run; run nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Work off a schedule, or try one entry on one case.

    With --schedule, makes every attempt that the schedule promises and the ledger does not have, so that running it
    again continues. Without it, --entry and --case make diagnostic attempts, which never count.

    Ends 0 when every attempt has a complete record, whatever its outcome, and 4 when the last try of any ended as
    harness-failure. Example: rbl attempt run --schedule s1 -j 2
    """
    from rbl.runs import plan_run, run_all
    from rbl.workspace import open_backend, open_folder

    options = settings(ctx)
    folder = open_folder(options.directory)
    room = open_backend(folder, backend)
    planned = plan_run(folder, room, schedule=schedule, entry=entry, case=case, repeats=repeats)
    if dry_run:
        head = ("case", "entry", "repeat", "try", "purpose")
        due = [(s.case.body.id, s.entry.body.id, s.repeat, s.number, s.purpose) for s in planned.slots]
        if as_json:
            document("attempt-plan", attempts=[dict(zip(head, row, strict=True)) for row in due])
        else:
            table(head, due)
        return
    if backend == "native":
        progress("native backend: diagnosis only, nothing of it can enter a release", quiet=options.quiet)

    def say(text: str) -> None:
        progress(text, quiet=options.quiet)

    def watch(attempt: str, step: str) -> None:
        if options.verbose:
            say(f"{attempt}  {step}")

    rows = run_all(folder, room, planned, workers=workers, say=say, watch=watch)
    if as_json:
        document("attempt-run", attempts=rows)
    else:
        _print_attempts(rows)
    if planned.exhausted(rows):
        raise typer.Exit(4)


def _lookup(ctx: typer.Context) -> tuple[Folder, Lookup]:
    """The folder that was named, and a view of its log that reads what it is asked for."""
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    folder = open_folder(options.directory)
    return folder, open_lookup(folder, lambda text: progress(text, quiet=options.quiet))


@app.command("list")
def list_attempts(
    ctx: typer.Context,
    entry: Annotated[str | None, typer.Option(help="Only this entry.")] = None,
    case: Annotated[str | None, typer.Option(help="Only this case.")] = None,
    as_json: AsJson = False,
) -> None:
    """List attempts in the order they were opened. Example: rbl attempt list --case resume"""
    from rbl.runs import row

    rows = [row(records) for records in _lookup(ctx)[1].attempts(entry, case)]
    if as_json:
        document("attempt-list", attempts=rows)
    else:
        _print_attempts(rows)


@app.command()
def show(ctx: typer.Context, attempt: Attempt, as_json: AsJson = False) -> None:
    """Show one attempt: outcome, dimensions, artifacts, records. Example: rbl attempt show 20261130T23"""
    from rbl.runs import details

    found = details(_lookup(ctx)[1].attempt(attempt))
    if as_json:
        document("attempt", **found)
        return
    print(
        f"{found['id']}\n  {found['outcome'] or 'open'} ({found['reason'] or '–'}), score {millionths(found['score'])}"
    )
    if found["detail"]:
        print(f"  {found['detail']}")
    for name, tally in found["dimensions"].items():
        print(f"  {name:<16} {millionths(tally['score'])}  {tally['passed']} of {tally['total']} checkpoints")
    for item in found["artifacts"]:
        print(f"  {item['class']:<12} {item['name']:<16} {item['digest']}  {item['size']} bytes")
    for item in found["records"]:
        print(f"  record {item['index']:>5} {item['kind']:<16} {item['digest']}")


@app.command()
def trace(ctx: typer.Context, attempt: Attempt, as_json: AsJson = False) -> None:
    """Follow one attempt from its source to the releases that count it or not. Example: rbl attempt trace 9f03ab12"""
    from ledger.release.trace import trace as follow

    folder, ledger = _lookup(ctx)
    found = follow(ledger, folder.store, attempt)
    if as_json:
        document("attempt-trace", lines=[_line(depth, line) for depth, line in found.walk()])
        return
    for depth, line in found.walk():
        place = "" if line.index is None else f"  record {line.index}"
        digest = "" if line.digest is None else f"  {line.digest.short}"
        print(f"{'  ' * depth}{mark(line.ok)} {line.text}{place}{digest}  {line.signer}".rstrip())


@app.command()
def regrade(ctx: typer.Context, attempt: Attempt, as_json: AsJson = False) -> None:
    """Grade the logged captures again: the same bytes, or a finding. Example: rbl attempt regrade 20261130T23"""
    from rbl.runs import regrade as grade_again
    from rbl.workspace import open_folder

    found = grade_again(open_folder(settings(ctx).directory), attempt)
    if as_json:
        document("attempt-regrade", **found)
    else:
        print(f"{mark(found['same'])} {found['id']}: recorded {found['recorded']}, computed {found['computed']}")
        if found["evaluator"] != found["recorded_evaluator"]:
            print(f"  by another evaluator: {found['evaluator']}, recorded {found['recorded_evaluator']}")
    if not found["same"]:
        raise typer.Exit(1)


@app.command()
def withdraw(
    ctx: typer.Context,
    attempt: Attempt,
    reason: Annotated[
        str,
        typer.Option(help=REASONS),
    ],
    detail: Annotated[str, typer.Option(help="What happened, for the reviewer.")],
    author: Annotated[str, typer.Option(help="Who says so.")],
    expected: Annotated[str | None, typer.Option(help="For digest-mismatch: the expected digest.")] = None,
    observed: Annotated[str | None, typer.Option(help="For digest-mismatch: the observed digest.")] = None,
    reinstate: Annotated[bool, typer.Option("--reinstate", help="Lift the standing withdrawal.")] = False,
    as_json: AsJson = False,
) -> None:
    """Append a withdrawal of an attempt; its bytes stay, old releases still verify.

    Example: rbl attempt withdraw 20261130T23 --reason leak --detail "key in the transcript" --author kim
    """
    from ledger.declarations import withdraw_attempt
    from rbl.workspace import open_folder
    from store.digest import Digest

    record = withdraw_attempt(
        open_folder(settings(ctx).directory),
        attempt,
        reason=reason,
        detail=detail,
        author=author,
        expected=None if expected is None else Digest.parse(expected),
        observed=None if observed is None else Digest.parse(observed),
        reinstate=reinstate,
    )
    if as_json:
        document("attempt-withdraw", id=record.body.target.id, record=str(record.digest), index=record.index)
    else:
        print(f"{'reinstated' if reinstate else 'withdrawn'}: {record.body.target.id}, record {record.index}")


@app.command()
def recover(
    ctx: typer.Context,
    backend: Annotated[str, typer.Option(help="docker or native.")] = "docker",
    as_json: AsJson = False,
) -> None:
    """Close what a dead harness left open and remove its leftovers. Example: rbl attempt recover"""
    from rbl.workspace import open_backend, open_folder
    from runners.recovery import recover as close_open

    folder = open_folder(settings(ctx).directory)
    found, removed = close_open(folder, open_backend(folder, backend))
    rows = [{"id": r.attempt, "outcome": r.outcome, "reason": r.reason, "last_step": r.last_step} for r in found]
    if as_json:
        document("attempt-recover", attempts=rows, removed=removed)
        return
    for item in rows:
        print(f"{item['id']}: {item['outcome']} ({item['reason']}), had done {item['last_step']}")
    print(f"{len(rows)} attempts closed, {len(removed)} leftovers removed")


def _seconds(row: dict[str, Any]) -> object:
    return "–" if row["seconds"] is None else row["seconds"]


def _line(depth: int, line: Any) -> dict[str, Any]:
    digest = None if line.digest is None else str(line.digest)
    return {
        "depth": depth,
        "text": line.text,
        "ok": line.ok,
        "index": line.index,
        "digest": digest,
        "signer": line.signer,
    }


def _print_attempts(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print("no attempts")
        return
    table(
        ("attempt", "purpose", "outcome", "reason", "score", "seconds"),
        [
            (
                r["id"],
                r["purpose"],
                r["outcome"] or "open",
                r["reason"] or "–",
                millionths(r["score"]),
                _seconds(r),
            )
            for r in rows
        ],
    )
