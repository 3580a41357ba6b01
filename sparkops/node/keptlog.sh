#!/bin/sh
# The end of the newest log that was kept of a removed container; before it a line with the time of that container's end,
# in seconds since 1970.
#
#   keptlog DIR DEPLOYMENT LINES       a name or a hash (files have its first eight digits); an empty DEPLOYMENT means any
set -u
newest='' hash=$(printf %.8s "$2")
for file in "$1"/sparkops-"${2:+$2-}"*.log "$1"/sparkops-*-"$hash".log; do
    [ -f "$file" ] || continue
    if [ -z "$newest" ] || [ -n "$(find "$file" -newer "$newest")" ]; then newest=$file; fi
done
[ -z "$newest" ] || { stat -c %Y "$newest" && tail -n "$3" "$newest"; }
