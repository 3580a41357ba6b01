#!/bin/sh
# What `make demo` does: each command is printed before it runs, and the lab goes away whatever happens.
set -eu

here=$(dirname "$0")

# A lab of its own, so that one which is up already stays as it is.
scratch=$(mktemp -d)
SPARKOPS_LAB_DIR=$scratch/lab
export SPARKOPS_LAB_DIR

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

ended() {
    status=$?
    trap '' INT TERM
    trap - EXIT
    run sparkops lab down || status=$?
    rm -rf "$scratch"
    if [ "$status" -eq 0 ]; then
        printf '\nThe demo is over: a model was served over two nodes, asked, and taken away.\n'
    else
        printf '\nThe demo ended with exit code %s.\n' "$status" >&2
    fi
    exit "$status"
}
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

run sparkops lab up --nodes 2
run sparkops -i lab plan --topology cluster --short
run sparkops -i lab deploy --topology cluster

# shellcheck disable=SC2016  # printed as it is typed, run below
printf '\n$ eval "$(sparkops -i lab endpoint --for openai)"\n'
variables=$(sparkops -i lab endpoint --for openai)
eval "$variables"
run python3 "$here/ask.py" "What is a node?"

run sparkops -i lab status
run sparkops -i lab stop
