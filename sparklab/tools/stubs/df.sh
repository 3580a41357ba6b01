#!/bin/sh
# the question of the facts: -P -k and paths that exist
fast=$([ "$1 $2" = "-P -k" ] && [ ! -e "$SPARKLAB_NODE/faults/disk-low" ] &&
    [ ! -e "$SPARKLAB_NODE/faults/disk-full" ] && shift 2 && for path; do [ -e "$path" ] || exit; done && echo yes)
[ -n "$fast" ] || exec PROGRAM "$@"
shift 2
echo 'Filesystem     1024-blocks     Used Available Capacity Mounted on'
for path; do echo '/dev/nvme0n1p2 3844551688 93323264 3751228424       3% /'; done
