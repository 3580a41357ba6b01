#!/bin/sh
# Small files of ours on a node, written whole or not at all.
#
#   file write PATH MODE     the content comes on stdin
#   file remove PATH...
#   file dirs PATH...        made as the login user, since Docker would make missing mount sources as root
set -eu

verb=$1
shift
case $verb in
    write)
        umask 077
        mkdir -p "$(dirname "$1")"
        new=$1.new.$$
        trap 'rm -f "$new"' EXIT
        cat >"$new"
        chmod "$2" "$new"
        mv -f "$new" "$1"
        ;;
    remove) rm -f -- "$@" ;;
    dirs) mkdir -p -- "$@" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
