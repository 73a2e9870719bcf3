"""`python -m rbl` is `rbl`."""

from __future__ import annotations

from rbl.cli import main

main()
