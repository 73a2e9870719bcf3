"""`rbl case`: freeze a real page into a case, verify it, publish it, pull it into a clone, reveal a retired kit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, document, mark, millionths, progress, show_record, table
from store.errors import Conflict, InputError

app = noun("Freeze a page into a case, verify, publish and pull it. Example: rbl case freeze site --id page")

Case = Annotated[str, typer.Argument(help="Id of the case.")]
BackendName = Annotated[str, typer.Option(help="docker, or native for diagnosis only.")]


@app.command()
def freeze(
    ctx: typer.Context,
    source: Annotated[
        Path | None, typer.Argument(help="Folder of the page: index.html, or a workspace that is built.")
    ] = None,
    case: Annotated[str | None, typer.Option("--id", help="Id of the case.")] = None,
    authored: Annotated[
        Path | None, typer.Option(help="Instead: a folder with case.toml, source/, and contract, kit, brief, starter.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="One line; the id if not given.")] = None,
    version: Annotated[int, typer.Option(min=1, help="Above the frozen one's, to freeze again.")] = 1,
    contract: Annotated[Path | None, typer.Option(help="contract.json; one page, two viewports otherwise.")] = None,
    kit: Annotated[Path | None, typer.Option(help="kit.toml; regions and assertions are read off otherwise.")] = None,
    brief: Annotated[Path | None, typer.Option(help="brief.md; written from the contract otherwise.")] = None,
    starter: Annotated[Path | None, typer.Option(help="Folder that a Candidate begins from.")] = None,
    lead: Annotated[str, typer.Option(help="Where the page was found.")] = "given by the author",
    origin: Annotated[str, typer.Option(help="The authoritative place of the page.")] = "a local folder",
    permission: Annotated[str, typer.Option(help="Licence or permission.")] = "not stated",
    backend: BackendName = "docker",
    as_json: AsJson = False,
) -> None:
    """Freeze a page: capture evidence, write brief, starter and contract, seal the kit.

    Example: rbl case freeze site --id page --permission MIT
    """
    from cases.source import Investigation
    from rbl.workspace import open_backend, open_folder
    from runners import curation
    from runners.judge import EvaluatorJudge, recipient

    folder = open_folder(settings(ctx).directory)
    if authored is not None:
        if source is not None or case is not None:
            raise InputError("--authored brings page and id itself", fix="leave out SOURCE and --id")
        frozen = curation.freeze_authored(
            folder, open_backend(folder, backend), EvaluatorJudge(folder), authored, recipient=recipient(folder)
        )
    elif source is None or case is None:
        raise InputError("say what to freeze", fix="give SOURCE and --id, or --authored DIR")
    else:
        frozen = curation.freeze(
            folder,
            open_backend(folder, backend),
            EvaluatorJudge(folder),
            source,
            case,
            recipient=recipient(folder),
            title=title or case,
            version=version,
            declared=curation.Declared(
                contract=contract,
                kit=kit,
                brief=brief,
                starter=starter,
                investigation=Investigation(lead=lead, origin=origin, permission=permission),
            ),
        )
    place = folder.cases / frozen.id
    if as_json:
        told = json.loads(frozen.format())
        del told["schema"]
        document("case-freeze", folder=str(place), **told)
    else:
        print(f"case {frozen.id} {frozen.version} frozen in {place}\n  package {frozen.package}")
        print(f"  kit sealed, commitment {frozen.commitment}\n  dimensions {', '.join(frozen.dimensions)}")
        print(f"  next: rbl case verify {frozen.id}")


@app.command()
def verify(
    ctx: typer.Context,
    case: Case,
    runs: Annotated[int, typer.Option(min=1, max=9, help="Of the oracle and of the noop, each.")] = 3,
    backend: BackendName = "docker",
    as_json: AsJson = False,
) -> None:
    """Run oracle and noop: exactly 1.000000 and 0.000000 each time, or refuse. Example: rbl case verify page"""
    from rbl.workspace import open_backend, open_folder
    from runners import curation
    from runners.judge import EvaluatorJudge

    options = settings(ctx)
    folder = open_folder(options.directory)
    progress(f"running oracle and noop {runs} times each", quiet=options.quiet)
    checks = curation.verify_case(folder, open_backend(folder, backend), EvaluatorJudge(folder), case, runs=runs)
    if as_json:
        rows = [{"agent": check.agent, "run": check.run, "score": check.score} for check in checks]
        document("case-verify", id=case, ok=True, checks=rows)
    else:
        for check in checks:
            print(f"{mark(good=True)} {check.agent} {check.run}: {millionths(check.score)}")


@app.command()
def publish(ctx: typer.Context, case: Case, as_json: AsJson = False) -> None:
    """Append the records of a frozen and verified case and its source; write what Git and `dvc pull` carry of it.

    Example: rbl case publish page
    """
    from rbl.workspace import open_folder
    from runners.publishing import publish_case

    folder = open_folder(settings(ctx).directory)
    record = publish_case(folder, case)
    if as_json:
        document("case-publish", id=case, version=record.body.version, record=str(record.digest), index=record.index)
    else:
        print(f"case {case} {record.body.version}: record {record.index} {record.digest}")
        progress("next: commit it to Git, and rbl store push where there is a remote", quiet=settings(ctx).quiet)


@app.command()
def pull(
    ctx: typer.Context,
    cases: Annotated[list[str] | None, typer.Argument(help="Ids of cases; all that were published if none.")] = None,
    remote: Annotated[str | None, typer.Option(help="Name of DVC's remote; its default otherwise.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Run `dvc pull` where files are missing.")] = True,
    pin: Annotated[str | None, typer.Option(help="Digest of trust root 1, known from elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bring a case's evidence into a clone, check every byte against the signed record, restore links and modes.

    Example: git clone … && rbl -C bench case pull page --pin sha256:…
    """
    from rbl.evidence import pull_cases
    from rbl.workspace import open_folder
    from store.digest import Digest

    options = settings(ctx)
    folder = open_folder(options.directory)
    found = pull_cases(
        folder,
        cases or [],
        remote=remote,
        fetch=fetch,
        pin=None if pin is None else Digest.parse(pin),
        quiet=options.quiet,
    )
    good = not any(item.faults for item in found.cases)
    if as_json:
        rows = [
            {
                "id": item.record.body.id,
                "version": item.record.body.version,
                "record": str(item.record.digest),
                "ok": not item.faults,
                "files": item.files,
                "size": item.size,
                "restored": list(item.restored),
                "faults": [{"path": fault.path, "what": fault.what} for fault in item.faults],
            }
            for item in found.cases
        ]
        document("case-pull", ok=good, trust_root=str(found.trust_root), pinned=found.pinned, cases=rows)
    else:
        whose = "the pinned one" if found.pinned else "the folder's own: nothing is pinned"
        print(f"trust root 1 is {whose}: {found.trust_root}")
        for item in found.cases:
            told = f"{item.files} files, {item.size} bytes, {len(item.restored)} restored"
            print(f"{mark(not item.faults)} {item.record.body.id} {item.record.body.version}: {told}")
            for fault in item.faults:
                print(f"  {fault.what:<8} cases/{item.record.body.id}/{fault.path}")
    if not good:
        progress(
            "not what was signed; do: remove .dvc/cache and the case's evidence/, pull from another --remote, "
            "and tell the keeper of this one",
        )
        raise typer.Exit(1)


@app.command()
def reveal(
    ctx: typer.Context,
    case: Annotated[str, typer.Argument(help="Id of the case, the newest version, or id@version.")],
    detail: Annotated[str, typer.Option(help="Why it is retired.")],
    author: Annotated[str, typer.Option(help="Who says so.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Although scheduled attempts on it were not made.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Open the kit and say what would be revealed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish the kit of a retired case in clear, so that anyone can grade again. There is no way back.

    No formal attempt on it can be opened afterwards. Example: rbl case reveal page --detail "2026 is over" --author kim
    """
    from rbl.reveal import Retired
    from rbl.reveal import reveal as publish_kit
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    found = Retired.of(folder, case)
    body = found.case.body
    if found.waiting and not (anyway or dry_run):
        what = f"{found.waiting} scheduled attempts on {body.id}@{body.version} were not made, and then never can be"
        raise Conflict(what, fix="rbl attempt run, or say --anyway")
    record = None if dry_run else publish_kit(folder, found, detail=detail, author=author)
    if as_json:
        document(
            "case-reveal",
            id=body.id,
            version=body.version,
            kit=str(body.sealed.commitment),
            size=len(found.kit),
            waiting=found.waiting,
            record=None if record is None else str(record.digest),
            index=None if record is None else record.index,
        )
    elif record is None:
        print(f"would reveal {body.id}@{body.version}: {body.sealed.commitment}, {len(found.kit)} bytes")
        print(f"  {found.waiting} scheduled attempts on it were not made, and then never can be")
    else:
        print(f"revealed: {body.id}@{body.version}, record {record.index}\n  kit {record.body.kit}")
        progress("next: rbl store push, or rbl store export; then anyone can regrade", quiet=settings(ctx).quiet)


@app.command("list")
def list_cases(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List published cases. Example: rbl case list"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    records = Ledger.open(open_folder(settings(ctx).directory)).of(kinds.Case)
    if as_json:
        rows = [
            {"id": r.body.id, "version": r.body.version, "track": r.body.track, "record": str(r.digest)}
            for r in records
        ]
        document("case-list", cases=rows)
    else:
        table(
            ("case", "version", "track", "title", "record"),
            [(r.body.id, r.body.version, r.body.track, r.body.title, r.digest) for r in records],
        )


@app.command()
def show(ctx: typer.Context, case: Case, _json: AlwaysJson = True) -> None:
    """Print a published case as JSON. Example: rbl case show page"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    show_record("case", Ledger.open(open_folder(settings(ctx).directory)).case(case))
