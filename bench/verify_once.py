"""Verifies a generated ledger once and prints what it took: `python -m bench.verify_once FOLDER [PROCESSES]`."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path


def main(place: Path, processes: int | None) -> None:
    """Verify the ledger in a folder once and print what it took.

    Args:
        place: holds the folder and its homes.
        processes: how many check at once; the number of processors when null.
    """
    os.environ["RBL_CONFIG_HOME"] = str(place / "config")
    os.environ["RBL_STATE_HOME"] = str(place / "state")
    from ledger.folder import Folder
    from ledger.verify import verify_ledger

    start = time.perf_counter()
    report = verify_ledger(Folder.open(place / "bench"), processes)
    wall = time.perf_counter() - start
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(
        json.dumps(
            {
                "size": report.size,
                "findings": len(report.findings),
                "wall": wall,
                "cpu": sum(one.ru_utime + one.ru_stime for one in used),
                "peak": max(one.ru_maxrss for one in used) * 1024,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)  # noqa: PLR2004
