#!/bin/sh
# Probes of what serves now; `watch.sh` carries them.
# shellcheck disable=SC2154  # what watch.sh sets

# hundredths of a second since the boot: a clock that nobody sets
moment() {
    begin moment || return 0
    end 0 "$t"
}

# whether a run of sparkops is changing this node: looks at the lock and takes none
busy() {
    begin busy || return 0
    body=no inode=$(stat -c %i "$root/run/lock/sparkops.lock" 2>/dev/null)
    [ -z "$inode" ] || ! grep -q "FLOCK.* WRITE .*:$inode " /proc/locks || body=yes
    end 0 "$body"
}

# of each RDMA device the state, what it carried, and the interface that it belongs to
carried() {
    begin carried || return 0
    if cd "$root/sys/class/infiniband" 2>/dev/null; then
        text=''
        for path in */device/net/*; do
            [ ! -e "$path" ] || text=$text$path:$nl
        done
        body=$text$(ask grep -Hs '' ./*/ports/1/state ./*/ports/1/rate ./*/ports/1/counters/port_rcv_data \
            ./*/ports/1/counters/port_xmit_data)
        code=$?
        [ $code -gt 2 ] || code=0
    else
        body='' code=0 # without a cable there may be no device
    fi
    cd / || exit
    end $code "$body"
}

# one line for each container: ID, state, restarts, start, whether memory ran out, name, labels of ours
seen() {
    begin seen || return 0
    privileged docker ps -aq --no-trunc
    ids=$body
    [ "$code" != 0 ] || [ -z "$ids" ] || {
        # shellcheck disable=SC2086
        privileged docker inspect --format '{{.Id}} {{.State.Status}} {{.RestartCount}} {{.State.StartedAt}} {{.State.OOMKilled}} {{.Name}} {{index .Config.Labels "sparkops.hash"}} {{index .Config.Labels "sparkops.role"}} {{index .Config.Labels "sparkops.deployment"}}' $ids
        [ "$code" != 1 ] || code=0 # one that went away meanwhile
    }
    end "$code" "$body"
}

# what people used today at the endpoints of fleets here
usage() {
    begin usage || return 0
    text=$(
        for path in "$HOME"/.local/state/sparkops/people/*/today.json; do
            place=${path%/*} size=$(stat -c %s "$path" 2>/dev/null)
            [ "${size:-999999}" -gt 262144 ] || part "${place##*/}" 0 "$(cat "$path")"
        done
    )
    end 0 "$text"
}

jobs() {
    begin jobs || return 0
    text=$(
        for path in "$HOME"/.local/state/sparkops/jobs/*/; do
            [ ! -d "$path" ] || job "${path%/}"
        done
    )
    end 0 "$text"
}

counted='num_requests_running|num_requests_waiting|kv_cache_usage_perc|prompt_tokens_total|generation_tokens_total'
counted="$counted|iteration_tokens_total_sum|request_success_total|spec_decode_num_(draft|accepted)_tokens_total"

# of each engine what its health answered and its counters; of each that does not answer the end of its log
engines() {
    begin engines || return 0
    text=$(
        while read -r name health metrics; do
            [ -n "$metrics" ] || continue
            set -- "$health"
            [ "$metrics" = - ] || set -- "$@" "$metrics"
            said=$(curl -sS --noproxy '*' --fail-early -m 2 -w '\nhttp %{http_code} %{exitcode}\n' "$@" 2>/dev/null |
                grep -aE "^(http |vllm:($counted)[{ ])")
            case $said in
            'http 200 '*) ;;
            *) said=$said$nl$(booting "$name") ;;
            esac
            part "$name" 0 "$said"
        done <<ENGINES
$engines
ENGINES
    )
    end 0 "$text"
}

# every run of the scheduled drops, after a new one
drops() {
    [ -n "$dropped_anew" ] && begin drops || return 0
    body=$(tail -n 500 "$drop_log")
    end 0 "$body"
}

booting() {
    echo log
    privileged docker logs --tail 40 "$1"
    redact "$(printf '%s\n' "$body" | tail -c 20000 | tr '\r' '\n' | tail -n 40 | cut -c1-300)"
}
