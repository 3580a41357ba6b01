#!/bin/sh
# The tests in loops while other processes keep every core busy: a test that can fail by chance fails here.
#   sh scripts/stress.sh [TIMES of make test] [TIMES of make test-embedded]
# BUSY says how many processes, where something else on the machine is one of them.
set -eu
cd "$(dirname "$0")/.."

tests=${1:-10}
embedded=${2:-5}
busy=
log=$(mktemp -d)

ended() {
    status=$?
    trap - EXIT
    # shellcheck disable=SC2086  # one word a process
    [ -z "$busy" ] || kill $busy 2>/dev/null || true
    if [ "$status" -eq 0 ]; then
        rm -rf "$log"
    else
        printf 'failed; all that was printed is in %s\n' "$log" >&2
    fi
    exit "$status"
}
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

again() {
    target=$1
    times=$2
    round=1
    while [ "$round" -le "$times" ]; do
        began=$(date +%s)
        make "$target" >"$log/$target-$round" 2>&1 || {
            tail -n 60 "$log/$target-$round"
            return 1
        }
        printf '%s %s of %s: %s, %s s\n' "$target" "$round" "$times" "$(tail -n 1 "$log/$target-$round")" "$(($(date +%s) - began))"
        round=$((round + 1))
    done
}

make install
for _ in $(seq "${BUSY:-$(getconf _NPROCESSORS_ONLN)}"); do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
again test "$tests"
again test-embedded "$embedded"
