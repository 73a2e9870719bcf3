"""`rbl key`: make and list signing keys."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.records.kinds import Role
from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, table

app = noun("Make and list signing keys. They stand outside the benchmark folder. Example: rbl key list")


@app.command("list")
def list_keys(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the keys at hand for this folder's ledger. Example: rbl key list"""
    from rbl.workspace import open_folder

    ring = open_folder(settings(ctx).directory).keys
    rows = [(role, ring.signer(role).keyid, str(ring.path(role))) for role in ring.list()]
    if as_json:
        document("key-list", keys=[{"role": role, "keyid": keyid, "path": path} for role, keyid, path in rows])
    else:
        table(("role", "key id", "file"), rows)


@app.command()
def new(
    ctx: typer.Context,
    role: Annotated[Role, typer.Argument(help="The role it is for.")],
    following: Annotated[
        bool, typer.Option("--next", help="The key that is to follow the one in use, which goes on signing until then.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a key. It signs nothing that counts until a trust root lists it. Example: rbl key new witness"""
    from ledger.records.rotation import next_ring
    from rbl.workspace import open_folder

    ring = open_folder(settings(ctx).directory).keys
    if following:
        ring = next_ring(ring, role)
    signer = ring.create(role)
    if as_json:
        document("key-new", role=role, keyid=signer.keyid, public=signer.public_text, path=str(ring.path(role)))
    else:
        print(f"{role}: {ring.path(role)}\n  key id {signer.keyid}\n  public {signer.public_text}")
