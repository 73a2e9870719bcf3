"""The sealed evaluator: a process of its own, never imported, that turns captures and a sealed kit into a verdict."""

import os

# sums are exact in any order, so that threads of the linear algebra library would only wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
