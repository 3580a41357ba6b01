#!/bin/sh
# A file of the operator's, as a playbook's `copy:` wants it.
#
#   copy same PATH MODE     exit 0 when the file holds what comes on stdin, and has that mode
#   copy put PATH MODE      put it there whole or not at all
#
# PATH may begin with ~/ ; its directory must exist.
set -eu

verb=$1 path=$2 mode=$3
case $path in \~/*) path=$HOME/${path#\~/} ;; esac

case $verb in
    same) cmp -s - "$path" && [ "$(stat -c %04a "$path")" = "$mode" ] ;;
    put)
        [ -d "$(dirname "$path")" ] || {
            echo "there is no directory $(dirname "$path")" >&2
            exit 1
        }
        new=$path.new.$$
        trap 'rm -f "$new"' EXIT
        umask 077
        cat >"$new"
        chmod "$mode" "$new"
        mv -f "$new" "$path"
        ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
