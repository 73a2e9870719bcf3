"""The ledger: signed records, the append-only log they form, and the releases cut from it."""
