"""`rbl store`: put, get and check objects, and hand out a release."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from rbl.cli import erasing, keeping, remote
from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, table

app = noun("Put, get, check, pin, remove, push and fetch objects. Example: rbl store fsck")

app.command()(remote.push)
app.command()(remote.fetch)
for _verb in (keeping.fsck, keeping.pin, keeping.unpin, keeping.pins, keeping.gc, erasing.erase):
    app.command()(_verb)

Name = Annotated[str, typer.Argument(help="Digest, sha256:…, or enough of its beginning.")]


@app.command()
def put(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file, or a folder, which becomes a tree.")],
    rehash: Annotated[bool, typer.Option("--rehash", help="Read every file, known to be unchanged or not.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a file or a folder and print its digest. Example: rbl store put notes.md"""
    from rbl.workspace import open_folder
    from store.directory import put_tree
    from store.statcache import StatCache

    store = open_folder(settings(ctx).directory).store
    if path.is_dir():
        cache = None if rehash else StatCache.open(store.root / "index", path)
        digest = put_tree(store, path, cache=cache)
    else:
        digest = store.put_file(path)
    store.flush()
    if as_json:
        document("store-put", digest=str(digest), size=store.size(digest))
    else:
        print(digest)


@app.command()
def get(
    ctx: typer.Context,
    name: Name,
    target: Annotated[Path, typer.Argument(help="Where to; must not exist.")],
    tree: Annotated[bool, typer.Option("--tree", help="The object is a tree: restore the folder.")] = False,
) -> None:
    """Write an object to a file, or a tree to a folder; its bytes are checked. Example: rbl store get 3f9a out.png"""
    from rbl.workspace import open_folder, resolve, write_object
    from store.directory import check_out

    store = open_folder(settings(ctx).directory).store
    digest = resolve(store, name)
    if tree:
        check_out(store, digest, target)
    else:
        write_object(store, digest, target)


@app.command()
def cat(ctx: typer.Context, name: Name) -> None:
    """Write an object to standard output; its bytes are checked. Example: rbl store cat 3f9a"""
    from rbl.workspace import open_folder, resolve

    store = open_folder(settings(ctx).directory).store
    sys.stdout.buffer.write(store.get(resolve(store, name)))


@app.command()
def stat(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show an object's digest, size and what in the ledger names it. Example: rbl store stat 3f9a"""
    from ledger.reach import reachable
    from ledger.reader import Ledger
    from rbl.workspace import open_folder, resolve

    folder = open_folder(settings(ctx).directory)
    digest = resolve(folder.store, name)
    named = reachable(Ledger.open(folder), folder.store).get(digest, "nothing in the ledger")
    if as_json:
        document("store-stat", digest=str(digest), size=folder.store.size(digest), named_by=named)
    else:
        print(f"{digest}\n  {folder.store.size(digest)} bytes\n  named by {named}")


@app.command()
def tree(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """List a tree. Example: rbl store tree 3f9a"""
    from rbl.workspace import open_folder, resolve
    from store.directory import load_tree

    store = open_folder(settings(ctx).directory).store
    rows = [
        (entry.mode, entry.size, entry.path, entry.target or entry.digest or "–")
        for entry in load_tree(store, resolve(store, name)).entries
    ]
    if as_json:
        entries = [{"mode": m, "size": s, "path": p, "names": str(d)} for m, s, p, d in rows]
        document("store-tree", entries=entries)
    else:
        table(("mode", "size", "path", "names"), rows)


@app.command()
def export(
    ctx: typer.Context,
    release: Annotated[str, typer.Argument(help="Name of the release.")],
    bag: Annotated[Path, typer.Argument(help="The tar to write; must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Put a release into an audit bag: log, trust roots, release, and the objects it rests on, nothing private.

    Example: rbl store export first first.tar && rbl release verify first.tar
    """
    from ledger.release.export import Export
    from rbl.workspace import open_folder, write_file
    from store.digest import Digest

    gathered = Export.of(open_folder(settings(ctx).directory), release)
    write_file(gathered.pack(), bag)
    size = sum(source.size for source in gathered.files.values())
    with bag.open("rb") as file:
        digest = Digest(hashlib.file_digest(file, "sha256").hexdigest())
    if as_json:
        document(
            "store-export",
            release=release,
            digest=str(gathered.record.body.root),
            bag=str(digest),
            files=len(gathered.files),
            bytes=size,
            left_out=dict(gathered.left_out),
        )
        return
    print(f"{bag}: release {release}, {len(gathered.files)} files, {size} bytes\n  bag     {digest}")
    print(f"  release {gathered.record.body.root}")
    for reason, count in gathered.left_out.items():
        print(f"  left out: {count} objects: {reason}")


@app.command("import")
def import_bag(
    bag: Annotated[Path, typer.Argument(help="A bag that `rbl store export` wrote.")],
    target: Annotated[Path, typer.Argument(help="The benchmark folder to make; must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Make a benchmark folder of an audit bag, to read and to verify; it has no keys.

    Example: rbl store import first.tar audit && rbl -C audit release verify first
    """
    from ledger.bag import install, releases

    folder = install(bag, target)
    names = releases(folder)
    if as_json:
        document("store-import", folder=str(target), origin=folder.config.origin, releases=names)
    else:
        print(f"{target}: {folder.config.origin}, a whole bag; nothing in it was verified yet")
        for name in names:
            print(f"  next: rbl -C {target} release verify {name}")
