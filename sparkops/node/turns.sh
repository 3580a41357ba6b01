#!/bin/sh
# Lets the engines of one node load one after the other, as all of them start at once after a reboot.
#
# vLLM measures at its start how much memory is free, and while it profiles what it needs itself: memory that another
# engine takes meanwhile counts as its own, so it gets a smaller KV cache, or fails. So an engine that loads has a lock in
# the memory that containers share with their node, until its API answers or its container ends.
#
# A server waits for the lock. A rank only waits until nobody has it before it meets the others, and then takes it if it
# can: two clusters that each wait on one node for the other would never start, and vLLM gives late ranks ten minutes.
# Nobody waits or has the lock longer than SPARKOPS_TURN_SECONDS (default 900).
# shellcheck disable=SC2154  # what entry.sh sets and waits for

# `turn wait` returns when nobody loads, `turn take` with the lock, `turn try` with it if it is free.
turn() {
    [ -n "$health" ] && [ "$role" != proxy ] && [ "$role" != page ] && command -v python3 >/dev/null || return 0
    came=$root/run/sparkops/turn
    mkdir -p "${came%/*}" && rm -f "$came"
    python3 -IS -c '
import fcntl, os, sys, time
how, lock, came, record, served, parent, limit = sys.argv[1:]
limit, begin, shown, mine = int(limit), time.monotonic(), -60, False

def alone():
    return os.getppid() != int(parent)

def free(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False

try:
    file = open(lock, "a")
    while not (mine := free(file)) and how != "try" and not alone():
        waited = int(time.monotonic() - begin)
        if waited >= limit:
            print(f"sparkops: another engine of this node loads for {waited} s; not waiting any longer", flush=True)
            break
        if waited >= shown + 60:
            shown = waited
            print(f"sparkops: waiting for another engine of this node to load ({waited} s so far)", flush=True)
        time.sleep(1)
except OSError:
    pass
if how == "wait" and mine:
    fcntl.flock(file, fcntl.LOCK_UN)
open(came, "w").close()
begin = time.monotonic()
while how != "wait" and mine and not alone() and time.monotonic() - begin < limit:
    try:
        with open(record) as starts:
            if starts.read().strip() == served:
                break
    except OSError:
        pass
    time.sleep(1)' "$1" "$root/dev/shm/sparkops-loading" "$came" "$record" "$boot served" "$$" \
        "${SPARKOPS_TURN_SECONDS:-900}" 2>/dev/null &
    holder=$!
    until [ -e "$came" ] || [ -n "$lost" ] || ! kill -0 "$holder" 2>/dev/null; do pause 0.2; done
}
