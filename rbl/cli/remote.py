"""`rbl store push | fetch`: objects to and from a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rbl.cli.app import settings
from rbl.cli.output import AsJson, document, mark, progress

if TYPE_CHECKING:
    from store.remote import Progress

__all__ = ["fetch", "push"]

Name = Annotated[str | None, typer.Argument(help="A name in rbl.toml, or an address; the first in rbl.toml if none.")]
Sources = Annotated[bool, typer.Option("--sources", help="Also the source pages, which are for curators alone.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, max=64, help="Objects at a time.")]

_MEGA = 1_000_000


def push(
    ctx: typer.Context, remote: Name = None, sources: Sources = False, jobs: Jobs = 8, as_json: AsJson = False
) -> None:
    """Send the objects that records name and the remote lacks, and what `dvc pull` reads.

    Example: rbl store push origin
    """
    from rbl.remotes import pick, push_reached
    from rbl.workspace import open_folder

    options = settings(ctx)
    folder = open_folder(options.directory)
    place = pick(folder, remote)
    done = push_reached(folder, place, sources=sources, progress=_telling("sent", quiet=options.quiet), jobs=jobs)
    good = not done.lacking
    if as_json:
        document(
            "store-push",
            ok=good,
            remote=place.address,
            sent=done.sent,
            size=done.size,
            there=done.there,
            lacking=[str(digest) for digest in done.lacking],
        )
    else:
        for digest in done.lacking:
            print(f"{mark(good=False)} not in the store: {digest}")
        print(f"{mark(good=good)} {place}: {done.sent} sent, {done.size} bytes, {done.there} there already")
    if not good:
        raise typer.Exit(1)


def fetch(
    ctx: typer.Context, remote: Name = None, sources: Sources = False, jobs: Jobs = 8, as_json: AsJson = False
) -> None:
    """Bring the objects that records name and the store lacks; each is hashed before it takes its name.

    Example: rbl store fetch s3://bucket/prefix
    """
    from rbl.remotes import fetch_reached, pick
    from rbl.workspace import open_folder

    options = settings(ctx)
    folder = open_folder(options.directory)
    place = pick(folder, remote)
    done = fetch_reached(folder, place, sources=sources, progress=_telling("fetched", quiet=options.quiet), jobs=jobs)
    good = not done.lacking and not done.wrong
    if as_json:
        document(
            "store-fetch",
            ok=good,
            remote=place.address,
            fetched=done.taken,
            size=done.size,
            here=done.here,
            lacking=[str(digest) for digest in done.lacking],
            wrong=[str(digest) for digest in done.wrong],
        )
    else:
        for digest in done.lacking:
            print(f"{mark(good=False)} {place} does not have {digest}")
        for digest in done.wrong:
            print(f"{mark(good=False)} {place} gave other bytes under the name {digest}; nothing of it was kept")
        print(f"{mark(good=good)} {place}: {done.taken} fetched, {done.size} bytes, {done.here} here already")
    if not good:
        raise typer.Exit(1)


def _telling(verb: str, *, quiet: bool) -> Progress:
    def tell(done: int, total: int, size: int) -> None:
        progress(f"{verb} {done} of {total} objects, {size / _MEGA:.1f} MB", quiet=quiet)

    return tell
