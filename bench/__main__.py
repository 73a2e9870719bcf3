"""`python -m bench [store] [ledger] [start] [visual]`: measure, print each line beside its goal, write JSON.

python -m bench                               # all of it, about two minutes
python -m bench ledger --records 1000000      # a ledger of a million records, really made and verified
python -m bench store --megabytes 906
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Line, machine

_GROUPS = ("store", "ledger", "start", "visual")
_RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure the groups that are named, print each line beside its goal, and write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure rbl, side by side.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(_GROUPS)}; all by default")
    parser.add_argument("--records", type=int, default=20_000, help="of the large ledger (default 20000)")
    parser.add_argument("--megabytes", type=int, default=32, help="of the tree that is stored (default 32)")
    options = parser.parse_args()
    wanted = options.groups or list(_GROUPS)
    if unknown := set(wanted) - set(_GROUPS):
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(_GROUPS)}")
    found = machine()
    print(", ".join(f"{key} {value}" for key, value in found.items()))
    lines = []
    with tempfile.TemporaryDirectory(prefix="rbl-bench-") as scratch:
        for group in wanted:
            place = Path(scratch) / group
            place.mkdir()
            for line in _measured(group, place, options.records, options.megabytes):
                print(line, flush=True)
                lines.append({"group": group, **line.document()})
    now = datetime.now(UTC)
    _RESULTS.mkdir(exist_ok=True)
    target = _RESULTS / f"{now:%Y%m%dT%H%M%SZ}.json"
    target.write_text(json.dumps({"at": now.isoformat(), "machine": found, "lines": lines}, indent=1) + "\n")
    print(f"written to {target}")


def _measured(group: str, place: Path, records: int, megabytes: int) -> Iterator[Line]:
    if group == "store":
        from bench import store_lines

        yield from store_lines.lines(place, megabytes)
    elif group == "ledger":
        from bench import ledger_lines

        yield from ledger_lines.lines(place, records)
    elif group == "start":
        from bench import start_lines

        yield from start_lines.lines(place)
    else:
        from bench import visual_lines

        yield from visual_lines.lines()


if __name__ == "__main__":
    main()
