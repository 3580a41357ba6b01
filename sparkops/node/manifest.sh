#!/bin/sh
# What sparkops placed on this node, so that all of it can be taken away again.
#
#   manifest add|forget KIND WHAT
#   manifest clean [--keep KIND...]    takes away what is listed, last first, then our own folder; prints what it did
#
# ~/.local/state/sparkops/manifest: `sparkops-manifest 1`, then lines `KIND WHAT`. Kinds: `file`; `folder`, below our own
# one; `made`, a directory that was not there, removed when it is empty; `empty`, a file that was not there, likewise;
# `authorized-key LINE`; `newline`, a file whose last line had none. `crontab`, `sudoers`, `netplan`, `linger USER`
# and `service NAME` are undone by commands of their own before; with --keep such entries, and with them the manifest, stay.
set -u
LC_ALL=C
export LC_ALL

ours=$HOME/.local/state/sparkops
keys=$HOME/.ssh/authorized_keys
code=0

. ./record.sh

forget() {
    [ -f "$ours/manifest" ] || return 0
    grep -vxF -e "$1" "$ours/manifest" >"$ours/manifest.new"
    mv -f "$ours/manifest.new" "$ours/manifest"
}

failed() {
    echo "not removed: $*"
    code=1
}

gone() {
    [ -e "$1" ] || return 0
    if rm -rf -- "$1"; then echo "removed: $1"; else failed "$1"; fi
}

unless_filled() {
    [ -e "$1" ] || return 0
    if rmdir -- "$1" 2>/dev/null; then echo "removed: $1"; else echo "kept: $1 (not empty)"; fi
}

# Whole or not at all: the person may log in by other keys.
without_key() {
    [ -f "$keys" ] || return 0
    file=$(readlink -f "$keys") new=$file.sparkops
    left=$(grep -vxF -e "$1" "$file" && echo .)
    if cp -p "$file" "$new" && printf %s "${left%.}" >"$new" && mv -f "$new" "$file"; then
        echo 'removed: the public key that sparkops installed'
    else
        rm -f "$new"
        failed "$keys"
    fi
}

undo() {
    case $1 in
        file) gone "$2" ;;
        folder) case $2 in "$ours"/*) gone "$2" ;; *) failed "$2, because it is not below $ours" ;; esac ;;
        empty) [ -s "$2" ] || gone "$2" ;;
        newline) [ ! -s "$2" ] || [ -n "$(tail -c 1 "$2")" ] || truncate -s -1 "$2" ;;
        authorized-key) without_key "$2" ;;
        made) made=$(printf '%s\n%s' "$made" "$2") ;;
    esac
}

each() { # of the lines on stdin
    while read -r kind what; do
        case $kind in '' | sparkops-manifest) continue ;; esac
        case $keep in *" $kind "*) ;; *) "$1" "$kind" "$what" ;; esac
    done
}

clean() {
    [ $# = 0 ] || shift
    keep=" $* " made=''
    kept="^($(printf %s "$*" | tr ' ' '|')) "
    entries=$(tac "$ours/manifest" 2>/dev/null)
    case $entries in
        '' | *'sparkops-manifest 1') ;;
        *) echo 'a newer sparkops wrote the manifest: use that version of sparkops' >&2 && exit 3 ;;
    esac
    each undo <<ENTRIES
$entries
ENTRIES
    [ "$code" = 0 ] || exit "$code"
    if [ $# != 0 ] && grep -qE -e "$kept" "$ours/manifest" 2>/dev/null; then
        grep -E -e '^sparkops-manifest ' -e '^made ' -e "$kept" "$ours/manifest" >"$ours/manifest.new"
        mv -f "$ours/manifest.new" "$ours/manifest"
        exit
    fi
    gone "$ours"
    while read -r dir; do
        [ -z "$dir" ] || unless_filled "$dir"
    done <<MADE
$made
MADE
    exit "$code"
}

verb=$1
shift
case $verb in
    add) record "$1 $2" ;;
    forget) forget "$1 $2" ;;
    clean) clean "$@" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
