# Needs make and Python 3.11 or newer, nothing else. All but `make test-lab` need neither Docker nor root.
#
#   make demo           start two emulated nodes, deploy a model over both, ask it a question, remove everything
#   make test           unit tests, whole runs in a simulated world, and the first steps over emulated nodes
#   make check          before each commit: lint, types and the unit tests
#   make test-embedded  tests with real SSH to emulated nodes
#   make test-lab       tests with real sshd, Docker, vLLM and Ray; needs root
#   make lint           ruff, mypy, shellcheck
#   make format         format the Python files
#   make docs           build the site of the docs in build/docs
#   make golden         write the exact texts that tests compare with
#   make stress         repeat the tests while both cores are busy, to find tests that fail by chance
#   make clean          remove everything that make created

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test check test-embedded test-lab docs golden lint format stress wheel clean install

# Every path is relative, so that a checkout may lie below a directory with a space in its name.
VENV ?= .venv
PY := $(VENV)/bin/python
SPARKOPS := $(VENV)/bin/sparkops
STAMP := $(VENV)/installed
EXTRAS ?= lab,dev,bench,docs
PYTEST ?= -q
# The unit tests and the simulated world only compute.
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
# The labs' tests wait more than they work, so more of them at once than a small machine has cores.
WORKERS ?= 4
# Labs side by side: nodes that load and reboot wait more than they work, too.
LABS ?= 2
# The tests start sparkops thousands of times, so Python must store its compiled files.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^#  *\(make .*\)/\1/p' Makefile

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x "$(PY)" || { python=$$(sh scripts/python.sh) && "$$python" -m venv "$(VENV)"; }
	@echo "installing sparkops and its tools into $(VENV): about a minute"
	"$(PY)" -m pip install --quiet --disable-pip-version-check --no-compile -e '.[$(EXTRAS)]'
	@touch "$(STAMP)"

demo: $(STAMP)
	@PATH="$$PWD/$(VENV)/bin:$$PATH" sh scripts/demo.sh

test: $(STAMP)
	"$(PY)" -m pytest $(PYTEST) -n $(CORES) --dist worksteal tests/unit tests/world tests/embedded/test_first_steps.py

check: lint
	"$(PY)" -m pytest $(PYTEST) -n $(CORES) --dist worksteal tests/unit

test-embedded: $(STAMP)
	"$(PY)" -m pytest $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder tests/embedded

test-lab: $(STAMP)
	"$(PY)" -m pytest $(PYTEST) -n $(LABS) --dist loadfile --no-loadscope-reorder tests/lab

# A warning, such as a broken link, fails the build.
docs: $(STAMP)
	"$(PY)" -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/docs
	@echo "The site: build/docs/index.html"

golden: $(STAMP)
	SPARKOPS_GOLDEN=write "$(PY)" -m pytest $(PYTEST) -n $(CORES) $$(grep -rl --include="*.py" golden.hold tests/unit tests/world)
	git diff --stat

stress: $(STAMP)
	sh scripts/stress.sh

lint: $(STAMP)
	"$(PY)" -m ruff check .
	"$(PY)" -m ruff format --check .
	"$(PY)" -m mypy --strict
	find sparkops sparklab scripts -name '*.sh' -exec "$(VENV)/bin/shellcheck" -x -P SCRIPTDIR {} + && "$(VENV)/bin/shellcheck" .ci/run

format: $(STAMP)
	"$(PY)" -m ruff check --fix-only --quiet .
	"$(PY)" -m ruff format .

wheel: $(STAMP)
	"$(PY)" -m build --wheel --outdir dist .

clean:
	rm -rf "$(VENV)" .venvs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
