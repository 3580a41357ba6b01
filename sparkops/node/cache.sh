#!/bin/sh
# The Linux page cache shares the GPU's memory on GB10, so it is emptied before an engine starts and while it loads.
#
#   cache drop [MODEL_DIR]
#   cache watch NAME BELOW_KIB SECONDS [MODEL_DIR]   drop whenever MemFree < BELOW_KIB, until NAME serves, ends, or late
#
# Needs root, or `sudo -n tee /proc/sys/vm/drop_caches`; without either the model's own files are let go as their owner.
# A missing right is said and is no failure.
set -u
LC_ALL=C
export LC_ALL

knob=${SPARKOPS_ROOT:-}/proc/sys/vm/drop_caches
meminfo=${SPARKOPS_ROOT:-}/proc/meminfo

kib() { awk -v key="$1:" '$1 == key { print $2 }' "$meminfo"; }

drop_all() {
    { echo 3 >"$knob"; } 2>/dev/null || echo 3 | sudo -n tee "$knob" >/dev/null 2>&1
}

drop_model() {
    [ -n "$1" ] && [ -d "$1" ] || return 1
    find -L "$1" -type f -size +1M -exec dd of=/dev/null if={} iflag=nocache count=0 status=none \; 2>/dev/null
}

drop() {
    before=$(kib Cached)
    sync
    if drop_all; then how='all'; elif drop_model "$1"; then how="the model's files"; else how='nothing (no right to)'; fi
    echo "page cache dropped: $how, $before KiB -> $(kib Cached) KiB"
}

watch() {
    name=$1 below=$2 end=$(($(date +%s) + $3)) model=$4
    while [ "$(date +%s)" -lt "$end" ]; do
        [ "$(docker inspect --format '{{.State.Running}}' "$name" 2>/dev/null)" = true ] || return 0
        case $(docker logs --tail 50 "$name" 2>&1) in
            *'Application startup complete'* | *'sparkops: gave up'*) return 0 ;;
        esac
        [ "$(kib MemFree)" -ge "$below" ] || drop "$model"
        sleep 5
    done
}

verb=$1
shift
case $verb in
    drop) drop "${1:-}" ;;
    watch) watch "$1" "$2" "$3" "${4:-}" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
