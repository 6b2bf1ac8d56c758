# Each target sets up .venv by itself: with uv where it is installed, else with venv and pip, which brings uv if it can.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DATA ?=
JUDGE ?=
MODEL ?=

.PHONY: demo test check format docs bench bench-capture bench-align bench-judge bench-scorer bench-report agreement seeds soak test-examples test-examples-all screens clean help

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv: $(STAMP)

$(STAMP): requirements-dev.txt pyproject.toml $(wildcard instrumentation/*/pyproject.toml)
	@if command -v uv >/dev/null 2>&1; then \
		uv venv -q --allow-existing --python $(PYTHON) .venv && uv pip install -q --python $(BIN)/python -r requirements-dev.txt; \
	else \
		$(PYTHON) -m venv .venv && $(BIN)/pip install -q --disable-pip-version-check uv 2>/dev/null \
			&& $(BIN)/uv pip install -q --python $(BIN)/python -r requirements-dev.txt \
			|| $(BIN)/pip install -q --disable-pip-version-check -r requirements-dev.txt; \
	fi
	@touch $(STAMP)

demo: $(STAMP)  ## Run a RAG chain, score what its generator received, show the scores.
	@$(BIN)/ragtrace demo

test: $(STAMP)  ## Run the tests.
	@$(BIN)/python -m pytest -n 2 -q $(PYTEST_ARGS)

check: $(STAMP)  ## Lint, types and import contracts.
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP)  ## Format and fix.
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: bench-align bench-judge bench-scorer bench-capture  ## All benchmarks.

bench-capture: $(STAMP)  ## What capture costs the application, beside other handlers.
	@$(BIN)/python benchmarks/capture.py

bench-align: $(STAMP)  ## How well and how fast passages are found in prompts.
	@$(BIN)/python benchmarks/align.py

bench-judge: $(STAMP)  ## Calls, tokens, throughput and faults of the judge.
	@$(BIN)/python benchmarks/judge.py

bench-scorer: $(STAMP)  ## Write-back, requests under a rate limit, and memory of the scorer.
	@$(BIN)/python benchmarks/scorer.py
	@$(BIN)/python benchmarks/scorer_workers.py

bench-report: $(STAMP)  ## Seconds and bytes of a report on 10,000 calls.
	@$(BIN)/python benchmarks/report.py

agreement: $(STAMP)  ## DATA=dir [JUDGE=endpoint MODEL=name]: a judge against human labels.
	@$(BIN)/python benchmarks/agreement.py $(if $(DATA),--data $(DATA)) $(if $(JUDGE),--judge $(JUDGE)) $(if $(MODEL),--model $(MODEL))

seeds: $(STAMP)  ## [JUDGE=endpoint MODEL=name]: the published examples of each metric, put to a judge.
	@$(BIN)/python benchmarks/seeds.py $(if $(JUDGE),--judge $(JUDGE)) $(if $(MODEL),--model $(MODEL))

soak: $(STAMP)  ## Slow checks: many runs, leaks, kills and restarts.
	@$(BIN)/python -m pytest -q -m "soak and not environment" -o addopts="--import-mode=importlib"

test-examples: $(STAMP)  ## Run every example, each framework in an environment of its own.
	@$(BIN)/python -m pytest -q --timeout 600 tests/test_examples.py tests/examples -m "not soak"

test-examples-all: $(STAMP)  ## The same, and the example that installs RAGAS.
	@$(BIN)/python -m pytest -q --timeout 600 tests/test_examples.py tests/examples -m ""

docs: $(STAMP)  ## Build the documentation into site/; a warning is an error.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

screens: $(STAMP)  ## Take docs/screens/*.png with Chromium.
	@$(BIN)/python benchmarks/screens.py

clean:  ## Remove the environment and what runs left behind.
	rm -rf .venv .venv-examples .ragtrace .mypy_cache .ruff_cache .pytest_cache .hypothesis
