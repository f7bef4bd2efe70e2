# Everything below sets itself up: `make run` on a fresh machine needs Python 3.11 (with venv), git and make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
HOST   ?= 127.0.0.1
PORT   ?= 8000
DEMO   ?= 1
ARGS   ?=

RUN_STAMP := $(VENV)/.run-installed
DEV_STAMP := $(VENV)/.dev-installed

# Every server that a test starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test engines check bench chaos soak format lock clean
.DEFAULT_GOAL := help

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort

setup: $(RUN_STAMP) ## create .venv and install the pinned packages that running needs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "routeradmin needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "Python's venv module is missing; on Debian: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): requirements/run.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@touch $@

$(DEV_STAMP): requirements/dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@ $(RUN_STAMP)

run: $(RUN_STAMP) ## set up everything and serve on http://127.0.0.1:8000 (DEMO=0: without the demo)
	@exec $(BIN)/python manage.py serve --host $(HOST) --port $(PORT) $(if $(filter 1,$(DEMO)),--demo) $(ARGS)

test: $(DEV_STAMP) ## run the whole test suite (ARGS="-k name" for a part)
	$(BIN)/python -m pytest $(ARGS)

.engines: requirements/engines.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --upgrade \
	  --only-binary=:all: --python-version 3.11 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 \
	  --target $@ -r requirements/engines.txt
	@touch $@

engines: $(DEV_STAMP) .engines ## run the tests that need Redis on Redis 6.2, Valkey 8.1 and Valkey 9.1
	@set -e; for server in $$(find $(CURDIR)/.engines/*/ -name '*-server' -size +1M -not -path '*/.engines/bin/*'); do \
	  chmod +x $$server; $$server --version; \
	  ROUTERADMIN_TEST_REDIS_SERVER=$$server $(BIN)/python -m pytest tests/adapters/test_state_redis.py tests/adapters/test_state_frames.py \
	    tests/adapters/test_state_shared.py tests/adapters/test_election.py tests/scaleout $(ARGS); \
	done

check: $(DEV_STAMP) ## lint, types, import contracts, missing migrations, deployment checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	ROUTERADMIN_HTTPS_ONLY=1 $(BIN)/python manage.py check --deploy --fail-level WARNING

bench: $(DEV_STAMP) ## run the benchmarks; each prints ratios measured in the same run
	$(BIN)/python -m benchmarks $(ARGS)

chaos: $(DEV_STAMP) ## five minutes of killed and frozen workers, Redis and PostgreSQL under load (CHAOS_S=60 CHAOS_SEED=7)
	$(BIN)/python -m tests.chaos

soak: $(DEV_STAMP) ## an hour's traffic in ten minutes on each store: does anything grow? (SOAK_S=60 SOAK_STORES=embedded,shared)
	$(BIN)/python -m tests.soak

format: $(DEV_STAMP) ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## renew requirements/*.txt from pyproject.toml (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml -o requirements/run.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml --group otel -c requirements/run.txt -o requirements/otel.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml --extra semantic -c requirements/run.txt -c requirements/dev.txt -o requirements/semantic.txt

clean: ## remove what can be made again (never the data directory)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
