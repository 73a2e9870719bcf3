"""Who signed one record, checked by itself: for readers that read a few records and not the whole log.

    signers = Signers.of(folder)
    signers.check(envelope, "release", 97)      # Signed("release-manager", ("3f9a…",)), or RecordRejected

The chain of trust roots is verified from the pinned one on. A record must satisfy one of the roots that can have been
in force at its index: those that were made after a head no larger. Which one it was is known exactly only to those who
fold the whole log (`ledger.records.gate`), and they are those who admit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ledger.folder import Folder
from ledger.log.authority import trust_chain, trust_envelopes
from ledger.records.envelope import Envelope
from ledger.records.trust import Signed, TrustState
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Signers"]


@dataclass(frozen=True, slots=True)
class _Reign:
    """The rules from a trust root on, which cannot be in force at an index below `after`."""

    after: int
    rules: TrustState
    digest: Digest
    signed: Signed


class Signers:
    """The verified chain of trust roots, newest first."""

    def __init__(self, reigns: Sequence[_Reign]) -> None:
        self._reigns = reigns

    @classmethod
    def of(cls, folder: Folder, pinned: Digest | None = None) -> Self:
        """The signers of a folder's ledger.

        Raises:
            LogInvalid: the chain does not verify (`trust`).
            InputError: nothing is pinned.
        """
        roots, envelopes = trust_chain(folder, pinned), trust_envelopes(folder, pinned)
        reigns: list[_Reign] = []
        for number, (root, envelope) in enumerate(zip(roots, envelopes, strict=True)):
            rules = TrustState()
            signed = [
                rules.install(earlier, said, 0 if earlier.after is None else earlier.after.size)
                for earlier, said in zip(roots[: number + 1], envelopes, strict=False)
            ]
            after = 0 if root.after is None else root.after.size
            reigns.append(_Reign(after, rules, envelope.digest, signed[-1]))
        return cls(reigns[::-1])

    def check(self, envelope: Envelope, kind: str, index: int) -> Signed:
        """Check the signatures of a record that stands at an index of the authenticated log.

        Raises:
            RecordRejected: as `TrustState.check`.
        """
        if kind == "trust-root":
            for reign in self._reigns:
                if reign.digest == envelope.digest:
                    return reign.signed
            raise RecordRejected("trust-root", "not one of the chain in trust/", where=f"record {index}")
        refusal: RecordRejected | None = None
        for reign in self._reigns:
            if reign.after <= index:
                try:
                    return reign.rules.check(envelope, kind, index)
                except RecordRejected as error:
                    refusal = refusal or error
        assert refusal is not None  # the first trust root is in force from the beginning
        raise RecordRejected(refusal.rule, refusal.what, where=f"record {index}", fix=refusal.fix)
