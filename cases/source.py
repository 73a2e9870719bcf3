"""The investigation behind a case: how the page was found, which version is the authoritative one, who allowed it.

    [source]
    lead = "seen in a list of one-page sites"
    origin = "https://example.org/bindery"
    permission = "our own work, Apache-2.0"
    differences = ["the map of the live page is left out"]

It is a table of `case.toml`, and becomes the `source` record. The material itself is a tree in the store, which only
curators read; its digest is all that the record says of it.
"""

from __future__ import annotations

from cases.contract import Part

__all__ = ["Investigation"]


class Investigation(Part, frozen=True):
    """What is known of a page's provenance.

    Attributes:
        lead: how it came to attention.
        origin: address or description of the authoritative live artifact; never told to a Candidate.
        permission: by whose leave it is used.
        differences: what differs between the original and the material kept.
    """

    lead: str
    origin: str
    permission: str
    differences: tuple[str, ...] = ()
