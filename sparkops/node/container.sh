#!/bin/sh
# Acts on one container of ours: it must have both our name and our label, so a stranger's is never touched.
#
#   container remove|stop|start NAME DEPLOYMENT STATE_DIR
#
# All are safe to repeat. The log is kept in STATE_DIR/logs before a container is removed; a full disk does not prevent
# the removal.
set -u
LC_ALL=C
export LC_ALL

verb=$1 name=$2 deployment=$3 state=$4 logs=$4/logs

find_it() {
    docker ps -aq --no-trunc --filter "name=^/?$name\$" --filter "label=sparkops.deployment=$deployment"
}

# Through sudo too our folders stay the person's own, who writes into them without it.
own() {
    [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-}" "$@" 2>/dev/null
}

keep_log() {
    mkdir -p "$logs" 2>/dev/null && docker logs "$name" 2>&1 | tail -n 20000 >"$logs/$name.log" 2>/dev/null
    own "${state%/state/*}" "${state%/*}" "$state" "$logs" "$logs/$name.log"
    return 0
}

id=$(find_it) || exit
case $verb in
    remove)
        [ -n "$id" ] || exit 0
        keep_log
        docker stop -t 30 "$id" >/dev/null 2>&1
        docker rm -f "$id" >/dev/null || [ -z "$(find_it)" ]
        ;;
    stop)
        [ -n "$id" ] || exit 0
        docker stop -t 30 "$id" >/dev/null
        ;;
    start)
        [ -n "$id" ] || { echo "no container $name of deployment $deployment" >&2 && exit 1; }
        docker start "$id" >/dev/null
        ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
