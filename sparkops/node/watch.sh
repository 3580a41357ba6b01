#!/bin/sh
# What changes on a node, again and again: a frame every SECONDS, each a capture as `facts.sh` prints it, until the
# connection ends.
#
#   watch SECONDS [--sudo] [--cache DIR] [--engine CONTAINER HEALTH METRICS]...
#
# Every frame has what costs little to read. The first one and each third one also have what asks Docker, the disk and
# cron. HEALTH and METRICS are URLs of an engine's API; a rank without an API has the health of the engine that it works
# for, and `-`. While HEALTH does not answer, the frame has the end of the container's log.
export LC_ALL=C
export PATH="$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/usr/local/bin"
exec </dev/null
nl='
'
root=${SPARKOPS_ROOT:-}
limit=${SPARKOPS_PROBE_LIMIT:-4}
budget=20
# shellcheck disable=SC2034  # for the probes that are shared with facts.sh
sudo='' escalated='' only='' person=${USER:-} history=20 cache='' images='' deployment=''
engines=''
seconds=$1
shift
while [ $# -gt 0 ]; do
    case $1 in
    --sudo) sudo=sudo ;;
    --cache) cache=$2 && shift ;;
    --engine) engines="$engines$2 $3 $4$nl" && shift 3 ;;
    *) echo "watch: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done

. ./facts_frames.sh
. ./facts_system.sh
. ./facts_network.sh
. ./facts_ours.sh
. ./facts_docker.sh
. ./facts_gpu.sh
. ./facts_engines.sh

behind_sudo
cache=${cache:-${HF_HOME:-$HOME/.cache/huggingface}}
# shellcheck disable=SC2088
case $cache in '~') cache=$HOME ;; '~/'*) cache=$HOME/${cache#'~/'} ;; esac

always=moment,busy,boot,meminfo,stall,carried,gpu-load,engines
sometimes=clock,thermal,net,gpu-processes,seen,disk,schedule,drops,jobs,usage

frame() {
    now
    began=$t
    echo 'sparkops-facts 1'
    moment
    busy
    clock
    identity
    memory
    tree stall /proc/pressure 'cpu io memory'
    carried
    gpu
    seen
    network
    disk
    schedule
    drops
    jobs
    usage
    engines
    now
    printf '== end 0 %s 0\n\n' $(((t - began) * 10))
}

drop_log=$HOME/.local/state/sparkops/cache/log
beat=0 last=''
while :; do
    only=$always dropped_anew=''
    if [ $((beat % 3)) = 0 ]; then
        only=$always,$sometimes
        newest=$(tail -n 1 "$drop_log" 2>/dev/null)
        [ "$newest" = "$last" ] || dropped_anew=yes
        last=$newest
    fi
    beat=$((beat + 1))
    text=$(frame)
    printf '%s\n\n' "$text" || exit
    sleep "$seconds"
done
