"""The attacks on what a reader demands of a head: a checkpoint with cosignatures, and a policy (C2SP tlog-policy).

An implementation that knows signed-note, tlog-cosignature and tlog-policy, and nothing of this project, can judge each.
The findings are `policy` where the head is not enough, a rule of the note where it is none, and `input` where the
policy is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ledger.log.checkpoint import Checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.note import Note, NoteSignature
from ledger.records.keys import Signer
from tests.unit.ledger.release.story import ORIGIN
from tests.vectors.scenes import b64, note_of, root_of, spoiled, vkey

TIME = 1679315147
LEAVES = [b"entry %d" % number for number in range(7)]
HEAD = Checkpoint(ORIGIN, len(LEAVES), root_of(LEAVES))
SIGNERS = {name: Signer.from_seed(f"witness {name}".encode().ljust(32, b".")) for name in ("W1", "W2", "W3", "S")}
KEYS = {name: CosignerKey(f"witness.example/{name.lower()}", signer.public) for name, signer in SIGNERS.items()}
WITNESSES = "".join(f"witness {name} {KEYS[name]}\n" for name in ("W1", "W2", "W3"))
TWO = f"log {vkey()}\n\n{WITNESSES}\ngroup two-of-three 2 W1 W2 W3\nquorum two-of-three\n"


@dataclass(frozen=True)
class Demand:
    attack: str
    source: str
    given: dict[str, Any]
    rule: str | None


def line(name: str, head: Checkpoint = HEAD, time: int = TIME) -> NoteSignature:
    return cosign(head, KEYS[name].name, SIGNERS[name], time)


def policies() -> dict[str, Demand]:
    """Name → vector."""
    bare = Note.parse(note_of(LEAVES))

    def demand(
        what: str, lines: list[NoteSignature], rule: str | None, source: str = "tlog-policy",
        policy: str = TWO, note: Note = bare,
    ) -> Demand:  # fmt: skip
        for one in lines:
            note = note.signed_also(one)
        given = {"origin": ORIGIN, "policy": b64(policy.encode()), "note": b64(note.format())}
        return Demand(what, source, given, rule)

    both = [line("W1"), line("W3")]
    other = Checkpoint(ORIGIN, 8, HEAD.root)
    true = line("W2")
    forged = NoteSignature(true.name, true.id, spoiled(true.signature, 40))
    later = NoteSignature(true.name, true.id, spoiled(true.signature, 7))
    plain = NoteSignature(true.name, true.id, SIGNERS["W2"].sign(HEAD.format().encode()))
    unsigned = Note(bare.text, (line("S"),))
    nested = TWO.replace(
        "quorum two-of-three", f"witness S {KEYS['S']}\ngroup all-of-it all S two-of-three\nquorum all-of-it"
    )
    return {
        "policy-met": demand("nothing: two of three witnesses cosigned", both, None, "control"),
        "policy-met-beside-strangers": demand(
            "nothing: a witness that the policy does not name cosigned too", [line("S"), *both], None, "control"),
        "policy-met-by-groups": demand(
            "nothing: a group of a group and a witness", [*both, line("S")], None, "control", nested),
        "policy-none": demand("nothing: no witness is demanded", [], None, "control", "quorum none\n"),
        "policy-without-cosignatures": demand("no witness cosigned", [], "policy"),
        "policy-met-by-one-only": demand("one of three witnesses cosigned, two are demanded", [line("W1")], "policy"),
        "policy-one-witness-twice": demand(
            "one witness cosigned at two times", [line("W1"), line("W1", time=TIME + 60)], "policy", "double counting"),
        "policy-met-by-a-stranger": demand(
            "the second cosignature is by a key that the policy does not name", [line("W1"), line("S")], "policy"),
        "policy-half-of-the-groups": demand(
            "of two groups that must both be there one is", both, "policy", policy=nested),
        "policy-cosignature-of-another-head": demand(
            "a cosignature was copied from another head", [*both, line("W2", other)], "note-signature", "splicing"),
        "policy-cosignature-forged": demand(
            "a bit of a cosignature is flipped", [*both, forged], "note-signature"),
        "policy-cosignature-of-another-time": demand(
            "the time of a cosignature was changed", [*both, later], "note-signature", "tlog-cosignature"),
        "policy-cosignature-without-its-prefix": demand(
            "a witness's key signed the checkpoint as a log would", [*both, plain], "note-signature",
            "domain separation"),
        "policy-not-signed-by-the-log": demand(
            "cosigned, and not signed by the log that the policy names", both, "policy", note=unsigned),
        "policy-key-listed-twice": demand(
            "one key stands under two names, to count twice", both, "input", "double counting",
            TWO.replace(f"witness W2 {KEYS['W2']}",
                        f"witness W2 {CosignerKey('witness.example/again', KEYS['W1'].public)}")),
        "policy-member-of-two-groups": demand(
            "a witness stands in two groups, to count twice", both, "input", "double counting",
            TWO.replace("quorum two-of-three", "group again any W1\ngroup both all two-of-three again\nquorum both")),
        "policy-quorum-above-its-group": demand(
            "a quorum that is defined below its line", both, "input",
            policy="quorum g\n" + WITNESSES + "group g any W1 W2 W3\n"),
        "policy-cut-off": demand("the end of the policy is cut off", both, "input", "truncation", TWO[:-5]),
    }  # fmt: skip
