# One command for each thing one does here. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# How many tests run side by side. Those of a real PBS server mostly wait, each worker's on a testbed of its own; the
# fifth to eighth testbed start once the machine has idle time.
WORKERS  ?= 2
TESTBEDS ?= 8
# How many parts of `make everything` run side by side.
PARTS    ?= 3

# Each worker reads every test module: compiled by the first of them, not again by each.
unexport PYTHONDONTWRITEBYTECODE

# The tests of a real server.
REAL = tests/pbs tests/torque/server

# Which tests the parts run: `make slow` runs the slow ones, `make everything` both.
CHOICE = -m "not slow and not centre_faults and not compiled_wheel"
# How the parts run that never wait: in `make everything` behind the tests of a real PBS server.
NICE =
PYTEST = $(BIN)/python -m pytest $(CHOICE) --durations 25 --durations-min 8 -o cache_dir=.pytest_cache/$@
PART   = .ci/part $@

.PHONY: help venv dev demo check slow everything lint types layers oldest-python test-fast test-laws test-real test-faults \
	faults centre-faults bench bench-forecast bench-pbs bench-torque bench-migration bench-tui fuzz-tui dist compiled-wheel release-check tables evidence pictures lock clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(VENV)/.runtime: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9) and "pbsteer needs Python 3.9 or newer, this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	$(BIN)/python -m compileall -q policy hooks migration container sim torque tui  # for accounts that cannot write here
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

venv: $(VENV)/.runtime  ## the virtual environment: .venv, with .venv/bin/pbsteer
dev: $(VENV)/.dev       ## the same, with what development needs

demo: venv       ## the console, on a simulated cluster
	$(BIN)/pbsteer --demo

check: lint types layers oldest-python test-fast test-laws test-real  ## what must hold, but for the slowest tests

slow: dev        ## the slowest tests, those of a real PBS server too, and a short form of `make faults`
	@$(MAKE) --no-print-directory CHOICE='-m slow' test-fast test-laws test-real test-faults

everything: dev  ## `check` and `slow`, their parts side by side: all that must hold, as CI runs it
	@$(MAKE) --no-print-directory -j$(PARTS) --keep-going --output-sync=target CHOICE='-m "not centre_faults and not compiled_wheel"' NICE=.ci/behind \
		test-real test-faults test-fast types test-laws lint layers oldest-python

lint: dev        ## ruff
	@$(PART) sh -c '$(BIN)/ruff check . && $(BIN)/ruff format --check .'

types: dev       ## mypy, strict, tests too
	@$(PART) $(NICE) $(BIN)/mypy policy hooks migration sim torque tui container release tests

layers: dev      ## import layers, and that policy/ is pure
	@$(PART) $(NICE) $(BIN)/lint-imports

oldest-python: dev ## all of the product runs under Python 3.9
	@$(PART) $(NICE) $(BIN)/vermin --target=3.9- --no-tips --violations --eval-annotations policy hooks migration sim torque tui container release

test-fast: dev   ## tests that need no PBS
	@$(PART) $(NICE) $(PYTEST) --benchmark-skip -n $(WORKERS) --dist worksteal \
		--ignore tests/pbs --ignore tests/torque/server --ignore tests/property --ignore tests/faults/test_few_faults_of_every_kind.py

test-laws: dev   ## tests/property: what holds of every cluster
	@$(PART) $(NICE) $(PYTEST) -n $(WORKERS) --dist worksteal tests/property

test-real: dev   ## tests of a real PBS or Torque server (root, installed); those that fail side by side run again, two at a time
	@AGAIN='$(PYTEST) -n 2 --last-failed --last-failed-no-failures none $(REAL)' \
		$(PART) $(PYTEST) -n $(TESTBEDS) --dist worksteal $(REAL)

test-faults: dev ## the short form of `make faults`, some of each kind (root, PBS installed)
	@$(PART) $(PYTEST) tests/faults/test_few_faults_of_every_kind.py

centre-faults: dev ## faults on a real centre of several clusters, for half an hour (root, PBS installed)
	$(BIN)/python -m pytest -m centre_faults -v tests/pbs/centre

faults: dev      ## over a thousand faults on a real PBS server, for an hour and a half at most (root, PBS installed)
	$(BIN)/python -m tests.faults

bench: dev       ## the figures: replay speed, seconds a pass
	$(BIN)/python -m pytest tests/bench --benchmark-only --benchmark-disable-gc -s

bench-forecast: dev  ## how well starts are forecast, and what that costs; TRACES="FILE[=NODESxCORES] ...": on these traces; takes minutes
	$(BIN)/python -m tests.bench_forecast $(TRACES)

bench-pbs: dev   ## the figures on a real PBS server: submission, starts, a pass, soft limits, the console; as root, takes minutes
	$(BIN)/python -m tests.bench_pbs

bench-torque: dev  ## passes on a real Torque server beside its own scheduler; as root, takes minutes
	$(BIN)/python -m tests.bench_torque

bench-migration: dev  ## the figures of migration: 10,000 requests, and a batch beside rsync on a real centre (root, PBS, Slurm)
	$(BIN)/python -m tests.bench_migration mgsched
	$(BIN)/python -m tests.bench_migration mgstat
	$(BIN)/python -m tests.bench_migration batch_against_rsync --mbit 100

bench-tui: dev   ## the console's figures on a real pseudo-terminal, 100,000 jobs and 10,000 vnodes; takes minutes
	$(BIN)/python -m tests.bench_tui

fuzz-tui: dev    ## 12,000 random keys, sizes and hostile answers for the console; takes minutes
	$(BIN)/python -m tests.fuzz_tui

dist: dev        ## what is released, into dist/: wheel, one-file program, DEB, RPM, checksums, SBOM (needs dpkg-deb, rpmbuild)
	$(BIN)/python -m release.build_distribution dist

compiled-wheel: dev ## the wheel with policy/ and the replay loop compiled, for this Python, into dist-compiled/, tested; takes minutes (needs a C compiler)
	$(BIN)/python -m release.compiled_wheel dist-compiled
	$(BIN)/python -m pytest -m compiled_wheel -n $(WORKERS) --dist worksteal tests/release/test_compiled_wheel.py

release-check: dev ## whether a release can be made of this commit: version, changelog, every test, packages; takes an hour
	$(BIN)/python -m release.check_release
	@$(MAKE) --no-print-directory everything
	@$(MAKE) --no-print-directory dist compiled-wheel
	$(BIN)/python -m release.check_release --dist dist --compiled dist-compiled

tables: venv     ## Tables 1 and 2 of the quota paper: soft quotas, and jobs that migrate; TABLES=--events: Table 1 by events too
	$(BIN)/python -m sim.figures.quota_paper_tables $(TABLES)

evidence: venv   ## the figures of docs/evidence.md, from public traces: TRACES=FOLDER; takes half an hour, goes on where it was
	@test -n "$(TRACES)" || { echo 'say where the traces are: make evidence TRACES=FOLDER (docs/evidence.md)' >&2; exit 2; }
	$(BIN)/python -m sim.figures.evidence_page $(TRACES)

pictures: dev    ## the pictures in docs/: the console, from the real program; the policies, from the engine; the code, from its layers; the life of a migrating job; a comparison
	$(BIN)/python -m tui.cli.readme_pictures docs/pictures
	$(BIN)/python -m sim.figures.policy_pictures docs/pictures
	$(BIN)/python -m sim.figures.code_layer_pictures docs/pictures
	$(BIN)/python -m sim.figures.migrating_job_picture docs/pictures
	$(BIN)/pbsteer compare --generate 1500 --cluster 32x4 --load 0.85 --users 9 --policy easy --policy checkpoint-sjbf \
	    --plot docs/pictures/compare.svg > /dev/null

lock:            ## pin the dependencies anew, for every Python from 3.9 on (needs uv)
	uv pip compile --universal --python-version 3.9 --generate-hashes -q --no-header pyproject.toml -o requirements.txt
	uv pip compile --universal --python-version 3.9 --all-extras --generate-hashes -q --no-header pyproject.toml -o requirements-dev.txt
	uv pip compile --python-version 3.9 --no-annotate --generate-hashes -q --no-header requirements.txt -o requirements-packages.txt

clean:           ## remove what was built
	rm -rf $(VENV) build dist dist-compiled *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks
