#!/bin/sh
# Waits for the memory of what was stopped: it lags up to a minute behind `docker stop` on unified memory.
#
#   memory NEED_KIB          ends when that much is available, or when no more came back for 20 seconds
set -u

available() { awk '$1 == "MemAvailable:" { print $2 }' "${SPARKOPS_ROOT:-}/proc/meminfo"; }

best=$(available) quiet=0
while [ "$best" -lt "$1" ] && [ "$quiet" -lt 20 ]; do
    sleep 2
    quiet=$((quiet + 2))
    now=$(available)
    [ "$now" -le $((best + 262144)) ] || { best=$now && quiet=0; }
done
echo "$best KiB of $1 KiB are available"
