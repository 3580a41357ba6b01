#!/bin/sh
[ -e "$SPARKLAB_NODE/faults/clock-skew" ] && exec REAL -d '+600 seconds' "$@"
exec REAL "$@"
