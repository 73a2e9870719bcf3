"""`rbl ledger witness`: be a witness of logs; and `rbl ledger cosign`, which asks one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, mark, table
from store.errors import InputError

if TYPE_CHECKING:
    from ledger.log.witness import Witness

State = Annotated[Path, typer.Option("--state", help="The witness's folder: its key, and what it remembers.")]

app = noun(
    "Be a witness: remember the heads of logs, cosign what continues them, and keep the evidence of what does not. "
    "Example: rbl ledger witness show --state w1"
)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The witness's name, like witness.example/w1.")],
    state: State,
    as_json: AsJson = False,
) -> None:
    """Make a witness: a folder with its key. Give its public key to auditors, for their policies.

    Example: rbl ledger witness new witness.example/w1 --state w1
    """
    from ledger.log.cosignature import CosignerKey
    from ledger.log.note import check_name
    from ledger.log.witness import WitnessState
    from ledger.records.keys import KeyRing

    check_name(name)
    ring = KeyRing(state)
    # a key without a state is what an interrupted `new` leaves
    signer = ring.signer("witness") if "witness" in ring.list() else ring.create("witness")
    key = CosignerKey(name, signer.public)
    WitnessState.create(state, key)
    if as_json:
        document("ledger-witness-new", name=name, vkey=str(key), state=str(state))
    else:
        print(f"{name}: {state}\n  {key}")


@app.command()
def trust(
    vkey: Annotated[str, typer.Argument(help="The log's key, as rbl ledger status prints it.")],
    state: State,
    as_json: AsJson = False,
) -> None:
    """Watch a log: believe the heads that this key signed for the log of the same name.

    Example: rbl ledger witness trust example.org/bench+033de0ae+Ac… --state w1
    """
    from ledger.log.note import VerifierKey
    from ledger.log.witness import WitnessState

    witness, key = WitnessState(state), VerifierKey.parse(vkey)
    witness.trust(key)
    keys = [str(one) for one in witness.keys(key.name)]
    if as_json:
        document("ledger-witness-trust", origin=key.name, keys=keys)
    else:
        print(f"{key.name}: {len(keys)} keys")


@app.command()
def show(state: State, as_json: AsJson = False) -> None:
    """Show the witness's key, the last head of each log, and what was refused.

    Example: rbl ledger witness show --state w1
    """
    from ledger.log.witness import WitnessState

    witness = WitnessState(state)
    heads = {origin: witness.head(origin) for origin in witness.origins()}
    evidence = {origin: list(witness.evidence(origin)) for origin in heads}
    if as_json:
        logs = [
            {
                "origin": origin,
                "size": 0 if head is None else head.size,
                "root": None if head is None else str(head.root),
                "evidence": [
                    {"rule": one.rule, "proven": one.proven, "at": one.at, "place": str(one.place)}
                    for one in evidence[origin]
                ],
            }
            for origin, head in heads.items()
        ]
        document("ledger-witness", name=witness.key.name, vkey=str(witness.key), logs=logs)
        return
    print(witness.key)
    rows = [
        (origin, 0 if head is None else head.size, "–" if head is None else head.root) for origin, head in heads.items()
    ]
    table(("log", "size", "root"), rows)
    for origin, found in evidence.items():
        for one in found:
            print(f"{mark(False)} {origin}: {one.rule}{', proven' if one.proven else ''}: {one.place}")


def cosign(
    ctx: typer.Context,
    state: State,
    key: Annotated[
        Path | None, typer.Option("--key", help="The witness's private key, where it is not in its folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a witness cosign the newest head, and keep the cosignature in log/cosigned/ and below log/checkpoint.

    A head that does not continue what the witness saw is refused with exit code 1, and the evidence kept in its folder.
    Example: rbl ledger cosign --state w1
    """
    from ledger.cosigning import cosign_here
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    witness = open_witness(state, key)
    done = cosign_here(folder, witness)
    head, refusal = done.checkpoint, done.answer.refusal
    if refusal is not None and refusal.rule == "origin":
        raise InputError(refusal.what, where=str(state), fix=refusal.fix)
    if as_json:
        document(
            "ledger-cosign",
            ok=refusal is None,
            origin=head.origin,
            size=head.size,
            root=str(head.root),
            witness=witness.key.name,
            signature=None if done.answer.signature is None else str(done.answer.signature),
            refusal=None
            if refusal is None
            else {"rule": refusal.rule, "what": refusal.what, "evidence": refusal.where},
        )
    elif refusal is None:
        print(f"{mark(True)} {witness.key.name} cosigned {head.size} records, root {head.root}")
    else:
        print(f"{mark(False)} {witness.key.name} refuses: {refusal.rule}: {refusal.what}\n  evidence: {refusal.where}")
    if refusal is not None:
        raise typer.Exit(1)


def open_witness(state: Path, key: Path | None) -> Witness:
    """The witness of a state folder, able to sign."""
    from ledger.log.witness import Witness, WitnessState
    from ledger.records.keys import KeyRing

    remembered = WitnessState(state)
    _ = remembered.key  # whether it is a witness's folder at all is said before the key is asked for
    return Witness(remembered, KeyRing(state, {} if key is None else {"witness": key}).signer("witness"))
