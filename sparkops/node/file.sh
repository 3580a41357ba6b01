#!/bin/sh
# Small files of ours on a node, written whole or not at all.
#
#   file write PATH MODE     the content comes on stdin
#   file read PATH           nothing if there is none
#   file remove PATH...
#   file remove-folder PATH  only below our own folder
#   file dirs PATH...        made as the login user, since Docker would make missing mount sources as root
set -eu

ours=$HOME/.local/state/sparkops

. ./record.sh

# Below our own folder its first level stands for all of it; what was there before us is not ours to take away.
place() {
    below=${1#"$ours"/}
    case $below in
        /* | "${below%%/*}") [ -e "$1" ] || record "file $1" ;;
        *) record "folder $ours/${below%%/*}" ;;
    esac
}

# Each directory that is not there yet, the outer one first; it is taken away again only when it is empty.
make() {
    if [ -d "$1" ] || [ -z "$1" ]; then return 0; fi
    make "${1%/*}"
    record "made $1"
}

verb=$1
shift
case $verb in
    write)
        umask 077
        place "$1"
        mkdir -p "$(dirname "$1")"
        new=$1.new.$$
        trap 'rm -f "$new"' EXIT
        cat >"$new"
        chmod "$2" "$new"
        mv -f "$new" "$1"
        ;;
    read) [ ! -e "$1" ] || cat -- "$1" ;;
    remove) rm -f -- "$@" ;;
    remove-folder)
        case /$1/ in
            */../*) exit 2 ;;
            /"$ours"/?*) rm -rf -- "$1" ;;
            *) exit 2 ;;
        esac
        ;;
    dirs)
        for path in "$@"; do make "$path"; done
        mkdir -p -- "$@"
        ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
