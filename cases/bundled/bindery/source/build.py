"""Puts `dist/` together: the page from its partials, the styles, the script and the assets beside it.

    python3 build.py

`<!-- include hero -->` in `src/page.html` stands for `src/partials/hero.html`. Only the standard library is needed.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SOURCE = ROOT / "src"
OUTPUT = ROOT / "dist"


def main() -> None:
    """Build from nothing: what was in `dist/` goes."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    page = (SOURCE / "page.html").read_text(encoding="utf-8")
    partials = SOURCE / "partials"
    page = re.sub(
        r"<!-- include ([a-z]+) -->\n", lambda found: (partials / f"{found[1]}.html").read_text("utf-8"), page
    )
    (OUTPUT / "index.html").write_text(page, encoding="utf-8")
    for file in sorted(SOURCE.iterdir()):
        if file.suffix in {".css", ".js"}:
            shutil.copyfile(file, OUTPUT / file.name)
    shutil.copytree(ROOT / "assets", OUTPUT / "assets")


if __name__ == "__main__":
    main()
