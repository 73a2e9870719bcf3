"""Measurements of rbl, as ratios side by side: `python -m bench [store] [ledger] [start] [visual]`."""
