# Needs make and Python 3.11 or newer, nothing else. `make demo` and `make test` need neither Docker nor root.
#
#   make demo      two emulated nodes, one model over both, a question, and everything gone again
#   make test      the unit tests
#   make lint      ruff, mypy, shellcheck, the layer test
#   make format    put the layout of the Python files right
#   make test-lab  the acceptance tests over real containers (root)
#   make clean     remove what make made

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test lint format test-lab wheel clean install

# Every path is relative, so that a checkout may lie below a directory with a space in its name.
VENV ?= .venv
PY := $(VENV)/bin/python
SPARKOPS := $(VENV)/bin/sparkops
STAMP := $(VENV)/installed
EXTRAS ?= lab,dev,bench
PYTEST ?= -q
# The labs' tests wait more than they work, so more of them at once than a small machine has cores.
WORKERS ?= 4
# Labs side by side: nodes that load and reboot wait more than they work, too.
LABS ?= 2
# The tests start the tool some thousand times: it is compiled once, whatever this shell is set to.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^#  *\(make .*\)/\1/p' Makefile

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x "$(PY)" || { python=$$(sh scripts/python.sh) && "$$python" -m venv "$(VENV)"; }
	"$(PY)" -m pip install --quiet --disable-pip-version-check --no-compile -e '.[$(EXTRAS)]'
	@touch "$(STAMP)"

demo: $(STAMP)
	@PATH="$$PWD/$(VENV)/bin:$$PATH" sh scripts/demo.sh

test: $(STAMP)
	"$(PY)" -m pytest $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not docker' tests

lint: $(STAMP)
	"$(PY)" -m ruff check .
	"$(PY)" -m ruff format --check .
	"$(PY)" -m mypy --strict
	find sparkops scripts -name '*.sh' -exec "$(VENV)/bin/shellcheck" -x -P SCRIPTDIR {} + && "$(VENV)/bin/shellcheck" .ci/run
	"$(PY)" -m pytest $(PYTEST) tests/test_layers.py

format: $(STAMP)
	"$(PY)" -m ruff check --fix-only --quiet .
	"$(PY)" -m ruff format .

test-lab: $(STAMP)
	"$(PY)" -m pytest $(PYTEST) -n $(LABS) --dist loadfile --no-loadscope-reorder -m docker tests/acceptance

wheel: $(STAMP)
	"$(PY)" -m build --wheel --outdir dist .

clean:
	rm -rf "$(VENV)" .venvs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
