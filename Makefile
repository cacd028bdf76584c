# One command for each thing one does here. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# How many tests run side by side; those of a real PBS server mostly wait, each lot on a testbed of its own.
WORKERS  ?= 2
TESTBEDS ?= 4

.PHONY: help venv dev demo check lint types arrows floor test faults bench bench-pbs bench-tui fuzz-tui tables pictures lock clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/.runtime: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9) and "pbsteer needs Python 3.9 or newer, this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

venv: $(VENV)/.runtime  ## the virtual environment: .venv, with .venv/bin/pbsteer
dev: $(VENV)/.dev       ## the same, with what development needs

demo: venv       ## the console, on a simulated cluster
	$(BIN)/pbsteer --demo

check: lint types arrows floor test  ## everything that must hold

lint: dev        ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev       ## mypy, strict, tests too
	$(BIN)/mypy policy hooks sim tui container tests

arrows: dev      ## who may import whom, and that policy/ is pure
	$(BIN)/lint-imports

floor: dev       ## policy/ and hooks/ run under Python 3.9
	$(BIN)/vermin --target=3.9- --no-tips --violations --eval-annotations policy hooks

test: dev        ## all tests; those that need a real PBS server say so where there is none
	$(BIN)/python -m pytest --benchmark-skip -n $(WORKERS) --dist worksteal --ignore tests/pbs --ignore tests/faults \
		--ignore tests/property
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/property
	$(BIN)/python -m pytest -n $(TESTBEDS) --dist loadfile tests/pbs || \
		{ echo "run once more, one by one: what failed above while $(TESTBEDS) testbeds shared this machine"; \
		$(BIN)/python -m pytest --last-failed --last-failed-no-failures none tests/pbs; }
	$(BIN)/python -m pytest tests/faults

faults: dev      ## over a thousand faults on a real PBS server, for an hour and a half at most (root, PBS installed)
	$(BIN)/python -m tests.faults

bench: dev       ## the figures: replay speed, seconds a pass
	$(BIN)/python -m pytest tests/bench --benchmark-only --benchmark-disable-gc -s

bench-pbs: dev   ## the figures on a real PBS server: submission, starts, a pass, soft limits, the console; as root, takes minutes
	$(BIN)/python -m tests.bench_pbs

bench-tui: dev   ## the console's figures on a real pseudo-terminal, 100,000 jobs and 10,000 vnodes; takes minutes
	$(BIN)/python -m tests.bench_tui

fuzz-tui: dev    ## 12,000 random keys, sizes and hostile answers for the console; takes minutes
	$(BIN)/python -m tests.fuzz_tui

tables: venv     ## hard limits against soft quotas, on random batches (P1's Table 1); takes minutes
	$(BIN)/python -m sim.figures.quota_table

pictures: venv   ## the pictures in docs/: the console, from the real program; the policies, from the engine
	$(BIN)/python -m tui.cli.readme_pictures docs/pictures
	$(BIN)/python -m sim.figures.policy_pictures docs/pictures

lock:            ## pin the dependencies anew, for every Python from 3.9 on (needs uv)
	uv pip compile --universal --python-version 3.9 --generate-hashes -q --no-header pyproject.toml -o requirements.txt
	uv pip compile --universal --python-version 3.9 --all-extras --generate-hashes -q --no-header pyproject.toml -o requirements-dev.txt

clean:           ## remove what was built
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks
