#!/bin/sh
# while neither end has a fault that a ping shows, it is answered here; else the program looks closer
calm() { [ -e "$SPARKLAB_NODE/answers/calm" ] && [ -e "$SPARKLAB_NODE/../../at/$1/answers/calm" ]; }
for target; do :; done
if calm "$target"; then
    count=1 size=56
    while [ $# -gt 1 ]; do
        case $1 in
        -c) count=$2 ;;
        -s) size=$2 ;;
        esac
        shift
    done
    echo "PING $target ($target) $size($((size + 28))) bytes of data."
    number=0
    while [ $((number += 1)) -le "$count" ]; do
        echo "$((size + 8)) bytes from $target: icmp_seq=$number ttl=64 time=0.4$((number % 10)) ms"
    done
    echo
    echo "--- $target ping statistics ---"
    echo "$count packets transmitted, $count received, 0% packet loss, time 0ms"
    exit 0
fi
exec PROGRAM "$@"
