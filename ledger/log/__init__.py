"""The log: an append-only Merkle tree of records in static files, as C2SP and RFC 9162 describe it."""
