# The two commands of the README are `make demo` and `make test`. Each makes .venv if need be and
# needs nothing but python3, make and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Data that is not shipped: tests that need it say that they are skipped without it.
export SUGARTAG_DATA ?= $(wildcard ../shared/data)

.PHONY: demo reproduce test lint bench docs clean

demo: $(VENV)/installed
	$(BIN)/sugartag demo --out demo-out

reproduce: $(VENV)/installed
	$(BIN)/sugartag reproduce --out reproduce-out

# Two processes of one BLAS thread each: faster than one of two, and files stay together.
test: $(VENV)/installed-for-tests lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(TESTS)

lint: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# With the extras of the tests: one of the searches that are measured is one of them. The last three
# need the real collections, in the folder that SUGARTAG_DATA names.
bench: $(VENV)/installed-for-tests
	$(BIN)/sugartag bench paper-size --out benchmarks/results/bench-paper-size.json
	$(BIN)/sugartag bench scaling --methods sugar-plus,sugar-tc --out benchmarks/results/bench-scaling.json
	$(BIN)/sugartag bench solvers --out benchmarks/results/bench-solvers.json
	$(BIN)/sugartag bench scoring --out benchmarks/results/bench-scoring.json
	$(BIN)/python benchmarks/performance_page.py
	$(BIN)/python benchmarks/bench_all_methods.py --out benchmarks/results/all-methods-20000.json
ifneq ($(SUGARTAG_DATA),)
	$(BIN)/python benchmarks/bench_ablations.py documerica openclipart mdi div400 --data $(SUGARTAG_DATA)
	$(BIN)/python benchmarks/bench_design.py documerica openclipart mdi div400 --data $(SUGARTAG_DATA)
	$(BIN)/python benchmarks/bench_verdicts.py documerica openclipart mdi --data $(SUGARTAG_DATA)
endif
	$(BIN)/python benchmarks/compare.py render

# Reads as it is from the disk; searching it needs a server: python3 -m http.server -d site
docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) demo-out reproduce-out site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embed]'
	touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,docs]'
	touch $@
