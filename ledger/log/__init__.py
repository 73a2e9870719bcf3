"""The log: an append-only Merkle log of opaque leaves, in the formats of C2SP and the RFCs 6962 and 9162."""
