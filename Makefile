# PYTHON chooses the interpreter; each version has an environment of its own: PYTHON=python3.13 make bench
PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := .venv/$(VERSION)

.DELETE_ON_ERROR:
.PHONY: help bench test check lint types tests format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:/ {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bench: $(VENV)/bench.stamp  ## compare every Zarr library on this machine, in minutes; results in results/
	$(VENV)/bin/fastzarr bench sequential --quick

test: check  ## what CI runs: lint, types and tests

check: lint types tests  ## the same as test

lint: $(VENV)/dev.stamp  ## ruff, rules and format
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(VENV)/dev.stamp  ## mypy, strict
	$(VENV)/bin/mypy

tests: $(VENV)/dev.stamp .venv/system.stamp  ## pytest
	$(VENV)/bin/pytest

format: $(VENV)/dev.stamp  ## rewrite the source as ruff wants it
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

clean:  ## remove environments, caches and builds; results/ stays
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +

# Programs that tests run, installed once where that is possible; without them those tests are skipped.
.venv/system.stamp:
	@mkdir -p $(@D)
	@missing=; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing=" nginx"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -z "$$missing" ]; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing, for tests over HTTP and of zarrita.js"; \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing; } \
	    >.venv/system.log 2>&1 && touch $@ || echo "could not be installed:$$missing; see .venv/system.log"; \
	else echo "not installed:$$missing; the tests that run them are skipped"; fi

# An extra is installed once, and again when pyproject.toml changes.
$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing fastzarr[$*] into $(VENV), once; this takes a minute or two"
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys' 2>/dev/null || { \
	  echo "PYTHON=$(PYTHON) does not run. Name an interpreter of 3.11 or newer: PYTHON=python3.12 make $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "PYTHON=$(PYTHON) is Python $(VERSION); fastzarr needs 3.11 or newer: PYTHON=python3.12 make $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "PYTHON=$(PYTHON) has no venv module. On Debian and Ubuntu: apt-get install python$(VERSION)-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
