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
    limit=$1 device=$2 port=$3
    shift 3
    timeout --foreground "$limit" ib_write_bw -d "$device" -i 1 -p "$port" -F --report_gbits -D 2 "$@" 2>&1
}

case $1 in
    there) ;;
    receive) measure 20 "$2" "$3" ;;
    send)
        # both begin at once, and the receiver may need a moment longer; one that does not answer at all is not tried again
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            said=$(measure 10 "$2" "$3" "$4")
            code=$?
            case $code in
                0) break ;;
                124) said="no answer from $4 port $3: a firewall?" code=1 && break ;;
            esac
            sleep 0.5
        done
        printf '%s\n' "$said"
        exit "$code"
        ;;
    *) echo "bandwidth: unknown verb $1" >&2 && exit 2 ;;
esac
