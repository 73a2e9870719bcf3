"""`rbl store erase`: take bytes out of the store for a reason that everybody can read."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from rbl.cli.app import settings
from rbl.cli.output import AsJson, document, mark
from store.errors import InputError

REASONS = "leaked-secret, takedown, personal-data or other."


def erase(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Digests, or enough of their beginnings.")],
    reason: Annotated[str, typer.Option(help=REASONS)],
    detail: Annotated[str, typer.Option(help="What happened; it stays for ever, so quote nothing of it.")],
    author: Annotated[str, typer.Option(help="Who says so.")],
    files: Annotated[bool, typer.Option("--files", help="Of a tree, also every file in it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove an object's bytes, with a signed record of who and why. There is no way back.

    Every record that names it stays and verifies, and checks say that it was erased. Copies elsewhere are named, and
    are yours to remove, as are those on remotes.

    Example: rbl store erase 7a38bf81 --reason leaked-secret --detail "a key, revoked since" --author kim
    """
    from ledger import erasure
    from rbl.workspace import open_folder, resolve
    from store.directory import load_tree

    why = next((known for known in get_args(erasure.Reason) if known == reason), None)
    if why is None:
        raise InputError(f"no reason is called {reason!r}", where="--reason", fix=f"one of {REASONS}")
    folder = open_folder(settings(ctx).directory)
    digests = [resolve(folder.store, name) for name in names]
    if files:
        digests += [
            entry.digest
            for tree in digests
            for entry in load_tree(folder.store, tree).entries
            if entry.digest is not None
        ]
    if dry_run:
        if as_json:
            document("store-erase", objects=[str(digest) for digest in digests], records=[], removed=[], elsewhere=[])
        else:
            for digest in digests:
                print(f"would erase {digest}, {folder.store.size(digest)} bytes")
        return
    done = erasure.erase(folder, digests, reason=why, detail=detail, author=author)
    elsewhere = [str(path.relative_to(folder.root)) for path in done.elsewhere]
    if as_json:
        document(
            "store-erase",
            objects=[str(digest) for digest in digests],
            records=[{"index": record.index, "record": str(record.digest)} for record in done.records],
            removed=[str(path) for path in done.removed],
            elsewhere=elsewhere,
        )
        return
    for record in done.records:
        print(f"record {record.index}: {len(record.body.objects)} objects, {record.body.reason}")
    print(f"{len(done.removed)} files removed from the store")
    for name in elsewhere:
        print(f"{mark(good=False)} the same bytes still stand in {name}: remove it, and from Git if it was committed")
