"""A scripted agent that does most of the work: what a ranked entry looks like without a model behind it.

    cd <workspace> && python3 /agent/run.py

It writes the page from the pictures as a hasty worker would: the part on visiting the workshop is left out, the cards
have another colour, and the booking form does not answer. A score between nothing and full is the point of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKSPACE = Path.cwd()


def main() -> None:
    """Lay the work over the starter."""
    for name in ("page.html", "style.css", "page.js"):
        (WORKSPACE / "src" / name).write_bytes((HERE / name).read_bytes())
    sys.stdout.write("wrote src/page.html, src/style.css, src/page.js\n")


if __name__ == "__main__":
    main()
