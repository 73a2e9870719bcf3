# The project's commands. Each makes what it needs first: see scripts/bootstrap.sh.
.POSIX:
.PHONY: help setup demo test check bench clean

BIN = .venv/bin
DEMO = demo

help:
	@echo "make demo    the whole loop on this machine: freeze, attempts, verdicts, release, verification"
	@echo "make test    every test (needs Docker and Chromium; brings them on Debian as root)"
	@echo "make check   formatter, linter, types, import rules"
	@echo "make bench   measurements, as ratios side by side"
	@echo "make clean   remove the demo folder and caches of the tools"

setup:
	@sh scripts/bootstrap.sh

demo: setup
	@rm -rf $(DEMO)
	@$(BIN)/rbl demo $(DEMO) --json

test: setup
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup
	@$(BIN)/python -m pip install -qq --group bench
	@$(BIN)/python -m bench

clean:
	rm -rf $(DEMO) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
