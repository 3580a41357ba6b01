#!/bin/sh
# What only shows with others: whether peers answer over the fabric, and whether a container gets the GPU. Reads only.
#
#   peers [--sudo] [--among "ADDRESS..."] [--hear INTERFACE]... [--ping INTERFACE ADDRESS BYTES]... [--gpu IMAGE]
#
# All at once, each within its own limit. A ping is bound to its interface and must not be fragmented; where that gets no
# answer a short one tells a lost link from lost large packets. To hear who is at the other end of a cable, whatever its
# address is, all IPv6 nodes there are asked. Output: a line `sparkops-peers 1`, then for each thing asked
# `-- EXIT BYTES ping INTERFACE ADDRESS BYTES`, `small INTERFACE ADDRESS`, `hear INTERFACE` (one address a line), `lldp` (this
# node's name, then what a running lldpd knows; only with --hear) or `gpu`, and so many bytes.
# The image runs with nvidia-smi instead of its entrypoint, without network, and is removed again.
export LC_ALL=C
export PATH="$PATH:/usr/sbin:/sbin"
exec </dev/null
limit=${SPARKOPS_PROBE_LIMIT:-10}
sudo='' among='' names=''
nl='
'

# one write, so that what runs at once does not mix: bash would write each line by itself
part() {
    text=$(printf '%s' "$3" | tail -n "${4:-6}" | cut -c1-300)
    printf -- '-- %s %s %s\n%s\n' "$2" "${#text}" "$1" "$text" | dd bs=8192 count=1 iflag=fullblock 2>/dev/null
}

reach() {
    text=$(timeout "$limit" ping -n -c 2 -i 0.3 -W 2 -M 'do' -s "$3" -I "$1" "$2" 2>&1)
    code=$?
    part "ping $1 $2 $3" "$code" "$text"
    [ "$code" != 0 ] || return 0
    text=$(timeout "$limit" ping -n -c 2 -i 0.3 -W 2 -s 56 -I "$1" "$2" 2>&1)
    part "small $1 $2" $? "$text"
}

# -c 2: the second packet gives the answers of all to the first one their time; users may send one a second. Of many
# answers on a switch, some of those that are asked for suffice, and one other.
hear() {
    text=$(timeout "$limit" ping -6 -n -c 2 -W 1 "ff02::1%$1" 2>&1)
    code=$?
    known='' count=0 other=''
    for found in $(printf '%s\n' "$text" | sed -n 's/.* from \(fe80:[0-9a-f:]*[0-9a-f]\)[%:].*/\1/p' | sort -u); do
        case " $among " in
            *" $found "*) [ $((count += 1)) -gt 64 ] || known=$known$found$nl ;;
            *) other=$found ;;
        esac
    done
    found=$known$other
    part "hear $1" "$code" "${found:-$text}" 70
}

lldp() {
    command -v lldpcli >/dev/null 2>&1 || return 0
    # shellcheck disable=SC2086
    text=$(timeout "$limit" ${sudo:+sudo -n} lldpcli -f keyvalue show neighbors ports "$1" 2>&1 |
        grep -E '^lldp\.[^=]+\.(via|chassis\.name|port\.(ifname|descr))=' | head -n 64 | cut -c1-110)
    part lldp 0 "$(uname -n)$nl$text" 70
}

gpu() {
    # shellcheck disable=SC2086
    text=$(timeout 60 ${sudo:+sudo -n} docker run --rm --pull never --gpus all --network none --entrypoint nvidia-smi "$1" -L 2>&1)
    part gpu $? "$text"
}

echo 'sparkops-peers 1'
while [ $# -gt 0 ]; do
    case $1 in
        --sudo) sudo=sudo ;;
        --among)
            among=$2
            shift
            ;;
        --hear)
            hear "$2" &
            names=$names${names:+,}$2
            shift
            ;;
        --ping)
            reach "$2" "$3" "$4" &
            shift 3
            ;;
        --gpu)
            gpu "$2" &
            shift
            ;;
        *) echo "peers: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
[ -z "$names" ] || lldp "$names" &
wait
