#!/bin/sh
# Runs one command that cannot outlive its client: every command of sparkops goes through here.
#
#   run TIMEOUT BYTES RUNID [WORDS...]
#
# The first BYTES bytes of stdin are the command's own stdin. What follows is only held open: its end means that the
# client is gone, and the command's process group is ended (TERM, 5 s later KILL), as it is after TIMEOUT seconds.
# `+BYTES` skips the lines up to an empty one first (a password that sudo did not ask for). RUNID is `-` for a command
# that changes nothing; any other is refused unless the lock names it and is held. Exit code: the command's; 124 and a
# marker line after TIMEOUT, 75 and a marker line without the lock.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin
export LC_ALL PATH

limit=$1 bytes=$2 run=$3
shift 3

case $bytes in
    +*)
        bytes=${bytes#+}
        while read -r line && [ -n "$line" ]; do :; done
        ;;
esac

named_and_held() {
    read -r owner || return 1
    case $owner in
        *"\"run\":\"$run\""*) ;;
        *) return 1 ;;
    esac
    flock -n -s 0
    [ $? -eq 1 ]
}

if [ "$run" != - ] && ! named_and_held 2>/dev/null <"${SPARKOPS_ROOT:-}/run/lock/sparkops.lock"; then
    echo 'sparkops-run: lock lost' >&2
    exit 75
fi

uptime() {
    now=0
    read -r now _ </proc/uptime
    now=${now%%.*}
}

# `timeout` is the deadline, the process group, and what hands TERM on to the group, in one process.
child=''
trap '[ -z "$child" ] || kill -s TERM "$child" 2>/dev/null' HUP INT TERM
exec 3<&0
uptime 2>/dev/null
began=$now
if [ "$bytes" = 0 ]; then
    timeout -k 5 "$limit" "$@" </dev/null 3<&- &
    child=$!
else
    pipe=${TMPDIR:-/tmp}/sparkops-run.$$
    mkfifo -m 600 "$pipe" || exit 71
    exec 4<>"$pipe"
    rm -f "$pipe"
    head -c "$bytes" <&3 >/proc/self/fd/4 2>/dev/null 3<&- 4<&- &
    feeder=$!
    timeout -k 5 "$limit" "$@" </proc/self/fd/4 3<&- 4<&- &
    child=$!
    exec 4<&-
    wait "$feeder"
fi

{
    while read -r _; do :; done
    kill -s TERM $$ # a hang-up may have been ignored since before we were started, and then no trap sees it
} <&3 >/dev/null 2>&1 3<&- &
watch=$!

wait "$child" 2>/dev/null # dash would print how a signal ended it
code=$?
while kill -0 "$child" 2>/dev/null; do # a trap ended the wait, not the command
    wait "$child" 2>/dev/null
    code=$?
done
uptime 2>/dev/null

sweep() { # what the command left behind in its group
    kill -s TERM -- "-$child" 2>/dev/null || return
    for nap in 0.05 0.2 0.75 1 1 1 1; do
        sleep "$nap"
        kill -s 0 -- "-$child" 2>/dev/null || return # dash knows no `-0 --`
    done
    kill -s KILL -- "-$child" 2>/dev/null
}
sweep
{ kill -s KILL "$watch" && wait "$watch"; } 2>/dev/null # dash loses a TERM that comes before a child has left our traps

case $code in
    124 | 137)
        if [ $((now - began)) -ge "${limit%%.*}" ]; then
            echo 'sparkops-run: timeout' >&2
            exit 124
        fi
        ;;
esac
exit "$code"
