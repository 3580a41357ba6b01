#!/bin/sh
# Prints the newest Python of this machine that sparkops runs on and that can make virtual environments.
set -u

for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3 python3.14 python; do
    found=$(command -v "$name" 2>/dev/null) || continue
    if "$found" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        printf '%s\n' "$found"
        exit 0
    fi
done
cat >&2 <<'END'
sparkops needs Python 3.11 or newer with its venv module, and none was found on PATH.
  Debian, Ubuntu, DGX OS:  sudo apt-get install python3-venv   (or python3.11-venv, python3.12-venv)
  Fedora:                  sudo dnf install python3.12
  macOS:                   brew install python@3.12
Or name one:               make test PYTHON=/path/to/python3.12
END
exit 1
