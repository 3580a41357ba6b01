#!/bin/sh
# All that the key of a fleet's endpoint may do on this node, as the command that its SSH client asks for:
#
#   look            `memory` and the KiB that are available, then of each container: name, state, how often it restarted
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

# What a run of sparkops does here comes first.
await_run() {
    lock=${SPARKOPS_ROOT:-}/run/lock/sparkops.lock
    [ -r "$lock" ] || return 0
    flock -n -s "$lock" true || { echo 'a run of sparkops changes this node' >&2 && exit 75; }
}

find_it() {
    docker ps -aq --no-trunc --filter "name=^/?$1\$" --filter "label=sparkops.deployment=$2"
}

look() {
    while read -r key size _; do
        [ "$key" != MemAvailable: ] || echo "memory $size"
    done <"${SPARKOPS_ROOT:-}/proc/meminfo"
    while read -r name deployment; do
        id=$(find_it "$name" "$deployment") || exit
        [ -z "$id" ] || echo "$name $(docker inspect --format '{{.State.Status}} {{.RestartCount}}' "$id")"
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
    [ -n "$id" ] || { echo "there is no container $name of $deployment" >&2 && exit 1; }
}

case ${SSH_ORIGINAL_COMMAND:-} in
    look) look ;;
    'start '*)
        named "${SSH_ORIGINAL_COMMAND#start }"
        await_run
        sh drop drop "$(cat cache)"
        docker start "$id" >/dev/null
        ;;
    'stop '*)
        named "${SSH_ORIGINAL_COMMAND#stop }"
        await_run
        docker stop -t 30 "$id" >/dev/null
        ;;
    *) refuse ;;
esac
