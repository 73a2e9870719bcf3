"""Every record of a rebuilt log under the rules of admission, the stateless part of it in several processes.

    for record in admit_all(entries, "example.org/bench", levels.root, keys, processes=2): ...

Parsing, schema and signatures (`ledger.records.examined`) need no state and are spread over bundles; the gate then
folds the records in their order. What could not be examined is given to the gate whole, which says what is wrong with
it. The number of processes changes no answer.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from ledger.log.tiles import WIDTH
from ledger.records.envelope import Envelope
from ledger.records.examined import Examined, examine
from ledger.records.gate import Gate
from ledger.records.record import Record
from store.digest import Digest

__all__ = ["admit_all"]

_ALONE: Final = 8 * WIDTH
"""Logs below this many records are not worth starting processes for."""


def admit_all(
    entries: Sequence[bytes],
    origin: str,
    root_at: Callable[[int], Digest],
    public: Mapping[str, bytes],
    *,
    processes: int | None,
) -> Iterator[Record]:
    """Admit the records of a log, in order.

    Args:
        entries: leaf bytes, authenticated.
        origin: of the ledger.
        root_at: the root that the log had at a size.
        public: every key that a trust root ever listed, by id, 32 raw bytes each.
        processes: how many work at it; the number of processors when null.

    Raises:
        RecordRejected: a record breaks a rule; those before it were given.
    """
    gate = Gate(origin, root_at)
    index = 0
    for answers in _examined(entries, public, processes):
        for entry, examined in answers:
            if examined is None:
                yield gate.admit(Envelope.parse(entry, where=f"record {index}"), index)
            else:
                yield gate.admit_examined(examined, index)
            index += 1


_Answers = list[tuple[bytes, Examined | None]]


def _examined(entries: Sequence[bytes], public: Mapping[str, bytes], processes: int | None) -> Iterator[_Answers]:
    chunks = [(entries[start : start + WIDTH], public) for start in range(0, len(entries), WIDTH)]
    workers = min(processes or os.cpu_count() or 1, len(chunks))
    if workers <= 1 or len(entries) < _ALONE:
        yield from map(_examine, chunks)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_examine, chunks, chunksize=2)


def _examine(chunk: tuple[Sequence[bytes], Mapping[str, bytes]]) -> _Answers:
    entries, public = chunk
    return [(entry, examine(entry, public)) for entry in entries]
