"""`rbl store fsck | pin | unpin | pins | gc`: what the store holds, what it keeps, and what may go."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rbl.cli.app import settings
from rbl.cli.output import AsJson, document, mark, table
from store.errors import InputError

if TYPE_CHECKING:
    from ledger.folder import Folder
    from rbl.upkeep import Checked, Collected, Damaged
    from store.pins import Pin

__all__ = ["fsck", "gc", "pin", "pins", "unpin"]

_SHOWN: Final = 5  # names of one object that are shown; all of them with --json
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_GRACE: Final = "14d"  # as long as git's gc.pruneExpire
_MEGA: Final = 1_000_000


def fsck(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave damaged objects where they are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Re-hash every object and look for what is named. What is damaged goes to quarantine; nothing is deleted.

    Example: rbl store fsck
    """
    from rbl.upkeep import check
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    found = check(folder, move=not dry_run)
    if as_json:
        document(
            "store-fsck",
            ok=found.report.ok,
            missing={str(item.digest): _first(item) for item in found.missing},
            corrupt={str(item.digest): _first(item) for item in found.corrupt},
            named_by={str(item.digest): item.named_by for item in (*found.missing, *found.corrupt)},
            quarantined={str(item.digest): str(item.aside) for item in found.corrupt if item.aside is not None},
            in_quarantine=found.quarantined,
            stray=[str(path) for path in found.report.stray],
            read=found.report.read,
            erased={str(digest): why for digest, why in found.erased.items()},
        )
    else:
        _print_checked(found, folder)
    if not found.report.ok:
        raise typer.Exit(1)


def pin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Digest, sha256:…, or enough of its beginning.")],
    reason: Annotated[str, typer.Option("--reason", help="Why it stays, in one line.")],
    as_json: AsJson = False,
) -> None:
    """Keep an object that no record names, or none yet; of a tree, its files too.

    Example: rbl store pin 3f9a --reason "source of the next case"
    """
    from rbl.workspace import open_folder, resolve
    from store import pins as kept

    store = open_folder(settings(ctx).directory).store
    made = kept.pin(store, resolve(store, name), reason)
    if as_json:
        document("store-pin", **_row(made))
    else:
        print(f"{made.digest} stays: {made.reason}")


def unpin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Digest of a pinned object, or enough of its beginning.")],
    as_json: AsJson = False,
) -> None:
    """Take a pin away; unless something else names the object, gc removes it later. Example: rbl store unpin 3f9a"""
    from rbl.workspace import open_folder
    from store import pins as kept

    gone = kept.unpin(open_folder(settings(ctx).directory).store, name)
    if as_json:
        document("store-unpin", **_row(gone))
    else:
        print(f"{gone.digest} is not pinned any more: {gone.reason}")


def pins(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the pinned objects and why they stay. Example: rbl store pins"""
    from rbl.workspace import open_folder
    from store import pins as kept

    found = kept.pins(open_folder(settings(ctx).directory).store)
    if as_json:
        document("store-pins", pins=[_row(item) for item in found])
    else:
        rows = [(item.digest, "tree" if item.tree else "file", item.when, item.reason) for item in found]
        table(("object", "is a", "pinned", "reason"), rows)


def gc(
    ctx: typer.Context,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them; otherwise they are only listed.")] = False,
    grace: Annotated[
        str, typer.Option("--grace", help="Keep what the store took within this time: 14d, 36h, 90m, 30s.")
    ] = _GRACE,
    as_json: AsJson = False,
) -> None:
    """List, or remove, the objects that nothing needs: no record, withdrawn or not, no frozen case, no pin.

    Example: rbl store gc && rbl store gc --remove
    """
    from rbl.upkeep import collect
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    found = collect(folder, before=time.time_ns() - _seconds(grace) * 10**9, remove=remove)
    before = datetime.fromtimestamp(found.before // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if as_json:
        document(
            "store-gc",
            removed=remove,
            objects={str(digest): size for digest, size in found.objects.items()},
            size=sum(found.objects.values()),
            temporary=[str(path) for path in found.temporary],
            put_back=[str(digest) for digest in found.put_back],
            kept=found.kept,
            young=found.young,
            before=before,
            waits_for=found.waits_for or None,
        )
    else:
        _print_collected(found, before, removed=remove)


def _print_collected(found: Collected, before: str, *, removed: bool) -> None:
    if not removed:
        for digest, size in sorted(found.objects.items()):
            print(f"  {digest}  {size} bytes")
    for digest in found.put_back:
        print(f"  {digest}  put back: it is needed by now")
    verb = "removed" if removed else "would remove"
    mega = sum(found.objects.values()) / _MEGA
    print(f"{verb} {len(found.objects)} objects, {mega:.1f} MB, and {len(found.temporary)} temporary files")
    print(f"  nothing names them, and the store took none of them since {before}")
    print(f"  {found.kept} objects are named; {found.young} are not, and are younger")
    if found.waits_for:
        print(f"  attempt {found.waits_for} is open: what was put since then stays; rbl attempt recover closes it")
    if not removed and (found.objects or found.temporary):
        print("  next: rbl store gc --remove")


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if found is None:
        raise InputError(f"not a length of time: {text!r}", where="--grace", fix="write 14d, 36h, 90m or 30s")
    return int(found[1]) * _UNITS[found[2]]


def _row(made: Pin) -> dict[str, object]:
    return {"digest": str(made.digest), "reason": made.reason, "tree": made.tree, "when": made.when}


def _first(item: Damaged) -> str:
    return item.named_by[0] if item.named_by else ""


def _print_checked(found: Checked, folder: Folder) -> None:
    for what, items in (("missing", found.missing), ("corrupt", found.corrupt)):
        for item in items:
            print(f"{mark(good=False)} {what} {item.digest}")
            for name in item.named_by[:_SHOWN] or ("nothing",):
                print(f"    named by {name}")
            if len(item.named_by) > _SHOWN:
                print(f"    and by {len(item.named_by) - _SHOWN} more: --json lists them")
            if item.aside is not None:
                print(f"    moved to {item.aside}, evidence beside it")
    for path in found.report.stray:
        print(f"  stray   {path}")
    for digest, why in found.erased.items():
        print(f"  gone    {digest}, {why}")
    lost = [item for item in (*found.missing, *found.corrupt) if item.named_by]
    if lost:
        print(f"  do: {_remedy(lost, folder)}")
    report = found.report
    faults = f"{len(report.missing)} missing, {len(report.corrupt)} corrupt, {len(report.stray)} stray"
    rest = f"{report.read} read, {found.quarantined} in quarantine, {len(found.erased)} erased"
    print(f"{mark(good=report.ok)} {faults}, {rest}")


def _remedy(lost: list[Damaged], folder: Folder) -> str:
    """What brings objects back; the source pages travel only when they are asked for."""
    private = all("(source)" in name or "frozen, source" in name for item in lost for name in item.named_by)
    command = "rbl store fetch --sources" if private else "rbl store fetch"
    if folder.config.remotes:
        return f"{command}, or put the files again from a copy: rbl store put FILE"
    return f"{command} REMOTE from a remote that holds them, or put the files again from a copy: rbl store put FILE"
