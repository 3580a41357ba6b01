#!/bin/sh
[ "$*" = "-n true" ] && [ ! -e "$SPARKLAB_NODE/faults/sudo-password" ] && exit 0
exec PROGRAM "$@"
