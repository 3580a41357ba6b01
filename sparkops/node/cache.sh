#!/bin/sh
# The Linux page cache shares the GPU's memory on GB10, so it is emptied before an engine starts, while it loads, and by
# cron while it serves. Beside a running server it is safe: only clean pages that nobody has mapped are let go.
#
#   cache drop [DIR]                                   now
#   cache watch NAME BELOW_KIB SECONDS HEALTH [DIR]    whenever MemFree < BELOW_KIB, until HEALTH answers, NAME ends, or late
#   cache scheduled [--when KEY OP KIB] [--dir DIR]    from cron: one at a time, one line to the log; OP as for `test`
#
# Needs root, or `sudo -n tee /proc/sys/vm/drop_caches`; without either the files of the models in DIR (default: the
# Hugging Face cache) are let go. A missing right is said and is no failure. `drop` and `scheduled` need a POSIX shell
# and coreutils (and sudo), nothing else: the same file is placed on the node for cron.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

root=${SPARKOPS_ROOT:-}
knob=$root/proc/sys/vm/drop_caches
meminfo=$root/proc/meminfo
state=$HOME/.local/state/sparkops/cache
log=$state/log
lock=$state/lock
kept=2000 # lines of the log; it is cut back to them when it has a tenth more

kib() {
    while read -r key size _; do
        [ "$key" != "$1:" ] || echo "$size"
    done <"$meminfo"
}

drop_all() {
    { echo 3 >"$knob"; } 2>/dev/null || echo 3 | sudo -n tee "$knob" >/dev/null 2>&1
}

# Any reader of a file may tell the kernel that its pages are no longer wanted.
let_go() {
    [ -d "$1" ] || return 1
    tab=$(printf '\t')
    gone=$(du -aL --apparent-size --threshold=1M -- "$1" 2>/dev/null | while IFS=$tab read -r _ path; do
        [ ! -f "$path" ] || ! dd of=/dev/null if="$path" iflag=nocache count=0 2>/dev/null || echo yes
    done)
    [ -n "$gone" ]
}

# What was there before, in the words that `told` completes.
before() { free=$(kib MemFree) available=$(kib MemAvailable) cached=$(kib Cached); }

told() {
    echo "page cache $1: MemFree $free -> $(kib MemFree), MemAvailable $available -> $(kib MemAvailable)," \
        "Cached $cached -> $(kib Cached) KiB"
}

# Much that is still exactly as much was not counted anew yet.
await_counters() {
    for _ in 1 2 3; do
        [ "$(kib Cached)" = "$cached" ] && [ "$cached" -gt 1048576 ] || return
        sleep 1
    done
}

drop() {
    before
    timeout 60 sync # what is not written yet stays, and a disk that hangs must not hold us
    if drop_all; then
        await_counters
        told 'dropped (everything)'
    elif let_go "${1:-${HF_HOME:-$HOME/.cache/huggingface}}"; then
        told "dropped (the models' files)"
    else
        told 'kept (no right to drop it)'
    fi
}

answers() { [ "$(curl -sS -m 3 -o /dev/null -w '%{http_code}' --noproxy '*' "$1" 2>/dev/null)" = 200 ]; }

watch() {
    name=$1 below=$2 end=$(($(date +%s) + $3)) health=$4
    while [ "$(date +%s)" -lt "$end" ]; do
        [ "$(docker inspect --format '{{.State.Running}}' "$name" 2>/dev/null)" = true ] || return 0
        ! answers "$health" || return 0
        case $(docker logs --tail 3 "$name" 2>&1) in *'sparkops: gave up'*) return 0 ;; esac
        nap=5
        if [ "$(kib MemFree)" -lt "$below" ]; then
            drop "$5"
            [ "$(kib MemFree)" -ge "$below" ] || nap=30 # what is left is no page cache: leave the load its pages
        fi
        sleep "$nap"
    done
}

# A directory, since making one is atomic everywhere; one that a killed run left is taken over.
take() {
    ! mkdir "$lock" 2>/dev/null || return 0
    owner=''
    [ ! -r "$lock/pid" ] || read -r owner <"$lock/pid"
    [ -n "$owner" ] || sleep 1
    [ -n "$owner" ] || [ ! -r "$lock/pid" ] || read -r owner <"$lock/pid"
    case $(tr '\0' ' ' 2>/dev/null <"/proc/${owner:-none}/cmdline") in *' scheduled'*) return 1 ;; esac
    rm -rf "$lock"
    mkdir "$lock" 2>/dev/null
}

scheduled() {
    when='' dir=''
    while [ $# -gt 0 ]; do
        case $1 in
            --when) when="$2 $3 $4" && shift 3 ;;
            --dir) dir=$2 && shift ;;
            *) echo "unknown option $1" >&2 && exit 2 ;;
        esac
        shift
    done
    umask 077
    mkdir -p "$state" || exit
    before
    if ! take; then
        note "$(told 'kept (another run goes on)')"
        return
    fi
    trap 'rm -rf "$lock"' EXIT
    trap 'exit 1' HUP INT TERM
    echo $$ >"$lock/pid"
    if holds "$when"; then note "$(drop "$dir")"; else note "$(told 'kept (not needed)')"; fi
}

holds() {
    [ -n "$1" ] || return 0
    # shellcheck disable=SC2086
    set -- $1
    now=$(kib "$1")
    test "${now:-0}" "$2" "$3"
}

note() {
    echo "$(date -u '+%s %Y-%m-%dT%H:%M:%SZ') $1" >>"$log" || exit
    [ "$(wc -l <"$log")" -le $((kept + kept / 10)) ] || { tail -n "$kept" "$log" >"$log.new" && mv "$log.new" "$log"; }
}

verb=$1
shift
case $verb in
    drop) drop "${1:-}" ;;
    watch) watch "$1" "$2" "$3" "$4" "${5:-}" ;;
    scheduled) scheduled "$@" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
