# One command per chore, the same for people and for CI. Needs Python 3.11+, git and make.
# `make` lists the targets. ARGS passes through: make test ARGS="tests/unit -k merge";
# make chaos ARGS="--runs 200"; make mutants ARGS="--number 150 --seed 7"; N is the lengths of the bench's runs: make bench N=10,100

PYTHON ?= python3
UV_VERSION := 0.13.9
BIN := .venv/bin
ROOMS := dsl activities workflows coterie

# A uv on PATH serves when it is recent enough for this project (tool.uv.required-version);
# otherwise the project keeps a private one, so that nothing has to be installed by hand.
UV := $(shell uv version --short >/dev/null 2>&1 && command -v uv || echo .uv/$(UV_VERSION)/bin/uv)

# Two stages of one environment, each with a stamp. A demo needs little, so that the first run
# of a newcomer downloads little; `--inexact` lets it leave a full environment as it is.
RUN_READY := .venv/.ready-run
DEV_READY := .venv/.ready-dev

export UV_PROJECT_ENVIRONMENT := .venv
unexport VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format lock bench chaos mutants clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEV_READY) ## make the whole environment in .venv

demo: $(RUN_READY) ## watch a team change a small project, without any key
	@$(BIN)/python -m examples.demo $(ARGS)

test: $(DEV_READY) ## run every test
	@$(BIN)/python -m tests.stand_in.install
	@# In the order of the folders: files with few and long tests would else come last, alone.
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

check: $(DEV_READY) ## format, lint, types, imports, spelling, lock
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell
	@$(MAKE) --no-print-directory lock

lock: | $(UV)
	$(UV) lock --check

format: $(DEV_READY) ## put the code into its format, mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_READY) ## measure against a hand-written workflow, write bench/results.json
	$(BIN)/python -m bench $(if $(N),--n $(N)) $(ARGS)

chaos: $(DEV_READY) ## kill and freeze workers and server of many runs, check what is promised
	@$(BIN)/python -m tests.chaos $(ARGS)

mutants: $(DEV_READY) ## break deciding code on purpose, count how often a test notices
	$(BIN)/python -m tests.mutants $(ARGS)

clean: ## remove the environment, caches and builds; runs in .coterie stay
	rm -rf .venv .uv dist build tests/stand_in/node_modules .pytest_cache .ruff_cache .hypothesis \
		.import_linter_cache .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The bytecode is written now, once: where Python may not write it (a read-only disk, or
# PYTHONDONTWRITEBYTECODE) every command would compile all that it imports anew, twice its time.
$(RUN_READY): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --inexact --no-default-groups --group demo
	@$(BIN)/python -m compileall -q $(ROOMS)
	@touch $@

$(DEV_READY): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --group dev
	@$(BIN)/python -m compileall -q $(ROOMS)
	@touch $(RUN_READY) $@

.uv/$(UV_VERSION)/bin/uv:
	$(PYTHON) -m venv .uv/$(UV_VERSION)
	.uv/$(UV_VERSION)/bin/pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
