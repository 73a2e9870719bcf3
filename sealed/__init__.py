"""The sealed evaluator: a process of its own, never imported, that turns captures and a sealed kit into a verdict."""
