#!/bin/sh
# Lets a fleet's endpoint start and stop the containers of this node that are on demand.
#
#   switch open STATE_DIR GATEWAY ADDRESSES CACHE_DIR sh -c ANSWER answer sh -c DROP cache [NAME DEPLOYMENT]...
#   switch close STATE_DIR GATEWAY
#
# `open` lets the public key on stdin in from ADDRESSES (with commas), for ANSWER alone and the containers with these
# names. What was open for this GATEWAY before is no longer.
set -u
LC_ALL=C
export LC_ALL
umask 077
nl='
'

verb=$1 state=$2 gateway=$3
ours=$state dir=$state/ondemand/$gateway
mark=sparkops-ondemand: keys=${state%/.local/state/sparkops}/.ssh/authorized_keys

. ./own.sh
. ./record.sh
. ./keyline.sh

unwritable() {
    echo "cannot write $1" >&2
    exit 73
}

# The key is good for nothing before its script and after it.
close() {
    if grep -qs " $mark$gateway\$" "$keys"; then key_line "$gateway" </dev/null || unwritable "$keys"; fi
    if grep -qs " $mark$gateway\$" "$state/manifest"; then
        grep -v " $mark$gateway\$" "$state/manifest" >"$state/manifest.new.$$"
        mv -f "$state/manifest.new.$$" "$state/manifest" || unwritable "$state/manifest"
        own "$state/manifest"
    fi
    rm -rf "$dir"
}

keep() { printf %s "$2" >"$dir/$1" || unwritable "$dir/$1"; }

open() {
    from=$1
    read -r key
    { record "folder $state/ondemand" && mkdir -p "$dir" "${keys%/*}"; } || unwritable "$dir"
    keep cache "$2"
    keep answer "$5"
    keep drop "$9"
    shift 10
    [ -z "$acts" ] || keep acts "$acts$nl"
    keep containers "$([ $# = 0 ] || printf '%s %s\n' "$@")
"
    own "${state%/state/*}" "${state%/*}" "$state" "$state/manifest" "$state/ondemand" "$dir" "$dir"/* "${keys%/*}"
    line="restrict,command=\"exec sh .local/state/sparkops/ondemand/$gateway/answer\",from=\"$from\" $key $mark$gateway"
    record "authorized-key $line" || unwritable "$state/manifest"
    echo "$line" | key_line "$gateway" || unwritable "$keys"
}

case $verb in
    open)
        shift 3
        acts=$(cat "$dir/acts" 2>/dev/null) # what was done stays known
        close && open "$@"
        ;;
    close) close ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
