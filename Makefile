# Everything a person needs after a clone. Each target sets itself up; a second call starts at once.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
# One thread per test process: two processes with two threads each would fight over two cores.
WORKERS ?= auto

.PHONY: demo test test-long test-kernels check setup docs tables format clean
.DEFAULT_GOAL := demo

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "truelabel needs Python 3.11 or newer: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/truelabel demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

test-long: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m long tests

# Kernels for a GPU: run by Triton's interpreter on a CPU, and compiled. Triton is large, and nothing else needs it.
test-kernels: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check triton==3.6.0
	$(BIN)/python -m pytest -n $(WORKERS) $(wildcard tests/test_*_kernel*.py tests/*/test_*_kernel*.py)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

tables: $(STAMP)
	for paper in $(patsubst src/truelabel/experiments/%.py,%,$(wildcard src/truelabel/experiments/*20??.py)); do \
	    $(BIN)/truelabel reproduce $$paper --markdown docs/tables/$$paper.md; done

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist site
