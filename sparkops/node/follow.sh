#!/bin/sh
# A container's log as it grows, both streams as one, each line behind its time.
#
#   follow NAME TAIL [SINCE]
set -u
LC_ALL=C
export LC_ALL
exec docker logs -f -t --tail "$2" ${3:+--since "$3"} "$1" 2>&1
