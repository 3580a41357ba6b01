#!/bin/sh
# One capture of everything sparkops wants to know of a node. Reads only, prints no secret, and makes no file except for
# what it remembers of images (`facts_images.sh`).
#
#   facts [--image REF]... [--model ID[@REV]]... [--cache DIR] [--deployment NAME] [--sudo] [--only PROBE,PROBE...]
#         [--history LINES] [--patience SECONDS]
#
# Output: a line `sparkops-facts 1`, then for each probe a line `== NAME EXIT MS BYTES`, BYTES bytes, a newline.
# A probe that hangs costs its limit (`--patience`); slow tools (GPU, Docker) run beside the rest. Probes that would begin after
# SPARKOPS_FACTS_BUDGET seconds are left out, so that a sick node still tells what it could.
# Run through sudo it needs no `--sudo`, and tells of the person behind sudo, not of root.

language="LANG=${LANG-} LC_ALL=${LC_ALL-}"
export LC_ALL=C COLUMNS=400
export PATH="$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/usr/local/bin"
exec </dev/null
nl='
'
root=${SPARKOPS_ROOT:-}
limit=${SPARKOPS_PROBE_LIMIT:-10}
budget=${SPARKOPS_FACTS_BUDGET:-40}
person=${USER:-} escalated=''
images='' model='' models='' cache='' deployment='' sudo='' only='' history=20
while [ $# -gt 0 ]; do
    case $1 in
    --image) images=$images$2$nl && shift ;;
    --model) if [ -z "$model" ]; then model=$2; else models=$models$2$nl; fi && shift ;;
    --cache) cache=$2 && shift ;;
    --deployment) deployment=$2 && shift ;;
    --history) history=$2 && shift ;;
    --only) only=$2 && shift ;;
    --patience) limit=$2 && shift ;;
    --sudo) sudo=sudo ;;
    *) echo "facts: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done

. ./facts_frames.sh
behind_sudo
[ -z "$escalated" ] || sudo=''
cache=${cache:-${HF_HOME:-$HOME/.cache/huggingface}}
# shellcheck disable=SC2088
case $cache in '~') cache=$HOME ;; '~/'*) cache=$HOME/${cache#'~/'} ;; esac

. ./facts_system.sh
. ./facts_network.sh
. ./facts_ours.sh
. ./facts_model.sh
. ./facts_docker.sh
. ./facts_images.sh
. ./facts_gpu.sh

quick_ones() {
    identity
    memory
    software
    network
    access
    lock
    state
    schedule
    model
    further_models
}

slow_ones_asked() {
    case ",$only," in ,, | *,nvidia-smi,* | *,gpu-* | *,docker-* | *,images,* | *,disk,*) ;; *) return 1 ;; esac
}

echo 'sparkops-facts 1'
clock
# the time that `end` tells passed after the clock was read, however late a crowded machine came to it
now
began=$t
if slow_ones_asked; then
    gpu | {
        docker_probes | {
            quick_ones
            cat
        }
        cat
    }
else
    quick_ones
fi
now
printf '== end 0 %s 0\n\n' $(((t - began) * 10))
