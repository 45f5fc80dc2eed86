# One command per chore, the same for people and for CI. Needs Python 3.11+, git and make.
# `make` lists the targets. ARGS passes through: make test ARGS="tests/unit -k merge";
# make chaos ARGS="--only runs"; make mutants ARGS="--number 150 --seed 7". N sets the lengths of the
# benchmark's runs: make bench N=10,100

PYTHON ?= python3
UV_VERSION := 0.13.9
BIN := .venv/bin
ROOMS := dsl activities workflows coterie gateway

# Use a uv on PATH if it is recent enough for this project (tool.uv.required-version); otherwise
# install a private one, so that nobody has to.
UV := $(shell uv version --short >/dev/null 2>&1 && command -v uv || echo .uv/$(UV_VERSION)/bin/uv)

# Two stages of one environment, each with a stamp. The demo needs few packages, so a newcomer's
# first run downloads little. `--inexact` keeps a full environment.
RUN_READY := .venv/.ready-run
DEV_READY := .venv/.ready-dev

# Static tools follow no import hook: they read the package as a wheel has it, made of links.
VIEW := .venv/view

export UV_PROJECT_ENVIRONMENT := .venv
unexport VIRTUAL_ENV
# The tests' own bytecode is cached, too: without it, each process takes half as long again to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo console test test-doors check imports format lock release bench chaos mutants schemas clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEV_READY) ## create the whole environment in .venv

demo: $(RUN_READY) ## watch a team change a small project, without a key
	@$(BIN)/python -m examples.demo $(ARGS)

console: $(RUN_READY) ## open the console on the demo's run
	@test -d .coterie-demo/invoicing || { echo "there is no demo here yet; run: make demo"; exit 1; }
	@$(UV) sync --quiet --frozen --compile-bytecode --inexact --no-default-groups --group demo --extra serve
	@cd .coterie-demo/invoicing && ../../$(BIN)/coterie serve $(ARGS)

test: $(DEV_READY) ## run every test
	@$(BIN)/python -m tests.stand_in.install
	@# In folder order: otherwise files with few, long tests would run last, alone.
	@# Four processes for two cores: tests of whole programs spend half of their time waiting.
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder $(ARGS)

# Where a part cannot be installed, the target says "not run" and succeeds: it never says "passed".
# It keeps what `make setup` installed, and adds a group.
test-doors: $(DEV_READY) ## drive the gateway in a browser, with a real OIDC provider; needs Chromium
	@$(UV) sync --quiet --frozen --compile-bytecode --inexact --group dev --group doors || true
	@$(BIN)/python -m tests.doors $(ARGS)

check: $(DEV_READY) ## format, lint, types, imports, spelling, lock
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory imports
	$(BIN)/pyright
	$(BIN)/codespell
	@$(MAKE) --no-print-directory lock

lock: | $(UV)
	$(UV) lock --check

imports: $(DEV_READY) ## the law of imports alone
	@$(BIN)/python -m tests.law.view
	cd $(VIEW) && ../bin/lint-imports --config ../../pyproject.toml

format: $(DEV_READY) ## format the code, fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release: $(DEV_READY) ## build, check and install what would be published; uploads nothing
	@$(UV) sync --quiet --frozen --compile-bytecode --inexact --group dev --group release
	@$(BIN)/python -m tests.release $(UV)

bench: $(DEV_READY) ## measure against a hand-written workflow, write bench/results.json
	$(BIN)/python -m bench $(if $(N),--n $(N)) $(ARGS)

chaos: $(DEV_READY) ## kill and freeze workers and server of many runs, check the promises
	@$(BIN)/python -m tests.chaos $(ARGS)

mutants: $(DEV_READY) ## break deciding code on purpose, count how many tests notice
	$(BIN)/python -m tests.mutants $(ARGS)

schemas: $(DEV_READY) ## judge every case of the official JSON Schema Test Suite, which it downloads
	@$(BIN)/python -m tests.schema_suite

clean: ## remove the environment, caches and builds; runs in .coterie stay
	rm -rf .venv .uv dist build tests/stand_in/node_modules tests/doors/node_modules .pytest_cache .ruff_cache .hypothesis \
		.import_linter_cache .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Write the bytecode once, now: where Python may not write it (a read-only disk, or
# PYTHONDONTWRITEBYTECODE), every command would compile its imports again and take twice as long.
$(RUN_READY): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --inexact --no-default-groups --group demo
	@$(BIN)/python -m compileall -q $(ROOMS)
	@touch $@

$(DEV_READY): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --group dev
	@$(BIN)/python -m tests.law.view
	@$(BIN)/python -m compileall -q $(ROOMS)
	@touch $(RUN_READY) $@

.uv/$(UV_VERSION)/bin/uv:
	$(PYTHON) -m venv .uv/$(UV_VERSION)
	.uv/$(UV_VERSION)/bin/pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
