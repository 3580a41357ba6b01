#!/bin/sh
# Runs inside an image: PROGRAM by the Python that its `vllm` runs by.
#
#   flags PROGRAM
set -u
python=python3
if vllm=$(command -v vllm) && IFS= read -r first <"$vllm"; then
    case $first in
    '#!'*python*) python=${first#??} ;;
    *) [ ! -x "${vllm%/*}/python3" ] || exec "${vllm%/*}/python3" -c "$1" ;;
    esac
fi
# An interpreter may come with a word of its own, as in `#!/usr/bin/env python3`.
# shellcheck disable=SC2086
exec $python -c "$1"
