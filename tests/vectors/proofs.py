"""The attacks that need no record: on notes, proofs, receipts, and logs of entries of any kind.

Their `check` is one of `note`, `inclusion`, `consistency`, `receipt`, `log`. An implementation that knows C2SP's and
RFC 9162's formats, and nothing of this project, can judge each: Go's note and tlog packages do, in the tests.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.note import Note, NoteSignature, sign
from ledger.log.proof import TlogProof
from store.digest import Digest
from tests.unit.ledger.records.world import EXTRA
from tests.unit.ledger.release.story import ORIGIN
from tests.vectors.scenes import LOG, b64, log_files, node_of, note_of, root_of, spoiled, vkey

OTHER = EXTRA[0]
SIZE = 7
LEAVES = [b"entry %d" % number for number in range(SIZE)]
FORKED = [*LEAVES[:4], b"another", *LEAVES[5:]]


@dataclass(frozen=True)
class Proof:
    check: str
    attack: str
    source: str
    given: dict[str, Any]
    rule: str | None


def proofs() -> dict[str, Proof]:
    """Name → vector."""
    return {**_notes(), **_inclusions(), **_consistencies(), **_receipts(), **_logs()}


# ------------------------------------------------------------------------------------------------------- notes


def _notes() -> dict[str, Proof]:
    true = note_of(LEAVES)
    root = base64.b64encode(root_of(LEAVES).raw).decode()
    text = Checkpoint(ORIGIN, SIZE, root_of(LEAVES)).format()
    parsed = Note.parse(true)
    (mine,) = parsed.signatures
    stranger = sign(text, "example.org/witness", OTHER).signatures[0]
    forged = NoteSignature(mine.name, mine.id, spoiled(mine.signature, 9))
    second = sign(text, ORIGIN, OTHER).signatures[0]
    bad_second = NoteSignature(second.name, second.id, spoiled(second.signature, 9))
    line = str(mine)

    def note(what: str, data: bytes, rule: str | None, source: str = "signed-note", keys: tuple = (LOG,)) -> Proof:
        given = {"origin": ORIGIN, "vkeys": [vkey(key) for key in keys], "note": b64(data)}
        return Proof("note", what, source, given, rule)

    def head(what: str, size: str, source: str, body: str = root) -> Proof:
        return note(what, sign(f"{ORIGIN}\n{size}\n{body}\n", ORIGIN, LOG).format(), "checkpoint", source)

    return {
        "note-sound": note("nothing: a checkpoint signed by the log", true, None, "control"),
        "note-with-an-unknown-signature": note(
            "nothing: a witness signed too, whose key is not known here", parsed.signed_also(stranger).format(), None
        ),
        "note-signature-forged": note("a bit of the signature is flipped", Note(parsed.text, (forged,)).format(),
                                      "note-signature"),
        "note-text-changed": note("a line of the text is changed", true.replace(b"\n7\n", b"\n8\n", 1),
                                  "note-signature", "edited checkpoint"),
        "note-by-nobody-known": note("signed by a key that is not known", sign(text, ORIGIN, OTHER).format(),
                                     "note-unsigned"),
        "note-one-known-key-fails": note(
            "of two known keys one signed truly and one's signature fails: the whole note is refused",
            parsed.signed_also(bad_second).format(), "note-signature", keys=(LOG, OTHER),
        ),
        "note-unsigned-text": note("a text without any signature line", (text + "\n").encode(), "note"),
        "note-without-its-last-newline": note("the last newline is cut off", true[:-1], "note"),
        "note-with-a-hyphen": note("a hyphen where the em dash should be",
                                   true.replace("— ".encode(), b"- ", 1), "note"),
        "note-with-stray-base64-bits": note(
            "the base64 of a signature has stray bits in its last digit: two texts for one signature",
            true.replace(line.encode(), _stray(line).encode()), "note", "base64 must round-trip",
        ),
        "note-with-a-control-character": note("a carriage return in the text", sign_anything(
            f"{ORIGIN}\r\n7\n{root}\n"), "note", "control characters"),
        "note-of-another-log": note("another log's head, signed by this log's key under this log's name",
                                    sign(f"example.org/other\n7\n{root}\n", ORIGIN, LOG).format(), "origin",
                                    "replay into another ledger"),
        "checkpoint-size-with-a-sign": head("the size is +7", "+7", "lenient decimals"),
        "checkpoint-size-with-a-zero": head("the size is 07", "07", "lenient decimals"),
        "checkpoint-size-with-an-underscore": head("the size is 1_0", "1_0", "lenient decimals"),
        "checkpoint-size-in-full-width-digits": head("the size is in full-width digits", "\uff17", "lenient decimals"),
        "checkpoint-size-beyond-63-bits": head("the size is 2^63", str(2**63), "integer overflow"),
        "checkpoint-root-too-short": head("the root has 31 bytes", "7", "hash length", b64(bytes(31))),
        "checkpoint-of-nothing-with-a-root": head("size 0 with a root that is not the empty one", "0", "C2SP#280"),
    }  # fmt: skip


def sign_anything(text: str) -> bytes:
    """A truly signed note around a text that no careful signer would sign."""
    data = text.encode()
    true = sign("x\n", ORIGIN, LOG).signatures[0]
    return data + b"\n" + f"{NoteSignature(true.name, true.id, LOG.sign(data))}\n".encode()


def _stray(line: str) -> str:
    """Another base64 text of the same bytes: of 68 bytes the last digit but one pad has four bits that say nothing."""
    assert line.endswith("=")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    pads = len(line) - len(line.rstrip("="))
    digit = line[-pads - 1]
    return line[: -pads - 1] + alphabet[alphabet.index(digit) + 1] + "=" * pads


# ------------------------------------------------------------------------------------------------------- proofs


def _inclusions() -> dict[str, Proof]:
    path = merkle.inclusion_proof(node_of(LEAVES), 4, SIZE)

    def one(what: str, source: str, rule: str | None = "inclusion", **fields: Any) -> Proof:
        given = {"entry": LEAVES[4], "index": 4, "size": SIZE, "root": root_of(LEAVES).raw, "proof": path, **fields}
        given["entry"], given["root"] = b64(given["entry"]), b64(given["root"])
        given["proof"] = [b64(item) for item in given["proof"]]
        return Proof("inclusion", what, source, given, rule)

    return {
        "inclusion-sound": one("nothing", "control", None),
        "inclusion-of-the-only-entry": one(
            "nothing: the path in a log of one entry is empty", "control", None,
            entry=LEAVES[0], index=0, size=1, root=root_of(LEAVES[:1]).raw, proof=[],
        ),
        "inclusion-of-another-entry": one("another entry's bytes", "CVE-2022-36056", entry=b"another"),
        "inclusion-at-another-index": one("another index", "RFC 9162", index=5),
        "inclusion-at-another-size": one("another size than the root's", "sigstore/rekor#1055", size=SIZE - 2),
        "inclusion-under-another-root": one("the root of another tree than the proof's", "sigstore-python#248",
                                            root=root_of(FORKED).raw),
        "inclusion-beyond-the-log": one("an index at the size", "RFC 9162", index=SIZE),
        "inclusion-in-nothing": one("entry 0 of a log of size zero", "transparency-dev/merkle#140", index=0, size=0,
                                    root=merkle.EMPTY_ROOT, proof=[]),
        "inclusion-path-too-short": one("the last hash is missing", "RFC 9162", proof=path[:-1]),
        "inclusion-path-too-long": one("one hash too many", "RFC 9162", proof=[*path, bytes(32)]),
        "inclusion-with-a-short-hash": one("a hash of 31 bytes", "hash length", proof=[path[0][:31], *path[1:]]),
        "inclusion-of-a-node": one("an inner node's two hashes pass for an entry", "second preimage (RFC 6962, 2.1)",
                                   entry=b"".join(merkle.leaf_hash(leaf) for leaf in LEAVES[:2]), index=0, size=2,
                                   root=root_of(LEAVES[:2]).raw, proof=[]),
    }  # fmt: skip


def _consistencies() -> dict[str, Proof]:
    path = merkle.consistency_proof(node_of(LEAVES), 5, SIZE)

    def one(what: str, source: str, rule: str | None = "consistency", **fields: Any) -> Proof:
        given = {"old": 5, "old_root": root_of(LEAVES[:5]).raw, "size": SIZE, "root": root_of(LEAVES).raw,
                 "proof": path, **fields}  # fmt: skip
        given["old_root"], given["root"] = b64(given["old_root"]), b64(given["root"])
        given["proof"] = [b64(item) for item in given["proof"]]
        return Proof("consistency", what, source, given, rule)

    forked = root_of(FORKED).raw
    return {
        "consistency-sound": one("nothing", "control", None),
        "consistency-from-a-power-of-two": one(
            "nothing: the old root is itself a node, and is not in the proof", "control", None,
            old=4, old_root=root_of(LEAVES[:4]).raw, proof=merkle.consistency_proof(node_of(LEAVES), 4, SIZE),
        ),
        "consistency-of-equal-heads": one("nothing: equal sizes and roots, and an empty proof", "control", None,
                                          old=SIZE, old_root=root_of(LEAVES).raw, proof=[]),
        "consistency-from-nothing": one("nothing: from size zero, with an empty proof", "control", None,
                                        old=0, old_root=merkle.EMPTY_ROOT, proof=[]),
        "consistency-with-a-fork": one("the new head is of another history", "fork", root=forked),
        "consistency-with-a-forks-own-proof": one(
            "the new head is of another history, with that history's own proof", "fork", root=forked,
            proof=merkle.consistency_proof(node_of(FORKED), 5, SIZE),
        ),
        "consistency-of-two-roots-for-one-size": one("equivocation: two roots for one size", "equivocation",
                                                     old=SIZE, old_root=forked, proof=[]),
        "consistency-backwards": one("the new head is smaller than the old: a rollback", "rollback", old=SIZE,
                                     old_root=root_of(LEAVES).raw, size=5, root=root_of(LEAVES[:5]).raw),
        "consistency-without-a-proof": one("the proof is empty", "transparency-dev/merkle#236", proof=[]),
        "consistency-proof-too-short": one("the last hash is missing", "RFC 9162", proof=path[:-1]),
        "consistency-proof-too-long": one("one hash too many", "RFC 9162", proof=[*path, bytes(32)]),
        "consistency-with-a-short-hash": one("a hash of 31 bytes", "hash length", proof=[path[0][:31], *path[1:]]),
        "consistency-from-nothing-with-a-root": one("size zero with a root that is not the empty one",
                                                    "transparency-dev/merkle#140", old=0, proof=[]),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------- receipts


def _receipts() -> dict[str, Proof]:
    true = TlogProof(4, tuple(merkle.inclusion_proof(node_of(LEAVES), 4, SIZE)), note_of(LEAVES))
    data = true.format()

    def one(what: str, source: str, rule: str | None, receipt: bytes = data, entry: bytes = LEAVES[4]) -> Proof:
        given = {"origin": ORIGIN, "vkeys": [vkey()], "entry": b64(entry), "receipt": b64(receipt)}
        return Proof("receipt", what, source, given, rule)

    grown = sign_checkpoint(Checkpoint(ORIGIN, SIZE - 1, root_of(LEAVES)), LOG)
    return {
        "receipt-sound": one("nothing", "control", None),
        "receipt-for-another-entry": one("a true receipt beside another entry", "CVE-2022-36056", "inclusion",
                                         entry=LEAVES[5]),
        "receipt-at-another-index": one("the index is changed", "tlog-proof", "inclusion",
                                        data.replace(b"\nindex 4\n", b"\nindex 5\n")),
        "receipt-under-another-head": one("the proof is of one head, the checkpoint another", "sigstore/rekor#1092",
                                          "inclusion", TlogProof(4, true.path, note_of(FORKED)).format()),
        "receipt-of-another-size": one("the checkpoint says another size for its root", "sigstore/rekor#1055",
                                       "inclusion", TlogProof(4, true.path, grown).format()),
        "receipt-by-another-key": one("the checkpoint is signed by a key that is not known", "key substitution",
                                      "note-unsigned", TlogProof(4, true.path, note_of(LEAVES, OTHER)).format()),
        "receipt-without-its-first-line": one("the first line is gone", "tlog-proof", "proof",
                                              data.partition(b"\n")[2]),
        "receipt-with-a-lenient-index": one("the index is +4", "lenient decimals", "proof",
                                            data.replace(b"\nindex 4\n", b"\nindex +4\n")),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------- logs


def _logs() -> dict[str, Proof]:
    """300 entries: two bundles, two tiles of level 0, one of level 1."""
    entries = [b"entry %d" % number for number in range(300)]
    files = {name.removeprefix("log/"): data for name, data in log_files(entries).items()}
    first, second, upper = "tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1"
    bundle = "tile/entries/000"
    other = {name.removeprefix("log/"): data for name, data in log_files([b"instead", *entries[1:]]).items()}

    def one(what: str, source: str, rule: str | None, **change: bytes | None) -> Proof:
        present = {**files, **{_NAMES[name]: data for name, data in change.items()}}
        given = {"origin": ORIGIN, "vkeys": [vkey()],
                 "files": {name: b64(data) for name, data in sorted(present.items()) if data is not None}}  # fmt: skip
        return Proof("log", what, source, given, rule)

    assert set(_NAMES.values()) <= set(files)
    wrong = Checkpoint(ORIGIN, 300, Digest.of(b"another"))
    return {
        "log-sound": one("nothing: 300 entries", "control", None),
        "log-full-tile-tampered": one("a bit of a full tile", "golang/go#80744", "tile",
                                      first=spoiled(files[first], 99)),
        "log-partial-tile-tampered": one("a bit of a partial tile", "golang/go#80744", "tile",
                                         second=spoiled(files[second], 99)),
        "log-upper-tile-tampered": one("a bit of a tile above the leaves", "golang/go#80744", "tile",
                                       upper=spoiled(files[upper], 9)),
        "log-bundle-tampered": one("a bit of an entry", "tampered leaf", "leaf", bundle=spoiled(files[bundle], 6)),
        "log-tile-and-bundle-replaced": one("a bundle and its tile of another log, which agree", "golang/go#80744",
                                            "tile", first=other[first], bundle=other[bundle]),
        "log-replaced-under-its-head": one(
            "bundle and all tiles of another log, which agree up to the root", "golang/go#80744", "tile",
            first=other[first], bundle=other[bundle], upper=other[upper],
        ),
        "log-tile-missing": one("a tile is gone", "truncation", "missing", first=None),
        "log-bundle-missing": one("a bundle is gone", "truncation", "missing", bundle=None),
        "log-bundle-cut": one("a bundle ends in the middle of an entry", "truncation", "bundle",
                              bundle=files[bundle][:-3]),
        "log-tile-cut": one("a tile ends in the middle of a hash", "truncation", "tile", second=files[second][:-3]),
        "log-under-another-root": one("a head with a root that no files give", "sigstore/rekor#1092", "tile",
                                      head=sign_checkpoint(wrong, LOG)),
    }  # fmt: skip


_NAMES = {
    "first": "tile/0/000",
    "second": "tile/0/001.p/44",
    "upper": "tile/1/000.p/1",
    "bundle": "tile/entries/000",
    "head": "checkpoint",
}
