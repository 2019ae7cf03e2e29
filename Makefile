# Every task of the project. `make` alone prints this list; CI calls `check`, `test` and `test-rest`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# No index is named here: pip uses whatever this machine is set up with.
PIP := $(BIN)/python -m pip --disable-pip-version-check
# On all processors, in another order each time; nothing that failed is tried again. Where the environment forbids
# to keep bytecode, every worker would compile all tests anew, which takes longer than many of them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -q

# Slow tests mostly wait for other processes, so twice as many run at once.
WAITING = $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

# Where the gateway listens; 0 takes a free port.
PORT ?= 18789

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-outside test-rest test-all check lint types imports generated fmt bench docs clean install

help: ## Print this list.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Prowess needs Python 3.11 or newer: make PYTHON=python3.12 run"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Prowess into $(VENV) (once) ..."
	@$(PIP) install --quiet --constraint constraints.txt --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "Installing what tests and checks need into $(VENV) (once) ..."
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

install: $(VENV)/.dev ## Create .venv with everything that development needs.

run: $(VENV)/.run ## Start the gateway on the skills of this folder and the bundled ones; Ctrl-C stops it.
	@$(BIN)/prowess serve --port $(PORT)

test: $(VENV)/.dev ## Run the tests that are quick: a few minutes.
	@$(PYTEST) -m "not slow"

test-slow: $(VENV)/.dev ## Run the rest: processes, sockets, time; the studio's need Chromium, installed when root.
	@$(BIN)/python tools/browser.py
	@$(PYTEST) --numprocesses=$(WAITING) -m slow

test-outside: $(VENV)/.dev ## Run Claude Code, Codex, Gemini CLI and others against Prowess, with a scripted model; needs npm.
	@$(PYTEST) --numprocesses=$(WAITING) -rs tests/outside

# In one pool: while coding agents start and wait, the processors do the other tests.
test-rest: $(VENV)/.dev ## Run test-slow and test-outside at once.
	@$(BIN)/python tools/browser.py
	@$(PYTEST) --numprocesses=$(WAITING) -m slow tests tests/outside

test-all: $(VENV)/.dev ## Run every test, with coverage.
	@$(BIN)/python tools/browser.py
	@$(PYTEST) --cov --cov-report=term:skip-covered

check: lint types imports generated ## Everything but the tests: style, types, layers, generated pages.

lint: $(VENV)/.dev ## Check style and spelling.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src tests tools benchmarks

types: $(VENV)/.dev ## Check types, strictly, over source and tests.
	@$(BIN)/mypy

imports: $(VENV)/.dev ## Check that the layers hold.
	@$(BIN)/lint-imports

generated: $(VENV)/.dev ## Check that the reference pages match the code.
	@$(BIN)/python tools/reference.py --check

fmt: $(VENV)/.dev ## Format and fix what can be fixed.
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(VENV)/.dev ## Measure the hot paths against baselines of the same run.
	@$(BIN)/python benchmarks/speed/core.py
	@$(BIN)/python benchmarks/speed/routing.py
	@$(BIN)/python benchmarks/speed/scanning.py
	@$(BIN)/python -m benchmarks.speed.runs
	@$(BIN)/python -m benchmarks.speed.workshop
	@$(BIN)/python -m benchmarks.speed.experience
	@$(BIN)/python -m benchmarks.speed.hooks
	@$(BIN)/python -m benchmarks.speed.cold
	@$(BIN)/python -m benchmarks.speed.mcp
	@$(BIN)/python -m benchmarks.speed.studio
	@$(BIN)/python -m benchmarks.load.gateway

docs: $(VENV)/.dev ## Write the reference pages from the code and build the documentation into site/.
	@$(BIN)/python tools/reference.py
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[docs]'
	@$(BIN)/mkdocs build --strict --quiet

clean: ## Remove everything that was made.
	@rm -rf $(VENV) site dist build test-artifacts .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
