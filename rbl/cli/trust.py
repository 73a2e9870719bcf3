"""`rbl trust`: show which keys hold which role, change it, and say which first trust root to believe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, get_args

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, table
from store.errors import InputError

if TYPE_CHECKING:
    from ledger.records import kinds
    from ledger.records.amend import Change
    from rbl.trust import Standing

_LONGEST: Final = 15  # digits of a number below 2^53
_MOST_KEYS: Final = 16  # signatures that an envelope bears

app = noun("Show and change which keys hold which role. Example: rbl trust show")


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
    for key in record.body.keys:
        if key.distrusted_from is not None:
            print(f"distrusted from record {key.distrusted_from} on: {key.keyid}")


@app.command()
def propose(
    ctx: typer.Context,
    add: Annotated[
        list[str] | None,
        typer.Option(help="KEY:ROLE[,ROLE] gives roles to a key: its base64, or the id of a listed one."),
    ] = None,
    retire: Annotated[
        list[str] | None, typer.Option(help="KEY[:ROLE] takes all its roles from a key, or one; what it signed stands.")
    ] = None,
    distrust: Annotated[
        list[str] | None, typer.Option(help="KEY@N makes void what a key signs, or signed, from record N on.")
    ] = None,
    threshold: Annotated[list[str] | None, typer.Option(help="ROLE=N asks for N signatures of a role.")] = None,
    grant: Annotated[list[str] | None, typer.Option(help="KIND=ROLE lets a role sign a kind of record.")] = None,
    revoke: Annotated[list[str] | None, typer.Option(help="KIND=ROLE lets it no more.")] = None,
    rotate: Annotated[list[str] | None, typer.Option(help="ROLE replaces its key at hand by a new one.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; trust-<version>.json if none.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the proposal of the next trust root, for the holders of root keys to sign.

    Example: rbl trust propose --rotate log --add 8Rlx…=:curator --retire 3f9a51c0
    """
    from ledger.log.authority import trust_chain
    from rbl.trust import Rotate
    from rbl.trust import propose as write
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    changes = [
        *(_add(text) for text in add or ()),
        *(Rotate(_role(text)) for text in rotate or ()),
        *(_retire(text) for text in retire or ()),
        *(_distrust(text) for text in distrust or ()),
        *(_threshold(text) for text in threshold or ()),
        *(_give(text) for text in grant or ()),
        *(_give(text, take=True) for text in revoke or ()),
    ]
    path = out or Path(f"trust-{trust_chain(folder)[-1].version + 1}.json")
    _stand("trust-propose", path, write(folder, changes, path), as_json=as_json)


@app.command()
def sign(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The proposal; it is written back with the signature.")],
    key: Annotated[Path | None, typer.Option(help="A key file to sign with instead of the root keys at hand.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Say what it changes, and sign nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a proposal changes, and sign it with the root keys at hand. Needs rbl.toml and trust/ only.

    Example: rbl trust sign trust-2.json
    """
    from rbl.trust import sign as add_signature
    from rbl.workspace import open_folder

    standing = add_signature(open_folder(settings(ctx).directory), file, key, only_show=show)
    _stand("trust-sign", file, standing, as_json=as_json)


@app.command()
def publish(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The proposal, signed by enough root keys.")],
    as_json: AsJson = False,
) -> None:
    """Append a signed proposal to the log: from the next record on its trust root is in force.

    Example: rbl trust publish trust-2.json
    """
    from rbl.trust import publish as append
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    record, followed = append(folder, file)
    if as_json:
        document(
            "trust-publish",
            record=str(record.digest),
            index=record.index,
            version=record.body.version,
            signed=list(record.keyids),
            keys_in_place=followed,
        )
        return
    print(f"trust root {record.body.version} is record {record.index} {record.digest}, in force from the next on")
    _say_followed(followed)


@app.command()
def update(
    ctx: typer.Context,
    pin: Annotated[str | None, typer.Option(help="Digest of trust root 1, known from elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the chain of trust roots, and put the next keys in place that the newest lists.

    With --pin, believe its first trust root on this machine from now on. Example: rbl trust update --pin sha256:…
    """
    from ledger.log.authority import pin_trust, pinned_root, trust_chain
    from rbl.trust import follow
    from rbl.workspace import open_folder
    from store.digest import Digest

    folder = open_folder(settings(ctx).directory)
    digest = pinned_root(folder) if pin is None else Digest.parse(pin)
    roots = trust_chain(folder, digest)
    if pin is not None:
        pin_trust(folder, digest)
    followed = follow(folder)
    if as_json:
        version = roots[-1].version
        document(
            "trust-update", origin=folder.config.origin, pinned=str(digest), version=version, keys_in_place=followed
        )
    else:
        print(f"{folder.config.origin}: pinned {digest}, trust root {roots[-1].version} is in force")
        _say_followed(followed)


def _stand(schema: str, path: Path, standing: Standing, *, as_json: bool) -> None:
    """Print a proposal as it stands."""
    root = standing.proposal.root
    if as_json:
        document(
            schema,
            file=str(path),
            version=root.version,
            follows=str(standing.proposal.record),
            changes=list(standing.changes),
            signed=list(standing.signed),
            missing=[
                {"version": one.version, "number": one.number, "keyids": list(one.keyids)} for one in standing.missing
            ],
        )
        return
    assert root.after is not None  # of a version that follows another
    print(f"{path}: trust root {root.version} of {root.ledger}, made after {root.after.size} records")
    for line in standing.changes:
        print(f"  {line}")
    print(f"signed by {', '.join(keyid[:12] for keyid in standing.signed) or 'nobody'}")
    for one in standing.missing:
        print(f"missing: {one}")
    print(f"next: rbl trust {'sign' if standing.missing else 'publish'} {path}")


def _say_followed(roles: Sequence[str]) -> None:
    for role in roles:
        print(f"the next key of the role {role} is in place; the old one is kept beside it")


def _split(text: str, sign: str, form: str) -> tuple[str, str]:
    left, found, right = text.rpartition(sign)
    if not found or not left or not right:
        raise InputError(f"not {form}: {text!r}", fix=f"write {form}")
    return left, right


def _role(text: str) -> kinds.Role:
    from ledger.records import kinds

    known: tuple[kinds.Role, ...] = get_args(kinds.Role)
    for role in known:
        if role == text:
            return role
    raise InputError(f"no role is called {text!r}", fix=f"one of: {', '.join(known)}")


def _number(text: str, form: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _LONGEST:
        raise InputError(f"not a number: {text!r}", fix=f"write {form}")
    return int(text)


def _add(text: str) -> Change:
    from ledger.records.amend import Add

    key, roles = _split(text, ":", "KEY:ROLE[,ROLE]")
    return Add(key, tuple(_role(name) for name in roles.split(",")))


def _retire(text: str) -> Change:
    from ledger.records.amend import Retire

    key, named, role = text.partition(":")
    return Retire(key, _role(role) if named else None)


def _distrust(text: str) -> Change:
    from ledger.records.amend import Distrust

    key, index = _split(text, "@", "KEY@N")
    return Distrust(key, _number(index, "KEY@N"))


def _threshold(text: str) -> Change:
    from ledger.records.amend import Threshold

    role, number = _split(text, "=", "ROLE=N")
    found = _number(number, "ROLE=N")
    if not 1 <= found <= _MOST_KEYS:
        raise InputError(f"a threshold of {found}", fix=f"1 to {_MOST_KEYS}")
    return Threshold(_role(role), found)


def _give(text: str, *, take: bool = False) -> Change:
    from ledger.records.amend import Give

    kind, role = _split(text, "=", "KIND=ROLE")
    return Give(kind, _role(role), take)
