# Every target sets up what it needs; the only things to bring are Python >= 3.11 and, for what runs on
# Spark, Java >= 17.
# PROFILE=quick|default|deep scales verify, test and bench. PYTHON=python3.12 picks an interpreter.

PYTHON  ?= python3
PROFILE ?= default
# Tests wait for brokers, clients and Java now and then: one worker more than there are cores.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

export EOS_PROFILE := $(PROFILE)
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)
# Tests and proofs start many interpreters: what is compiled once need not be compiled by each of them.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup test verify docs screens bench lint tables mutants clean python java profile

help: ## this list
	@echo "make [target] [PROFILE=quick|default|deep]"
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

setup: python $(STAMP) ## .venv with everything, .venv/bin/eos included

test: profile python java $(STAMP) ## pytest; tests that share a Spark session stay in one worker
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

verify: profile python java $(STAMP) ## proofs, machines, mutants, sessions, traces, logs; one report at the end
	$(BIN)/eos verify --profile $(PROFILE)

docs: python $(STAMP) ## build/docs/index.html; warnings are errors, and examples run
	$(BIN)/python -m sphinx -E -n -W --keep-going -q -d build/doctrees -b html docs build/docs
	$(BIN)/python -m sphinx -n -W --keep-going -q -d build/doctrees -b doctest docs build/doctest
	@echo "build/docs/index.html"

screens: python $(STAMP) ## every page of build/docs in headless Chromium, light and dark, wide and narrow: build/screens
	EOS_BROWSER=required $(BIN)/python -m pytest -q model_tests/unit/docs/test_in_browser.py

bench: profile python java $(STAMP) ## ratios measured in one run
	$(BIN)/python -m model_tests.bench

lint: python $(STAMP) ## ruff, mypy --strict, the import contract, a table of results that is stale
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m model_tests.judging.branch_names
	$(BIN)/mypy
	$(BIN)/python -m pytest -q model_tests/unit/test_import_contract.py

tables: python java $(STAMP) ## renew the tables of results that lint and tests call stale
	$(BIN)/python -m model_tests.judging.reachable
	$(BIN)/python -m model_tests.probe.searching
	$(BIN)/python -m model_tests.probe.covering
	$(BIN)/python -m model_tests.probe.tabulating
	$(BIN)/python -m model_tests.probe.planted

mutants: python java $(STAMP) ## all mutants of the decisions in every layer, into build/mutants; hours, but what is there is not tried again
	$(BIN)/python -m model_tests.mutants.decisions

clean: ## everything that was made, the environment too
	rm -rf build $(VENV) .hypothesis .pytest_cache .mypy_cache .ruff_cache *.egg-info spark-warehouse metastore_db derby.log
	find spec reference model_tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a minute or two)"
	@$(BIN)/python -m pip --quiet --quiet --disable-pip-version-check install --editable '.[dev,docs]' --constraint constraints.txt
	@touch $(STAMP)

# What must be there already. One line says what is missing and how to get it.

HOW_PYTHON := apt-get install python3.11 python3.11-venv, or brew install python@3.12, or make PYTHON=/path/to/python3.12
HOW_JAVA   := apt-get install openjdk-17-jre-headless, or brew install openjdk@17, or sdk install java 17-tem (and see JAVA_HOME)
JAVA       := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

python:
	@test -x $(BIN)/python && exit 0; \
	found=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || found=none; \
	case $$found in \
	3.1[1-9]|3.[2-9][0-9]) ;; \
	*) echo "Python >= 3.11 is needed; '$(PYTHON)' is: $$found. Try $(HOW_PYTHON)" >&2; exit 1;; \
	esac; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo "Python's venv module is needed; '$(PYTHON)' is without it. Try apt-get install python$$found-venv" >&2; exit 1; }

java:
	@found=$$($(JAVA) -version 2>&1 | sed -nE 's/.* version "([^"]+)".*/\1/p' | head -n 1); \
	major=$$(echo "$$found" | sed -E 's/[^0-9].*//'); \
	test "$${major:-0}" -ge 17 || \
	{ echo "Java >= 17 is needed; '$(JAVA)' is: $${found:-none}. Try $(HOW_JAVA)" >&2; exit 1; }

profile:
	@case $(PROFILE) in quick|default|deep) ;; \
	*) echo "PROFILE is quick, default or deep, not '$(PROFILE)'" >&2; exit 1;; esac
