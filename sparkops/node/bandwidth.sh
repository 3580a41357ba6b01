#!/bin/sh
# How much one interface of a cable carries, by ib_write_bw of the package perftest. Changes nothing.
#
#   bandwidth there                           # exit 127 without ib_write_bw
#   bandwidth receive DEVICE PORT             # from one sender, which must come within 20 seconds
#   bandwidth send DEVICE PORT ADDRESS        # for 2 seconds; prints what ib_write_bw prints
export LC_ALL=C
export PATH="$PATH:/usr/sbin:/sbin"
exec </dev/null

command -v ib_write_bw >/dev/null 2>&1 || {
    echo 'ib_write_bw: not found' >&2
    exit 127
}

measure() {
    device=$1 port=$2
    shift 2
    timeout 20 ib_write_bw -d "$device" -i 1 -p "$port" -F --report_gbits -D 2 "$@" 2>&1
}

case $1 in
    there) ;;
    receive) measure "$2" "$3" ;;
    send)
        # both begin at once, and the receiver may need a moment longer
        tries=0
        until said=$(measure "$2" "$3" "$4"); do
            code=$?
            [ $((tries += 1)) -lt 10 ] || break
            sleep 0.5
        done
        printf '%s\n' "$said"
        [ "$tries" -lt 10 ] || exit "$code"
        ;;
    *) echo "bandwidth: unknown verb $1" >&2 && exit 2 ;;
esac
