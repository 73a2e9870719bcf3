"""Builds a Go program offline from what the Go distribution vendors: the note and tlog packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def build(source: Path, place: Path) -> Path:
    """The program of one source file, built in an empty folder."""
    go = shutil.which("go") or str(Path(sys.executable).parent / "go")
    root = subprocess.run([go, "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip()
    shutil.copytree(Path(root) / "src/cmd/vendor/golang.org/x/mod/sumdb", place / "mod/sumdb")
    (place / "mod/go.mod").write_text("module golang.org/x/mod\n\ngo 1.22\n")
    shutil.rmtree(place / "mod/sumdb/dirhash")
    for file in (place / "mod/sumdb").glob("*.go"):  # only note and tlog are wanted
        file.unlink()
    (place / "go.mod").write_text(
        "module check\n\ngo 1.22\n\nrequire golang.org/x/mod v0.0.0\n\nreplace golang.org/x/mod => ./mod\n"
    )
    shutil.copy(source, place / "main.go")
    offline = os.environ | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOSUMDB": "off", "GOCACHE": str(place / "cache")}
    subprocess.run([go, "build", "-o", "check", "."], cwd=place, check=True, capture_output=True, env=offline)
    return place / "check"
