# Every target makes and uses its own virtual environment; nothing but Python and make has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest
OLD_PYTHON := Hullabaloo needs Python 3.11 or later. Name one that is: make PYTHON=python3.12

.PHONY: help demo test lint docs bench soak clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo    a private regression of a real survey, in demo-output/'
	@echo 'make test    lint, types, and every fast test'
	@echo 'make soak    the long tests, and a record of what they passed on'
	@echo 'make bench   measure, record, and fill in the tables of the documentation'
	@echo 'make docs    run what the documentation shows'
	@echo 'make clean   remove what was made here'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "$(OLD_PYTHON)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/hullabaloo demo --out demo-output

test: $(STAMP) lint
	$(PYTEST) -n 2 --dist worksteal -m "not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python docs/execute.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks frank_wolfe geometry gradient ledger moments noise planner share_kept theory uci_regression
	$(BIN)/python docs/execute.py --tables
	$(BIN)/python docs/pictures.py

soak: $(STAMP)
	$(BIN)/python -m benchmarks soak

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache
