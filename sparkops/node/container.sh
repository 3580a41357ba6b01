#!/bin/sh
# Acts on one container of ours: it must have both our name and our label, so a stranger's is never touched.
#
#   container remove|drop|stop|start|aside|back|again NAME DEPLOYMENT STATE_DIR [SECONDS]
#
# `drop` removes it as `remove` does, but gives it one second only, not SECONDS: for one that has served nobody yet.
# `stop` and `remove` give it SECONDS to end (default 30).
# `aside` stops it and gives its name free, to be NAME.aside until its successor is verified; `back` takes that back,
# and `again` starts it too.
# All are safe to repeat. The log is kept in STATE_DIR/logs before a container is removed; a full disk does not prevent
# the removal.
set -u
LC_ALL=C
export LC_ALL

verb=$1 name=$2 deployment=$3 ours=$4 logs=$4/logs seconds=${5:-30}

. ./record.sh

find_it() {
    docker ps -aq --no-trunc --filter "name=^/?$1\$" --filter "label=sparkops.deployment=$deployment"
}

. ./own.sh

keep_log() {
    record "folder $logs" 2>/dev/null
    mkdir -p "$logs" 2>/dev/null && docker logs "$name" 2>&1 | tail -n 20000 >"$logs/$name.log" 2>/dev/null
    # the log is as old as the end of the container, which may have been removed long after that
    ended=$(docker inspect --format '{{.State.Running}} {{.State.FinishedAt}}' "$name" 2>/dev/null)
    case $ended in 'false '*) touch -d "${ended#* }" "$logs/$name.log" 2>/dev/null ;; esac
    own "${ours%/state/*}" "${ours%/*}" "$ours" "$ours/manifest" "$logs" "$logs/$name.log"
    return 0
}

remove() {
    docker rm -f "$1" >/dev/null || [ -z "$(find_it "$2")" ]
}

id=$(find_it "$name") || exit
case $verb in
    remove | drop)
        [ -n "$id" ] || exit 0
        keep_log
        [ "$verb" = remove ] || seconds=1
        docker stop -t "$seconds" "$id" >/dev/null 2>&1
        remove "$id" "$name"
        ;;
    stop)
        [ -n "$id" ] || exit 0
        docker stop -t "$seconds" "$id" >/dev/null
        ;;
    start)
        [ -n "$id" ] || { echo "no container $name of deployment $deployment" >&2 && exit 1; }
        # one that runs may be about to end: a stop goes on when its client was lost
        [ "$(docker inspect --format '{{.State.Running}}' "$id")" != true ] || timeout 60 docker wait "$id" >/dev/null
        docker start "$id" >/dev/null
        ;;
    aside)
        [ -n "$id" ] || exit 0
        old=$(find_it "$name.aside") || exit
        [ -z "$old" ] || remove "$old" "$name.aside" || exit
        if ! docker stop -t 30 "$id" >/dev/null; then # a dead one, of which nothing can be kept
            remove "$id" "$name"
            exit
        fi
        docker rename "$name" "$name.aside"
        ;;
    back | again)
        old=$(find_it "$name.aside") || exit
        [ -n "$old" ] || exit 0
        [ -z "$id" ] || { echo "cannot restore $name: the container that replaced it still exists" >&2 && exit 1; }
        docker rename "$name.aside" "$name" || exit
        [ "$verb" = back ] || docker start "$name" >/dev/null
        ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
