"""`rbl trust`: show which keys hold which role."""

from __future__ import annotations

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
