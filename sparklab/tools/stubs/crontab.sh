#!/bin/sh
[ "$*" = -l ] && [ -f "$SPARKLAB_NODE/crontab" ] && exec cat "$SPARKLAB_NODE/crontab"
[ "$*" = -l ] && echo "no crontab for spark" >&2 && exit 1
exec PROGRAM "$@"
