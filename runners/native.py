"""The host as a backend, for diagnosis only: the same walk as in containers, without their walls.

    native = Native(store, "3f2a9c01d4e5")
    produced = native.produce(job, observe)

An agent is a process of the operator's own in a session of its own, with limits on CPU time, memory, files and
processes of the user; it reaches the network, the disk and everything else that the operator reaches. When it ends,
its session is killed, and whatever else carries its mark in the environment. Nothing here counts: records say
`backend: native`, and no release takes them. Paths below `/workspace`, `/task` and `/agent` in an agent's arguments are
moved to the temporary directories that stand for them.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cases.contract import BuildRecipe
from cases.plan import Plan
from ledger.records import kinds
from runners import harvest, workspace
from runners.agents.base import Places
from runners.agents.registry import adapter
from runners.backend import BackendFailure, Built, Job, Observe, Produced, Rendered
from runners.production import CAP, GRACE, agent_result, faults, finish, guarded
from runners.runspec import RunResult
from store.archive import Caps
from store.digest import Digest
from store.directory import load_tree, read_tree, save_tree, write_out
from store.errors import TreeError, Unavailable
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Native"]

_MARK: Final = "RBL_NATIVE_RUN"
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_BUILD_SECONDS: Final = 600
