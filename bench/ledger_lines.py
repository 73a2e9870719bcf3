"""The ledger: appending, verifying, proving, tracing, reporting; beside the signature check alone, and pymerkle."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.generated import BATCH, Generated
from bench.measure import RUNS, Line, at_least, at_most, interleaved, once, skipped
from ledger.log import merkle
from ledger.log.authority import open_log, read_checkpoint
from ledger.lookup import Lookup, reindex
from ledger.reader import Ledger
from ledger.records import keys
from ledger.records.envelope import Envelope
from ledger.release.draft import Draft
from ledger.release.freeze import record_draft
from ledger.release.trace import trace
from ledger.sequencer import Sequencer
from ledger.verify import verify_ledger

__all__ = ["lines"]

_MILLION: Final = 1_000_000
_SINGLES: Final = 60
_BATCHES: Final = 4
_PROOFS: Final = 300
_NEW: Final = 1024


def lines(place: Path, records: int) -> Iterator[Line]:
    """Measure, one line after another.

    Args:
        place: an empty folder.
        records: of the large ledger.
    """
    yield from _appending(place / "appending")
    large = Generated.make(place / "large", records)
    yield from _verifying(large, place / "large")
    yield from _reading(large)
    yield from _looking_up(large)
    yield from _verifying_new(large)


def _appending(place: Path) -> Iterator[Line]:
    made = Generated.begin(place, attempts=1)
    envelopes = made.bulk(RUNS * (_SINGLES + _BATCHES * BATCH))
    tree = _pymerkle(place / "pymerkle.db")
    singles, batches, floor, theirs = [], [], [], []
    with Sequencer.open(made.folder) as appender:
        for _ in range(RUNS):
            some, envelopes = envelopes[:_SINGLES], envelopes[_SINGLES:]
            singles.append(once(lambda some=some: [appender.append([one], integrate=False) for one in some]) / _SINGLES)
            if tree is not None:
                leaves = [one.format() for one in some]
                theirs.append(once(lambda leaves=leaves: [tree.append_entry(leaf) for leaf in leaves]) / _SINGLES)
            many, envelopes = envelopes[: _BATCHES * BATCH], envelopes[_BATCHES * BATCH :]
            parts = [many[start : start + BATCH] for start in range(0, len(many), BATCH)]
            batches.append(once(lambda parts=parts: [appender.append(part, integrate=False) for part in parts]))
            floor.append(once(lambda many=many: _check_signatures(made, many)))
    count = _BATCHES * BATCH
    yield at_least("append, one durable record", 1 / statistics.median(singles), 300, "records/s")
    if theirs:
        ratio = statistics.median(singles) / statistics.median(theirs)
        yield at_most("append, one durable record", ratio, None, "× pymerkle on SQLite")
    else:
        yield skipped("append, one durable record", "pymerkle is not installed: pip install --group bench")
    without = statistics.median(whole - signed for whole, signed in zip(batches, floor, strict=True))
    yield at_least(f"append, batches of {BATCH}", count / without, 10_000, "records/s, signature checks taken off")
    yield at_least(f"append, batches of {BATCH}", count / statistics.median(batches), None, "records/s, all of it")


def _check_signatures(made: Generated, envelopes: Sequence[Envelope]) -> None:
    public = {signer.keyid: signer.public for signer in made.signers.values()}
    for envelope in envelopes:
        for signature in envelope.signatures:
            keys.verify(public[signature.keyid], signature.sig, envelope.signed)


def _verifying(made: Generated, place: Path) -> Iterator[Line]:
    size = read_checkpoint(made.folder).head.size
    sample = [Envelope.parse(leaf) for leaf in open_log(made.folder).entries(size // 2, size // 2 + 2000)]
    floors, runs = [], []
    for _ in range(RUNS if size < _MILLION // 2 else 1):
        floors.append(once(lambda: _check_signatures(made, sample), time.process_time) / len(sample))
        runs.append(_verified(place))
    cpu = statistics.median(run["cpu"] for run in runs) / size
    wall = statistics.median(run["wall"] for run in runs)
    floor = statistics.median(floors)
    peak = max(run["peak"] for run in runs) / 1e6
    yield at_least("verify in full", 1 / cpu, 6000, "records/s and core, of CPU time")
    yield at_most("verify in full", cpu / floor, None, f"× the signature check alone ({1 / floor:,.0f}/s)")
    if size >= _MILLION:
        yield at_most(f"verify {size:,} records", wall, 80, "s")
        yield at_most(f"verify {size:,} records", peak, 500, "MB in the largest process")
    else:
        yield at_most(f"verify {size:,} records", wall, None, "s")
        yield at_most("verify 1,000,000 records", wall / size * _MILLION, 80, f"s, extrapolated from {size:,}")
        yield at_most(f"verify {size:,} records", peak, 500, "MB in the largest process")


def _verifying_new(made: Generated) -> Iterator[Line]:
    """What an auditor pays who comes again: with a pin file, only new records are read."""
    pin = made.folder.root.parent / "auditor.pin"
    full = once(lambda: verify_ledger(made.folder, pin_file=pin))
    size = read_checkpoint(made.folder).head.size
    seconds = []
    for round_ in range(RUNS):
        with Sequencer.open(made.folder) as appender:
            appender.append(made.bulk(_NEW, start=2 * 10**6 + round_ * _NEW))
        seconds.append(once(lambda: verify_ledger(made.folder, pin_file=pin)))
    new = statistics.median(seconds)
    yield at_most(f"verify {size:,} records into a pin file", full, None, "s, once")
    yield at_most(f"verify {_NEW:,} new ones with it", new * 1000, None, "ms")
    yield at_most(f"verify {_NEW:,} new ones with it", new / _NEW / (full / size), None, "× as long for each record")


def _verified(place: Path) -> dict[str, float]:
    """Verify in a process of its own, whose memory and time are its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.verify_once", str(place)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _reading(made: Generated) -> Iterator[Line]:
    log = open_log(made.folder)
    entries = list(log.entries())
    numbers = random.Random(1).sample(range(log.size), min(_PROOFS, log.size))
    subjects: dict[str, Any] = {"ours": lambda: [log.prove_inclusion(number) for number in numbers]}
    tree = _pymerkle(made.folder.root.parent / "pymerkle.db")
    if tree is not None:
        tree.append_entries(entries)
        subjects["theirs"] = lambda: [tree.prove_inclusion(number + 1) for number in numbers[:10]]
    seconds = interleaved(subjects)
    each = seconds["ours"] / len(numbers)
    path = log.prove_inclusion(numbers[0])
    leaf = merkle.leaf_hash(entries[numbers[0]])
    merkle.verify_inclusion(leaf, numbers[0], log.size, path, log.head.root.raw)
    yield at_most(f"inclusion proof, {log.size:,} records", each * 1000, 2, "ms")
    if tree is not None:
        yield at_most("inclusion proof", each / (seconds["theirs"] / 10), None, "× pymerkle on SQLite")
    first = once(lambda: Ledger.open(made.folder))
    yield at_most(f"open a view of {log.size:,} records", first, None, "s, the first time in a process")
    again = interleaved({"again": lambda: Ledger.open(made.folder)})["again"]
    with Sequencer.open(made.folder) as appender:
        appender.append(made.bulk(BATCH, start=10**6))
    new = once(lambda: Ledger.open(made.folder))
    yield at_most(
        f"open it again, {BATCH} records later",
        (new - again) * 1000,
        None,
        f"ms more than with none new ({again * 1000:.1f})",
    )
    ledger = Ledger.open(made.folder)
    ledger.attempts()
    name = made.attempts[len(made.attempts) // 2]
    traced = interleaved({"trace": lambda: trace(ledger, made.folder.store, name)})["trace"]
    yield at_most("trace one attempt, view open", traced * 1000, 50, "ms")
    schedule = ledger.schedule("all").digest
    drafted = interleaved({"report": lambda: Draft.of(ledger.records, ledger.head, schedule)})["report"]
    attempts = len(made.attempts)
    unit = "s" if attempts >= 100_000 else f"s, extrapolated from {attempts:,}"  # noqa: PLR2004
    yield at_most("results of 100,000 attempts, view open", drafted / attempts * 100_000, 1, unit)


def _looking_up(made: Generated) -> Iterator[Line]:
    """What commands do that read a few records of a long log, and `rbl report` as a whole process."""
    size = read_checkpoint(made.folder).head.size
    yield at_most(f"index {size:,} records", once(lambda: reindex(made.folder)), None, "s, once")
    name = made.attempts[len(made.attempts) // 2]
    seconds = interleaved(
        {
            "open": lambda: Lookup.open(made.folder),
            "trace": lambda: trace(Lookup.open(made.folder), made.folder.store, name),
        }
    )
    yield at_most("open a lookup", seconds["open"] * 1000, None, "ms")
    yield at_most("trace one attempt, opening included", seconds["trace"] * 1000, 50, "ms")
    _publish(made)
    command = [sys.executable, "-m", "rbl", "-C", str(made.folder.root), "report", "bench"]
    reported = interleaved({"report": lambda: subprocess.run(command, check=True, capture_output=True)})["report"]
    yield at_most(f"rbl report over {len(made.attempts):,} attempts", reported, 1, "s, the whole command")


def _publish(made: Generated) -> None:
    """Record a release as it is at the head; it may have slots that were never opened, which freezing would refuse."""
    ledger = Ledger.open(made.folder)
    draft = Draft.of(ledger.records, ledger.head, ledger.schedule("all").digest)
    record_draft(made.folder, "bench", draft)


def _pymerkle(path: Path) -> Any:
    try:
        import pymerkle
    except ImportError:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    return pymerkle.SqliteTree(str(path))
