# turnstone-lsp: `make demo` shows it working, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long test-vscode check lint types setup lock bench clean help

## help: list these targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(VENV)/.ready: requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

## setup: make the virtual environment from the hashed lock
setup: $(VENV)/.ready

## demo: a full turn on a small broken project; needs no key and no network once set up
demo: setup
	$(BIN)/turnstone-lsp demo

## lint: ruff, import contracts, dependencies
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/deptry .

## types: mypy in strict mode
types: setup
	$(BIN)/mypy

## check: lint, types
check: lint types

## test: every check and every test but the long ones
test: check
	$(BIN)/pytest -n auto -m "not long"

## test-long: kills, soak, fuzz, corpora as root and as an ordinary user
test-long: setup
	$(BIN)/pytest -n auto -m long

## bench: what recall and edits do and cost; fetches source packages of the registries once
bench: setup
	$(BIN)/python benchmarks/recall.py
	$(BIN)/python benchmarks/edits

## lock: compile the hashed lock anew (needs uv)
lock:
	uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --group dev pyproject.toml scripts/build.in -o requirements-dev.lock

## clean: remove what the other targets made
clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache
