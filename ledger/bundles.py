"""The bundles of a log, authenticated and examined in several processes, and given in order.

    for bundle in examined(folder.log, log.checkpoint, public):
        bundle.start, bundle.end      # 256, 512
        bundle.records                # Examined(…), or leaf bytes that the gate is to explain; None where …
        bundle.fault                  # … the bundle does not verify: ("leaf", "entry 300 is not the one in the tree")

A record is examined (`ledger.records.examined`) by whoever is free; folding them into a gate, in order, is for callers.
Each process believes the checkpoint that it is given and nothing else. The number of processes changes no answer.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from ledger.log.checkpoint import Checkpoint
from ledger.log.log import LogReader, read_folder
from ledger.log.tiles import WIDTH
from ledger.records.examined import Examined, examine
from store.errors import LogInvalid

__all__ = ["Bundle", "examined"]

_ALONE: Final = 8 * WIDTH
"""Fewer records than this are not worth starting processes for."""

_AHEAD: Final = 4
"""Bundles for each process that may wait."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Some records that follow each other.

    Attributes:
        start, end: they are the records `start … end - 1`.
        records: each examined, or its leaf as it is where it is not in order; None where there is a fault.
        fault: rule and cause, where the bundle is not that of the log.
    """

    start: int
    end: int
    records: list[Examined | bytes] | None
    fault: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    directory: Path
    checkpoint: Checkpoint
    public: Mapping[str, bytes]
    start: int
    end: int


def examined(
    directory: Path,
    checkpoint: Checkpoint,
    public: Mapping[str, bytes],
    start: int = 0,
    processes: int | None = None,
) -> Iterator[Bundle]:
    """Examine every bundle of a log.

    Args:
        directory: the `log/` folder.
        checkpoint: verified by the caller.
        public: every key that a trust root ever listed, by id, 32 raw bytes each.
        start: the first record that is wanted.
        processes: how many work at it; by default as many as there are cores.
    """
    size = checkpoint.size
    begins = [start, *range((start // WIDTH + 1) * WIDTH, size, WIDTH)] if start < size else []
    tasks = [_Task(directory, checkpoint, public, at, min((at // WIDTH + 1) * WIDTH, size)) for at in begins]
    workers = min(processes or os.cpu_count() or 1, len(tasks))
    if workers <= 1 or size - start < _ALONE:
        yield from map(_examine, tasks)
        return
    waiting: deque[Future[Bundle]] = deque()  # not all at once: answers that wait to be folded take memory
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for task in tasks:
            if len(waiting) >= workers * _AHEAD:
                yield waiting.popleft().result()
            waiting.append(pool.submit(_examine, task))
        while waiting:
            yield waiting.popleft().result()


def _examine(task: _Task) -> Bundle:
    try:
        leaves = list(_reader(task.directory, task.checkpoint).entries(task.start, task.end))
    except LogInvalid as error:
        return Bundle(task.start, task.end, None, (error.rule, error.what))
    return Bundle(task.start, task.end, [examine(leaf, task.public) or leaf for leaf in leaves])


@lru_cache(1)
def _reader(directory: Path, checkpoint: Checkpoint) -> LogReader:
    """One for all bundles that a process examines; what it keeps was authenticated under this checkpoint."""
    return LogReader(read_folder(directory), checkpoint)
