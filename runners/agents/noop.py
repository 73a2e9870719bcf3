"""The agent that does nothing: it hands the starter back, and must score exactly 0.

{"adapter":"noop","argv":[],"files":null,"version":"1"}
"""

from __future__ import annotations

from ledger.records import kinds
from runners.agents.base import SANDBOX, Launch, Places

__all__ = ["Noop"]


class Noop:
    """Runs `true`."""

    def launch(self, agent: kinds.Agent, places: Places = SANDBOX) -> Launch:  # noqa: ARG002  the same for each
        """How to start it."""
        return Launch(("true",))
