"""A record carried outside its log: its leaf and a receipt, which a git clone has where the log is not.

    record.dsse          the signed envelope, byte for byte the leaf
    record.tlog-proof    that it is in the log (C2SP tlog-proof)

    leaf, receipt = carry(folder, record)
    record = open_carried(folder, leaf, receipt, pinned)    # with `rbl.toml` and `trust/` at hand, and no log

What holds: a curator whom the trust roots list signed it, and the log's key signed a head that includes it. What only
the log can say is not known here: whether it was withdrawn, or superseded, later.
"""

from __future__ import annotations

from ledger.folder import Folder
from ledger.log.authority import log_keys, read_note, trust_chain
from ledger.log.checkpoint import open_checkpoint
from ledger.log.pin import Pin
from ledger.log.proof import TlogProof
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import Statement
from ledger.records.trust import Signed, TrustState
from store import disk
from store.digest import Digest
from store.errors import LogInvalid, RecordRejected

__all__ = ["carry", "open_carried", "pin_or_own"]


def carry(folder: Folder, record: Record) -> tuple[bytes, bytes]:
    """The leaf of a record, and a receipt for it at the present head."""
    while True:
        note = read_note(folder)
        ledger = Ledger.open(folder)
        if read_note(folder) == note:  # nobody appended in between
            return ledger.leaf(record.index), ledger.log.receipt(record.index, note).format()


def open_carried(folder: Folder, leaf: bytes, receipt: bytes, pinned: Digest) -> Record[kinds.Body]:
    """Verify a carried record.

    Args:
        folder: the benchmark folder, of which only `rbl.toml` and `trust/` are read.
        leaf: the record's bytes.
        receipt: a tlog-proof of it.
        pinned: digest of the first trust root.

    Raises:
        LogInvalid: trust roots, checkpoint or path do not verify.
        RecordRejected: it is no record of this ledger, or not signed by whom it must be.
    """
    origin = folder.config.origin
    roots = trust_chain(folder, pinned)
    proof = TlogProof.parse(receipt)
    checkpoint = proof.verify(leaf, origin, log_keys(origin, roots, 0))
    # a key that is distrusted from some index on does not sign heads beyond it
    open_checkpoint(proof.checkpoint, origin, log_keys(origin, roots, checkpoint.size))
    envelope = Envelope.parse(leaf)
    statement = Statement.parse(envelope.payload)
    if statement.body.ledger != origin:
        raise RecordRejected("origin", f"a record of {statement.body.ledger}", fix="it belongs to another ledger")
    signed = _signed(folder, roots, envelope, statement.kind, proof.index)
    return Record(
        proof.index,
        envelope.digest,
        envelope.payload_digest,
        statement.body,
        statement.kind,
        signed.keyids,
        signed.role,
    )


def pin_or_own(folder: Folder, given: Digest | None) -> tuple[Digest, bool]:
    """The first trust root to start from: the one given, else the one this machine pinned, else the folder's own.

    Returns:
        Its digest, and whether anything but the folder itself says so.

    Raises:
        LogInvalid: there is no trust root in the folder (`trust`).
    """
    known = given or Pin(folder.state).trust_root
    if known is not None:
        return known, True
    place = folder.trust / "1.root.json"
    with disk.faults("cannot read the trust root", place):
        if not place.exists():
            raise LogInvalid("trust", "the first trust root is missing", where=str(place))
        return Digest.of(place.read_bytes()), False


def _signed(folder: Folder, roots: list[kinds.TrustRoot], envelope: Envelope, kind: str, index: int) -> Signed:
    """Whose signatures count: some trust root in the chain lets them, and the newest does not distrust them there.

    Which of them was in force at the index is for the log to say; its key vouches for that by including the record.
    """
    state = TrustState()
    found: Signed | None = None
    refused: RecordRejected | None = None
    for number, root in enumerate(roots, 1):
        data = (folder.trust / f"{number}.root.json").read_bytes()
        state.install(root, Envelope.parse(data), 0 if root.after is None else root.after.size)
        try:
            found = state.check(envelope, kind, index)
        except RecordRejected as error:
            refused = error
    if found is None:
        assert refused is not None
        raise refused
    if any(state.distrusts(keyid, index) for keyid in found.keyids):
        raise RecordRejected("distrusted", f"the key of this {kind} is distrusted now", fix="ask for the case again")
    return found
