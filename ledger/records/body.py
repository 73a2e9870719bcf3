"""What every record says, whatever its kind: the fields that all bodies share.

    {"after":{"root":"sha256:…","size":41},"issued_at":"2026-11-30T23:05:01Z","ledger":"example.org/bench",…}

The kinds are in `ledger.records.kinds` and `ledger.records.sidecars`.
"""

from __future__ import annotations

import msgspec

from ledger.records.parts import Head

__all__ = ["Body"]


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every record says.

    Attributes:
        ledger: origin of the log it is meant for (no replay into another).
        after: the head it was made after; null only in the very first record.
        issued_at: RFC 3339 in UTC, informative (`2026-11-30T23:05:01Z`).
    """

    ledger: str
    after: Head | None
    issued_at: str
