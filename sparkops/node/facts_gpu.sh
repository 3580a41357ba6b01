#!/bin/sh
# Probes of the GPU.
# shellcheck disable=SC2154  # what facts.sh sets

# the driver that answered once is not stuck a moment later
smi() {
    if [ "$hung" = 0 ]; then
        "$how" nvidia-smi "$@"
        how=asked
        case $code in 124 | 137 | 143) hung=$code ;; esac
    else
        code=$hung body='not asked again: nvidia-smi did not answer'
    fi
}

gpu() {
    hung=0 how=insist
    if begin nvidia-smi; then
        smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
        end "$code" "$body"
    fi
    if begin gpu-load; then
        smi --query-gpu=clocks.sm,power.draw,utilization.gpu,temperature.gpu,pstate,clocks_event_reasons.active \
            --format=csv,noheader,nounits
        end "$code" "$body"
    fi
    if begin gpu-processes; then
        smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader
        text=$body
        while IFS=, read -r pid _; do
            case $pid in '' | *[!0-9]*) continue ;; esac
            slurp "$root/proc/$pid/cgroup" && text="$text${nl}cgroup $pid ${body##*"$nl"}"
        done <<PROCESSES
$text
PROCESSES
        end "$code" "$text"
    fi
}
