#!/bin/sh
# Work that goes on without its client: builds, downloads, the cache dropper.
#
#   job start ID DEADLINE WORDS...   nothing happens when ID is running
#   job list                         ID, state, exit code, start (epoch), command; tab-separated
#   job log ID [LINES]
#   job probe ID [LINES]             ready | wait | never with a reason, then the log's end
#   job wait ID                      until it ended; its exit code
#   job cancel ID                    TERM, 5 s later KILL
#
# A line `progress: TEXT` of the log says how far the job is: the last one is the probe's reason, none is shown otherwise.
# A line `error: TEXT` at its end says why it failed.
#
# State: ~/.local/state/sparkops/jobs/ID/{cmd,pid,log,rc}. A job runs exactly while something holds a lock on `pid`, so
# neither a reboot nor a reused process number can make a dead job look alive. Through sudo it is root's, its state the
# person's. Jobs that ended a month ago are forgotten when another one starts.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin
export LC_ALL PATH

if [ -n "${SUDO_UID:-}" ] && [ "${SUDO_USER:-root}" != root ] && [ "$(id -u)" = 0 ]; then
    while IFS=: read -r name _ _ _ _ home _; do
        [ "$name" != "$SUDO_USER" ] || HOME=$home
    done 2>/dev/null <"${SPARKOPS_ROOT:-}/etc/passwd"
    export HOME
fi
ours=$HOME/.local/state/sparkops
jobs=$ours/jobs

. ./own.sh
. ./record.sh

running() {
    [ -e "$1/pid" ] || return 1
    flock -n -s 8 8<"$1/pid"
    [ $? -eq 1 ]
}

look() {
    code='' state=lost
    if running "$1"; then
        state=running
    elif [ -s "$1/rc" ]; then
        state=ended
        read -r code <"$1/rc"
    fi
}

start() {
    deadline=$1
    shift
    record "folder $jobs" 2>/dev/null
    mkdir -p "$dir" || exit
    own "${ours%/state/*}" "${ours%/*}" "$ours" "$ours/manifest" "$jobs" "$dir"
    exec 9>>"$dir/pid"
    flock -n 9 || {
        echo "running $id"
        return
    }
    rm -f "$dir/rc"
    : >"$dir/pid"
    forget
    (
        [ $# -lt 4 ] || [ "$1 $2" != 'sh -c' ] || shift 3 # a script of ours goes by its name
        printf '%s ' "$@" >"$dir/cmd"
    )
    setsid sh -c "$supervise" supervise "$dir" "$deadline" "$@" </dev/null >"$dir/log" 2>&1 &
    tries=0
    while [ ! -s "$dir/pid" ] && kill -0 "$!" && [ $((tries += 1)) -le 600 ]; do
        sleep 0.05 # until it has left our process group, which run.sh ends when we do
    done 2>/dev/null
    echo "started $id"
}

forget() {
    find "$jobs" -mindepth 2 -maxdepth 2 -name rc -mtime +30 | while IFS= read -r old; do
        running "${old%/rc}" || rm -rf "${old%/rc}"
    done
}

# shellcheck disable=SC2016
supervise='
    dir=$1 deadline=$2
    shift 2
    timeout -k 5 "$deadline" "$@" </dev/null &
    echo "$!" >"$dir/pid"
    wait "$!"
    echo "$?" >"$dir/rc.new"
    mv "$dir/rc.new" "$dir/rc"
'

list() {
    for dir in "$jobs"/*/; do
        dir=${dir%/}
        [ -e "$dir/cmd" ] || continue
        look "$dir"
        command=$(tr '\n\t' '  ' <"$dir/cmd" | cut -c -200)
        printf '%s\t%s\t%s\t%s\t%s\n' "${dir##*/}" "$state" "$code" "$(stat -c %Y "$dir/cmd")" "$command"
    done
}

probe() {
    look "$dir"
    now=''
    [ ! -e "$dir/log" ] || now=$(tail -n 200 "$dir/log" | sed -n 's/^progress: //p' | tail -n 1)
    case $state:$code in
        running:*) echo "wait ${now:-running}" ;;
        ended:0) echo ready ;;
        ended:124) echo 'never it exceeded its time limit' ;;
        ended:*)
            why=$(tail -n 40 "$dir/log" | sed -n 's/^error: //p' | tail -n 1)
            echo "never ${why:-it ended with exit code $code}"
            ;;
        *) echo 'never the job does not exist, or it was killed' ;;
    esac
    log "${1:-15}"
    [ "$state" != running ] || [ -z "$now" ] || echo "$now" # that it changes is what a wait goes by
}

log() {
    [ ! -e "$dir/log" ] || grep -v '^progress: ' "$dir/log" | tail -n "$1"
}

wait_for() {
    [ -e "$dir/pid" ] || {
        echo "no job $id" >&2
        exit 1
    }
    flock -s 8 8<"$dir/pid"
    look "$dir"
    exit "${code:-137}"
}

cancel() {
    running "$dir" || return 0
    pid=''
    for _ in 1 2 3 4 5; do
        read -r pid <"$dir/pid" && break
        sleep 0.1 # just started
    done
    kill -s TERM "$pid" 2>/dev/null # timeout hands it on to its group
    flock -w 7 -s 8 8<"$dir/pid" || kill -s KILL -- "-$pid" 2>/dev/null
    return 0
}

verb=$1
shift
if [ "$verb" != list ]; then
    id=$1
    shift
    case $id in
        '' | .* | *[!A-Za-z0-9._-]*)
            echo "not a job id: $id" >&2
            exit 2
            ;;
    esac
    dir=$jobs/$id
fi
case $verb in
    start) start "$@" ;;
    list) list ;;
    log) log "${1:-200}" ;;
    probe) probe "$@" ;;
    wait) wait_for ;;
    cancel) cancel ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
