"""The schemas: one JSON Schema and one page for each kind of record and each document."""
