"""The agent that knows the answer: it lays its files, the reference, over the workspace. Also known as `mock-fix`.

    {"adapter":"oracle","argv":[],"files":"sha256:…","version":"1"}

It shows that a case can be solved and what a full score is; as an entry it ranks nothing. Files of the starter that
the reference does not have stay.
"""

from __future__ import annotations

from ledger.records import kinds
from runners.agents.base import SANDBOX, Launch, Places

__all__ = ["Oracle"]


class Oracle:
    """Copies."""

    def launch(self, agent: kinds.Agent, places: Places = SANDBOX) -> Launch:  # noqa: ARG002  the same for each
        """How to start it."""
        copy = ("cp", "-r", "--no-dereference", "--preserve=mode,links", f"{places.agent}/.", f"{places.workspace}/")
        return Launch(copy, needs_files=True)
