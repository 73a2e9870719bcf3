"""Any executable as an agent: its argument vector is run as it stands.

    {"adapter":"command","argv":["python3","/agent/fix.py","--brief","/task/brief.md"],"files":"sha256:…","version":"1"}

No shell looks at it. Paths below `/workspace`, `/task` and `/agent` are those of the sandbox; under the native backend
they are moved to where these are.
"""

from __future__ import annotations

from ledger.records import kinds
from runners.agents.base import SANDBOX, Launch, Places
from store.errors import InputError

__all__ = ["Command"]


class Command:
    """Runs what the entry says."""

    def launch(self, agent: kinds.Agent, places: Places = SANDBOX) -> Launch:
        """How to start it.

        Raises:
            InputError: the argument vector is empty.
        """
        if not agent.argv:
            raise InputError(
                "the agent has no argument vector", fix='give the entry one, such as ["python3", "/agent/fix.py"]'
            )
        return Launch(tuple(places.move(argument) for argument in agent.argv))
