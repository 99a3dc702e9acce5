# Every target makes and uses its own virtual environment; nothing but Python and make has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest
PEERS := .peers
TORCH := torch>=2.13,<2.14
NO_PEERS := Opacus and PyTorch ($(TORCH)) could not be installed in $(PEERS), so nothing was compared and the record is as it was.
OLD_PYTHON := Hullabaloo needs Python 3.11 or later. Name one that is: make PYTHON=python3.12

# Of the suite's hundreds of processes none compiles again what another has.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint docs bench audit soak peers release clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo    a private regression of a real survey, in demo-output/'
	@echo 'make test    lint, types, and every fast test'
	@echo 'make soak    the long tests, and a line each of what passed (NAMES="planted fuzz": those)'
	@echo 'make audit   attack every solver and stream 100 000 times, and record how much is learned'
	@echo 'make bench   record what is stale (NAMES="planner tuning": those), and fill in the tables of the documentation'
	@echo 'make peers   measure Opacus beside our DP-SGD, in a virtual environment of its own'
	@echo 'make docs    run the pages whose code or public names changed (PAGES=docs/streams.md: those)'
	@echo 'make release every test, and no record or page of older code'
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

release: test
	$(BIN)/python -m benchmarks --stale
	$(BIN)/python docs/execute.py --stale

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python docs/execute.py $(PAGES)

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(NAMES)
	$(BIN)/python docs/execute.py --tables
	$(BIN)/python docs/pictures.py

audit: $(STAMP)
	$(BIN)/python -m benchmarks audit
	$(BIN)/python docs/execute.py --tables

soak: $(STAMP)
	$(BIN)/python -m tests.soak $(NAMES)
	$(BIN)/python docs/execute.py --tables

peers:
	$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[parquet]' opacus '$(TORCH)' \
		|| { echo '$(NO_PEERS)' >&2; exit 1; }
	$(PEERS)/bin/python -m benchmarks peers
	$(PEERS)/bin/python docs/execute.py --tables

clean:
	rm -rf $(VENV) $(PEERS) build dist demo-output .pytest_cache .mypy_cache .ruff_cache
