"""`rbl release`: cut a release and verify it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, mark

app = noun("Cut a release and verify it. Example: rbl release freeze first --schedule all")

Name = Annotated[str, typer.Argument(help="Name of the release.")]


@app.command()
def freeze(
    ctx: typer.Context,
    name: Name,
    schedule: Annotated[str, typer.Option(help="Name of the schedule whose attempts it holds.")],
    as_json: AsJson = False,
) -> None:
    """Freeze a release: results, leaves, root, record, proofs. Example: rbl release freeze first --schedule all"""
    from ledger.release.freeze import freeze as cut
    from ledger.release.freeze import summary
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    found = summary(folder, cut(folder, name, schedule))
    if as_json:
        document("release-freeze", **found)
    else:
        print(f"release {name}: {found['attempts']} attempts, {found['ranked']} entries ranked\n  digest {found['digest']}")


@app.command()
def verify(
    ctx: typer.Context,
    name: Name,
    digest: Annotated[str | None, typer.Option(help="The release digest you were given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a release in eight steps; exit code 1 and a named finding if anything differs.

    Example: rbl release verify first --digest sha256:…
    """
    from ledger.release.verify import verify as check
    from rbl.workspace import open_folder
    from store.digest import Digest

    found = check(
        open_folder(settings(ctx).directory), name, expect=None if digest is None else Digest.parse(digest)
    )
    if as_json:
        document("release-verify", **found.to_json())
    else:
        for step in found.steps:
            print(f"{mark(step.ok)} {step.name:<12} {step.detail}")
        for finding in found.findings:
            print(f"  {finding.rule}: {finding.record}: {finding.consequence}")
        print(f"{'verified' if found.ok else 'NOT verified'}: {name} {found.digest}")
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def show(ctx: typer.Context, name: Name) -> None:
    """Print a release's record as JSON. Example: rbl release show first"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    record = Ledger.open(open_folder(settings(ctx).directory)).release(name)
    print(json.dumps({"record": str(record.digest), "index": record.index, **kinds.to_json(record.body)}, indent=2))
