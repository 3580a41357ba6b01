#!/bin/sh
# what is piped has its true hash
[ $# -gt 0 ] || exec REAL
exec PROGRAM "$@"
