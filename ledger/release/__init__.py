"""Releases: outcomes, denominators, aggregation, the root, and its verification."""
