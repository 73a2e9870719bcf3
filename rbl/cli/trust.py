"""`rbl trust`: show which keys hold which role, and say which first trust root to believe."""

from __future__ import annotations

from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, table

app = noun("Show which keys hold which role. Example: rbl trust show")


@app.command()
def show(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the trust root in force. Example: rbl trust show"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    record = Ledger.open(open_folder(settings(ctx).directory)).of(kinds.TrustRoot)[-1]
    if as_json:
        document("trust", record=str(record.digest), index=record.index, **kinds.to_json(record.body))
        return
    print(f"trust root {record.body.version}, record {record.index} {record.digest}")
    rows = [
        (role, grant.threshold, keyid, ", ".join(grant.kinds) or "–")
        for role, grant in sorted(record.body.roles.items())
        for keyid in grant.keys
    ]
    table(("role", "threshold", "key id", "kinds"), rows)


@app.command()
def update(
    ctx: typer.Context,
    pin: Annotated[str, typer.Option(help="Digest of trust root 1, known from elsewhere.")],
    as_json: AsJson = False,
) -> None:
    """Believe a first trust root on this machine from now on, if it is the folder's.

    Example: rbl trust update --pin sha256:…
    """
    from ledger.log.authority import pin_trust, trust_chain
    from rbl.workspace import open_folder
    from store.digest import Digest

    folder = open_folder(settings(ctx).directory)
    digest = Digest.parse(pin)
    roots = trust_chain(folder, digest)
    pin_trust(folder, digest)
    if as_json:
        document("trust-update", origin=folder.config.origin, pinned=str(digest), version=roots[-1].version)
    else:
        print(f"{folder.config.origin}: pinned {digest}, trust root {roots[-1].version} is in force")
