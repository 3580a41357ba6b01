#!/bin/sh
# the machine's own, as far as the node's disk is not full
case "$1 $2 $3" in *-x*) ;; *) exec REAL "$@" ;; esac
exec 3<&0
REAL "$@" <&3 &
while kill -0 "$!" 2>/dev/null; do
    [ ! -e "$SPARKLAB_NODE/faults/disk-full" ] || {
        kill "$!" && echo 'tar: write error: No space left on device' >&2
        exit 2
    }
    sleep 0.02
done
wait "$!"
