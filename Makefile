# PYTHON chooses the interpreter; each version has an environment of its own: PYTHON=python3.13 make bench
PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := .venv/$(VERSION)
KERNEL := $(wildcard src/fastzarr/kernel/*)
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends

.DELETE_ON_ERROR:
.PHONY: help bench test check lint types tests sanitize serve-peers format clean always

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:/ {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bench: $(VENV)/bench.stamp  ## compare every Zarr library on this machine, in minutes; results in results/
	$(VENV)/bin/fastzarr bench sequential --quick

test: check  ## what CI runs: lint, types and tests

check: lint types tests  ## the same as test

lint: $(VENV)/dev.stamp  ## ruff, rules and format
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(VENV)/dev.stamp  ## mypy, strict
	$(VENV)/bin/mypy

tests: $(VENV)/dev.stamp .venv/system.stamp .venv/webknossos/stamp .venv/serve-peers/stamp  ## pytest, on every core
	$(VENV)/bin/pytest --numprocesses logical --maxprocesses 8 --dist worksteal

sanitize: $(VENV)/dev.stamp  ## tests of the kernel with address and undefined-behaviour sanitizers
	$(VENV)/bin/python tests/sanitize.py

serve-peers: .venv/serve-peers/stamp  ## the servers that `fastzarr bench serve --servers all` compares

format: $(VENV)/dev.stamp  ## rewrite the source as ruff wants it
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

clean:  ## remove environments, caches and builds; results/ stays
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf src/fastzarr/_kernel.*.so src/fastzarr.egg-info
	find src tests -name __pycache__ -type d -exec rm -rf {} +

# Programs that tests run, installed once where that is possible; without them those tests are skipped.
.venv/system.stamp:
	@mkdir -p $(@D)
	@missing=; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing=" nginx"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	command -v wrk >/dev/null || missing="$$missing wrk"; \
	command -v strace >/dev/null || missing="$$missing strace"; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	[ -e /usr/share/mricron/templates ] || missing="$$missing mricron-data"; \
	if [ -z "$$missing" ]; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing, for tests of servers and clients"; \
	  { apt-get -qq update && $(APT_INSTALL) $$missing; } \
	    >.venv/system.log 2>&1 && touch $@ || echo "could not be installed:$$missing; see .venv/system.log"; \
	else echo "not installed:$$missing; the tests that run them are skipped"; fi

# The package webknossos, in an environment of its own because of what it needs; tests have it read what is written.
.venv/webknossos/stamp: | $(VENV)/bin/python
	@echo "Installing webknossos into .venv/webknossos, once, for tests; this takes a minute"
	@$(VENV)/bin/python -m venv .venv/webknossos && \
	  .venv/webknossos/bin/python -m pip install --quiet --disable-pip-version-check 'webknossos>=4.3' \
	    >.venv/webknossos/log 2>&1 && touch $@ || \
	  echo "webknossos could not be installed: the tests that run it are skipped; see .venv/webknossos/log"

# Servers that are compared, in an environment of their own because of what they need; one of them needs 3.12.
PEERS_PYTHON ?= $(shell for p in python3.13 python3.12 $(VENV)/bin/python; do \
  $$p -c 'import venv, ensurepip' 2>/dev/null && echo $$p && break; done)
PEERS := src/fastzarr/bench/serving/peers/requirements.txt

.venv/serve-peers/stamp: $(PEERS) | $(VENV)/bin/python
	@echo "Installing servers to compare with into .venv/serve-peers, once; this takes a minute or two"
	@$(or $(PEERS_PYTHON),$(VENV)/bin/python) -m venv .venv/serve-peers && \
	  .venv/serve-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $(PEERS) \
	    >.venv/serve-peers/log 2>&1 && touch $@ || \
	  echo "they could not be installed: what runs them is skipped; see .venv/serve-peers/log"

# An extra is installed once, and again when what it is built from changes. A kernel older than its source is removed,
# since it would stay where the new one can't be compiled.
$(VENV)/%.stamp: pyproject.toml setup.py $(KERNEL) $(VENV)/compiler | $(VENV)/bin/python
	@echo "Installing fastzarr[$*] into $(VENV), once; this takes a minute or two"
	@for source in $(KERNEL); do find src/fastzarr -name '_kernel.*.so' ! -newer $$source -delete; done
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@$(VENV)/bin/python -c 'import fastzarr._kernel' 2>/dev/null || \
	  echo "fastzarr has no compiled kernel here: all works, many small chunks are slower ($$(cat $(VENV)/compiler))"
	@touch $@

# What the kernel is compiled with, installed where that is possible (tried once). Says what there is, and changes only
# with it: the kernel is built as soon as it can be.
$(VENV)/compiler: always | $(VENV)/bin/python
	@include=$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	cc=$${CC:-$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_config_var("CC"))')}; \
	works() { echo '#include <Python.h>' | $$cc "-I$$include" -fsyntax-only -x c - 2>/dev/null; }; \
	headers=; \
	if ! works && [ ! -e $@ ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  [ -e "$$include/Python.h" ] || headers=" python$(VERSION)-dev"; \
	  echo "Installing gcc libc6-dev$$headers, for the compiled kernel"; \
	  { apt-get -qq update && $(APT_INSTALL) gcc libc6-dev$$headers; } >.venv/compiler.log 2>&1 || \
	    echo "could not be installed; see .venv/compiler.log"; \
	fi; \
	works && found="$$cc and Python.h are there; pip install -v says more" || found="no $$cc, or no $$include/Python.h"; \
	[ "$$(cat $@ 2>/dev/null)" = "$$found" ] || echo "$$found" >$@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys' 2>/dev/null || { \
	  echo "PYTHON=$(PYTHON) does not run. Name an interpreter of 3.11 or newer: PYTHON=python3.12 make $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "PYTHON=$(PYTHON) is Python $(VERSION); fastzarr needs 3.11 or newer: PYTHON=python3.12 make $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "PYTHON=$(PYTHON) has no venv module. On Debian and Ubuntu: apt-get install python$(VERSION)-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
