"""`rbl doctor`: what this machine can do."""

from __future__ import annotations

from typing import Annotated

import typer

from rbl.cli.app import single
from rbl.cli.output import AsJson, document, mark

app = single("Say what this machine can do. Example: rbl doctor")


@app.command()
def doctor(
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Draw a probe page in the sandbox.")] = True,
    as_json: AsJson = False,
) -> None:
    """Check Docker, image, browser, git, dvc, disk, clock, permissions; say what works. Example: rbl doctor"""
    from rbl.machine import examine

    found = examine(probe=probe)
    if as_json:
        checks = [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix} for c in found.checks]
        document("doctor", able=found.able, checks=checks)
    else:
        for check in found.checks:
            print(f"{mark(check.ok)} {check.name:<12} {check.detail}{'' if check.ok else f'  → {check.fix}'}")
        print(f"here: {found.able}")
    if found.able == "verify only":
        raise typer.Exit(3)
