#!/bin/sh
# All that the key of a fleet's endpoint may do on this node, as the command that its SSH client asks for:
#
#   look            `memory` and the KiB that are available, `busy yes` while a run of sparkops changes this node, then of
#                   each container: name, state, how often it restarted
#   start NAME      drops the page cache first
#   stop NAME
#
# NAME is one of `containers` beside this script, where its deployment stands, too: a container without that label is a
# stranger's. Nothing of what is asked reaches a shell, a path or a pattern.
set -uf
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

refuse() {
    # shellcheck disable=SC2016
    echo 'this key may ask for `look`, `start NAME` and `stop NAME`, of containers that are on demand' >&2
    exit 77
}

cd "${0%/*}" && [ -r containers ] || refuse

# What a run of sparkops does here comes first, and waits for a start of ours.
beside_no_run() {
    lock=${SPARKOPS_ROOT:-}/run/lock/sparkops.lock
    if [ -r "$lock" ]; then flock -n -s -E 75 "$lock" "$@"; else "$@"; fi
    code=$?
    [ "$code" -ne 75 ] || echo 'a run of sparkops changes this node' >&2
    return "$code"
}

find_it() {
    docker ps -aq --no-trunc --filter "name=^/?$1\$" --filter "label=sparkops.deployment=$2"
}

look() {
    while read -r key size _; do
        [ "$key" != MemAvailable: ] || echo "memory $size"
    done <"${SPARKOPS_ROOT:-}/proc/meminfo"
    beside_no_run true 2>/dev/null || echo 'busy yes'
    while read -r name deployment; do
        id=$(find_it "$name" "$deployment") || exit
        [ -n "$id" ] || continue
        told=$(docker inspect --format '{{.State.Status}} {{.RestartCount}}' "$id") || exit
        echo "$name $told"
    done <containers
}

# The container that was named; whoever names another is refused.
named() {
    while read -r name deployment; do
        [ "$name" != "$1" ] || break
        name=''
    done <containers
    [ -n "$name" ] || refuse
    id=$(find_it "$name" "$deployment") || exit
}

# What was done, for `sparkops history`. It is done also if that cannot be written.
note() {
    {
        echo "@ $(date -u +%Y-%m-%dT%H:%M:%SZ) $1 $deployment" >>acts
        [ "$(wc -l <acts)" -le 400 ] || { tail -n 200 acts >acts.new && mv -f acts.new acts; }
    } 2>/dev/null
    :
}

case ${SSH_ORIGINAL_COMMAND:-} in
    look) look ;;
    'start '*)
        named "${SSH_ORIGINAL_COMMAND#start }"
        [ -n "$id" ] || { echo "there is no container $name of $deployment" >&2 && exit 1; }
        sh drop drop "$(cat cache)"
        beside_no_run docker start "$id" >/dev/null && note start
        ;;
    'stop '*)
        named "${SSH_ORIGINAL_COMMAND#stop }"
        [ -n "$id" ] || exit 0
        beside_no_run true && docker stop -t 30 "$id" >/dev/null && note stop
        ;;
    *) refuse ;;
esac
