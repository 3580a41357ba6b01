#!/bin/sh
# Our one netplan file: tried first, and kept only if the node can be reached with it.
#
#   netplan there PATH           prints `file`, and `try` while one is tried or taken back
#   netplan show PATH            as root: its text
#   netplan try PATH SECONDS     as root: applies the text on stdin; an empty one means what the other files say
#   netplan keep PATH            as root: the tried text becomes the file
#   netplan drop PATH            as root: to be without the file was tried, so it goes
#
# A try is a file in /run/netplan, which netplan reads in place of the one of its name in /etc/netplan. So what was before
# is in force again after SECONDS, or after a reboot, unless `keep` or `drop` came first. Who renames the try has it.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

fail() {
    echo "$*" >&2
    exit 1
}

# Prints `INTERFACE ADDRESS` for each address that the text of ours in file $1 adds, and that in file $2 does not.
# shellcheck disable=SC2016 # its own words
added='
    [ -e "$2" ] && other=$2 || other=/dev/null
    line="^ *\([^ :]*\): {optional.* addresses: \[\([0-9./]*\)\]}$"
    grep -vxFf "$other" "$1" | sed -n "s|$line|\1 \2|p"
'
# After $1 seconds takes back the try $2, and applies what was before (with the file $3). networkd leaves addresses on an
# interface that no file names any more. A later try has a timer of its own.
# shellcheck disable=SC2016
take_back='
    echo $$ >"$2.timer" || exit
    [ "$1" = 0 ] || sleep "$1"
    [ "$(cat "$2.timer")" = $$ ] && mv "$2" "$2.taken" || exit
    sh -c "$4" added "$2.taken" "$3" | while read -r interface address; do ip addr del "$address" dev "$interface"; done
    netplan apply
    [ ! -e "$3" ] || sh -c "$4" added "$3" "$2.taken" | while read -r interface address; do
        ip addr add "$address" dev "$interface" # there already, unless netplan failed
    done
    rm -f "$2.taken" "$2.timer"
'

# In a session of its own, so that the end of the connection does not end it.
take_back_after() {
    exec setsid sh -c "$take_back" take_back "$1" "$try" "$file" "$added" </dev/null >/dev/null 2>&1
}

try() {
    (umask 022 && mkdir -p "${try%/*}") && rm -f "$try.timer" && cat >"$try.new" || exit
    if [ ! -s "$try.new" ]; then
        [ -e "$file" ] || { rm -f "$try.new" && return; }
        echo 'network: {version: 2}' >"$try.new"
    fi
    command -v netplan >/dev/null || fail 'netplan is not installed, so the addresses have to be set by hand'
    take_back_after "${SPARKOPS_TRY_SECONDS:-$1}" >/dev/null 2>&1 &
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$try.timer" ] || sleep 0.3; done
    [ -s "$try.timer" ] || { kill "$!" && fail 'the timer that takes it back did not start, so nothing was changed'; }
    mv -f "$try.new" "$try" || exit
    if ! said=$(netplan generate 2>&1); then
        rm -f "$try"
        fail "netplan generate: $said"
    fi
    [ ! -e "$file" ] || sh -c "$added" added "$file" "$try" | while read -r interface address; do
        ip addr del "$address" dev "$interface"
    done
    if ! said=$(netplan apply 2>&1); then
        (take_back_after 0)
        fail "netplan apply: $said"
    fi
    settle
}

# netplan does not wait for the addresses that it asked for, nor the kernel for another node with the same IPv6 address.
settle() {
    sh -c "$added" added "$try" /dev/null | while read -r interface address; do
        for _ in 1 2 3 4 5; do
            case $(ip -o addr show dev "$interface" 2>/dev/null) in
                *tentative*) sleep 1 ;;
                *" $address "*) break ;;
                *) sleep 1 ;;
            esac
        done
    done
}

take() { mv "$try" "$try.taken" 2>/dev/null; }

# The end of the connection does not come between the try and the file.
keep() {
    trap '' HUP INT TERM
    late='it was taken back, because it was not confirmed within its minute'
    [ -e "$try" ] || fail "$late"
    { (umask 022 && mkdir -p "${file%/*}") && cat "$try" >"$file.new" && sync "$file.new"; } || {
        rm -f "$file.new"
        fail "${file##*/} cannot be written"
    }
    take || { rm -f "$file.new" && fail "$late"; }
    mv -f "$file.new" "$file" && rm -f "$try.taken" "$try.timer"
}

drop() {
    trap '' HUP INT TERM
    [ -e "$file" ] || [ -e "$try" ] || return 0
    take || fail 'the file is in force again, because its removal was not confirmed within its minute'
    rm -f "$file" "$try.taken" "$try.timer"
}

umask 077
verb=$1
file=${SPARKOPS_ROOT:-}$2 try=${SPARKOPS_ROOT:-}/run/netplan/${2##*/}
shift 2
case $verb in
    there)
        [ ! -d "${file%/*}" ] || [ -x "${file%/*}" ] || fail "the folder ${file%/*} cannot be read"
        [ ! -e "$file" ] || echo file
        [ ! -e "$try" ] && [ ! -e "$try.taken" ] || echo try
        ;;
    show) cat "$file" ;;
    try)
        [ ! -e "$try" ] && [ ! -e "$try.taken" ] || fail 'another network configuration is being tried on this node'
        try "$1"
        ;;
    keep) keep ;;
    drop) drop ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
