#!/bin/sh
# An image passes through this node: what arrives is loaded and at the same time sent on, nothing is kept in between.
#
#   relay left STATE_DIR                     IDs of copies that ended and left something here
#   relay open STATE_DIR ID ADDRESSES        lets the public key on stdin in from ADDRESSES, to hand in this copy only
#   relay hand STATE_DIR ID                  keeps what stdin holds to reach the next node: a line with its host key, then
#                                            the private key
#   relay send STATE_DIR ID BYTES STALL IMAGE HOP [-- WORDS]
#   relay receive STATE_DIR ID BYTES STALL [HOP] [-- WORDS]
#   relay close STATE_DIR ID...              takes away what such copies left; one that goes on is let alone
#
# HOP is USER ADDRESS PORT BIND: the next node, and the own address to reach it from (`-`: any). BYTES is about what will
# pass. What takes nothing for STALL seconds is ended, what waits for others after three times that, and after a minute
# where nobody has come to hand in. WORDS make the stream, or take it in, where it is no image. `send` and `receive` are
# run by job.sh, receivers first, and take everything of theirs away when they end: key, line of authorized_keys, pipes.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
umask 077

say() { echo "sparkops: $*"; }

verb=$1 state=$2
shift 2
relay=$state/relay

. ./own.sh

running() {
    [ -e "$state/jobs/$1/pid" ] || return 1
    flock -n -s 8 8<"$state/jobs/$1/pid"
    [ $? -eq 1 ]
}

# --- who may hand in a copy ---------------------------------------------------------------------------------------

SOON=60
mark=sparkops-copy:
keys=${state%/.local/state/sparkops}/.ssh/authorized_keys

. ./keyline.sh

forget() {
    if grep -qs " $mark$1\$" "$keys"; then key_line "$1" </dev/null; fi
    rm -rf "${relay:?}/$1"
}

left() {
    for id in $(
        [ ! -d "$relay" ] || find "$relay" -mindepth 1 -maxdepth 1 -type d -exec basename {} \;
        sed -n "s/.* $mark//p" "$keys" 2>/dev/null
    ); do
        running "$id" || echo "$id"
    done | sort -u
}

folder() {
    dir=$relay/$1
    mkdir -p "$dir" || exit
    own "${state%/state/*}" "${state%/*}" "$state" "$relay" "$dir"
}

# shellcheck disable=SC2016
receiver='#!/bin/sh
# What the key of one copy may do here: hand in the stream, once.
cd "${0%/*}" || exit
mkdir taken || exit
echo "$$" >handing-in
exec cat >in
'

open() {
    id=$1 from=$2
    folder "$id"
    rm -rf "$dir/taken" "$dir/handing-in"
    [ -p "$dir/in" ] || mkfifo "$dir/in" || exit
    printf %s "$receiver" >"$dir/receive" || exit
    own "$dir/in" "$dir/receive"
    mkdir -p "${keys%/*}" && own "${keys%/*}"
    read -r key
    until=$(date -d '+1 day' +%Y%m%d%H%M 2>/dev/null) || until=''
    options="restrict,command=\"exec sh .local/state/sparkops/relay/$id/receive\",from=\"$from\""
    echo "$options${until:+,expiry-time=\"$until\"} $key $mark$id" | key_line "$id" || {
        echo "cannot write $keys" >&2
        exit 73
    }
}

hand() {
    folder "$1"
    read -r known
    printf '%s\n' "$known" >"$dir/known" && cat >"$dir/key"
}

# --- the stream ---------------------------------------------------------------------------------------------------

to_next() {
    user=$1 address=$2 port=$3 bind=$4
    bind=${bind#-}
    cd "$dir" || exit
    exec ssh -F none -T -i key -p "$port" -l "$user" ${bind:+-b "$bind"} -o BatchMode=yes -o IdentitiesOnly=yes \
        -o StrictHostKeyChecking=yes -o UserKnownHostsFile=known -o GlobalKnownHostsFile=/dev/null \
        -o HostKeyAlias=sparkops-next -o ConnectTimeout=20 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 \
        -o Compression=no -o 'Ciphers=^aes128-gcm@openssh.com' -o ControlPath=none -o LogLevel=ERROR "$address" copy
}

alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null; }

# Bytes that a process has read (rchar) or written (wchar), as the kernel counts them.
count() {
    passed=''
    while read -r name value; do
        [ "$name" != "$2:" ] || passed=$value
    done 2>/dev/null <"${SPARKOPS_ROOT:-}/proc/$1/io"
}

size() {
    if [ "$1" -ge 1000000000 ]; then
        echo "$(($1 / 1000000000)).$(($1 / 100000000 % 10)) GB"
    else
        echo "$(($1 / 1000000)) MB"
    fi
}

tell() {
    spent=$(($(date +%s) - began))
    rate=$((passed / (spent > 0 ? spent : 1)))
    rest=$((bytes > passed && rate > 0 ? (bytes - passed) / rate : 0))
    part=$((passed < bytes ? passed * 100 / bytes : 99))
    echo "progress: $1 $(size "$passed") of $(size "$bytes") ($part %), $(size "$rate")/s, $((rest / 60)):$(printf %02d $((rest % 60))) left"
}

# shellcheck disable=SC2317,SC2329
tidy() {
    end_handing_in
    for child in "$loader" "$feeder" "$next"; do
        ! alive "$child" || kill "$child" 2>/dev/null
    done
    forget "$id"
}

end_handing_in() {
    read -r pid <"$dir/handing-in" && kill "$pid" && sleep 0.2 && kill -9 "$pid"
} 2>/dev/null

arriving() {
    [ -e "$dir/handing-in" ] || return 0
    read -r pid <"$dir/handing-in" || return 0
    alive "$pid"
}

# What our part of the pipe waits for: `in`, `load` or `out`; nothing where the kernel does not tell.
waits_for() {
    what=in
    [ -e "$dir/handing-in" ] || return
    what=''
    read -r number handle _ 2>/dev/null <"/proc/$feeder/syscall" || return
    case $number:$handle in
        running:* | *:) ;;
        *:0x0) what=in ;;
        *:0x1) what=load ;;
        *) what=out ;;
    esac
}

due() {
    waits_for
    [ "$what" = load ] || [ ! -e "$dir/handing-in" ] || [ "$quiet" -ge $((3 * stall)) ]
}

# Nothing moved for too long: 0 when that is not for us to end. Who waits for others has more patience than who hangs.
# Nodes in a row come here in the same second: what one ends sets the others moving again, and is looked for once more.
stalled() {
    due || return 0
    sleep 1
    if moves || ! due; then return 0; fi
    case $what in
        out)
            say "$address takes no more data (no progress for $quiet s)"
            ! alive "$next" || kill "$next"
            quiet=0
            return 0
            ;;
        load) say "${engine:+docker load }takes no more data (no progress for $quiet s)" ;;
        *)
            [ ! -e "$dir/handing-in" ] || ! cut_off || return 1
            [ -e "$dir/handing-in" ] || say "the sending node did not connect within $quiet s"
            for child in "$feeder" "$next"; do ! alive "$child" || kill "$child"; done
            ;;
    esac
    kill -9 "$loader"
    return 1
}

# With its input gone a healthy engine ends at once; one that hangs does not.
cut_off() {
    end_handing_in
    ! alive "$feeder" || kill "$feeder"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        sleep 1
        alive "$loader" || {
            say "no data arrived for $quiet s: the sending node or the link to it is down"
            return
        }
    done
    say "${engine:+docker load }takes no more data (no progress for $quiet s)"
    return 1
}

# A program in Go reads and writes a byte of its own now and then, also when nothing passes.
OWN_BYTES=1000

moves() {
    count "$pid_of" "$key"
    [ -n "$passed" ] && [ $((passed - before)) -ge "$OWN_BYTES" ]
}

# Until the process has ended; 1 when it was ended because nothing moved.
watch() {
    pid_of=$1 key=$2 word=$3 quiet=0 before=0 unanswered=0
    while alive "$pid_of"; do
        sleep 1
        if moves; then
            before=$passed quiet=0
            tell "$word"
            continue
        fi
        quiet=$((quiet + 1))
        if [ "$word" = received ] && ! arriving; then
            [ -z "$engine" ] || [ $((quiet % 5)) -ne 1 ] || echo "progress: all data arrived, docker unpacks it ($quiet s)"
            [ -z "$engine" ] || [ $((quiet % 30)) -ne 29 ] || engine_answers || return 1
        elif [ "$quiet" -lt "$stall" ]; then
            [ "$word" = sent ] || [ -e "$dir/handing-in" ] || [ "$quiet" -lt "$SOON" ] || stalled || return
        elif [ "$word" = sent ]; then
            kill -9 "$pid_of"
            return 1
        elif [ -n "$passed" ] || [ ! -e "$dir/handing-in" ]; then
            stalled || return
        fi
    done
}

engine_answers() {
    if timeout 20 docker version >/dev/null 2>&1; then unanswered=0; else unanswered=$((unanswered + 1)); fi
    [ "$unanswered" -lt 3 ] || {
        say 'Docker does not answer any more'
        kill -9 "$pid_of"
        return 1
    }
}

begin() {
    id=$1 bytes=$2 stall=$3
    dir=$relay/$id loader='' feeder='' next='' engine='' began=$(date +%s)
    [ "$bytes" -gt 0 ] || bytes=1
    trap tidy EXIT
    trap 'exit 143' TERM INT HUP
    cd "$dir" || exit
}

# Until the next node has all of it; the exit code of the way there, told where it is bad.
passed_on() {
    [ -n "$next" ] || return 0
    quiet=0 before=''
    while alive "$next"; do
        sleep 1
        now=''
        read -r _ now 2>/dev/null <"/proc/$feeder/io"
        if [ "$now" = "$before" ]; then quiet=$((quiet + 1)); else quiet=0 before=$now; fi
        [ "$quiet" -le $((3 * stall)) ] || kill "$next" $feeder
        echo 'progress: waiting until the next node has the rest'
    done
    wait "$next"
    code=$?
    [ "$code" -eq 0 ] || say "$1 did not receive all data (exit code $code)"
    return "$code"
}

send() {
    begin "$1" "$2" "$3"
    image=$4 user=$5 address=$6 port=$7 bind=$8
    shift 8
    if [ $# -gt 0 ]; then shift; else set -- docker save "$image"; fi
    mkfifo out || exit
    to_next "$user" "$address" "$port" "$bind" <out &
    next=$!
    "$@" >out </dev/null &
    loader=$!
    watch "$loader" wchar sent || { say "$address takes no more data (no progress for $stall s)" && exit 1; }
    wait "$loader"
    saved=$?
    passed_on "$address" || exit
    exit "$saved"
}

receive() {
    begin "$1" "$2" "$3"
    shift 3
    address=''
    if [ "${1:---}" != -- ]; then
        user=$1 address=$2 port=$3 bind=$4
        shift 4
    fi
    if [ $# -gt 0 ]; then shift; else engine=docker && set -- docker load; fi
    mkfifo out load || exit
    # shellcheck disable=SC2094
    "$@" <load &
    loader=$!
    # The node's own copy goes on when the next one fails, and the other way round.
    if [ -n "$address" ]; then
        to_next "$user" "$address" "$port" "$bind" <out &
        next=$!
        tee -p out >load <in &
    else
        tee -p >load <in &
    fi
    feeder=$!
    echo 'progress: waiting for the first bytes'
    watch "$loader" rchar received
    moved=$?
    wait "$loader"
    loaded=$?
    [ "$loaded" -eq 0 ] || [ "$moved" -ne 0 ] || say "${engine:+docker load }ended with exit code $loaded"
    passed_on "$address" || exit
    exit "$((loaded > moved ? loaded : moved))"
}

case $verb in
    left) left ;;
    open) open "$@" ;;
    hand) hand "$@" ;;
    send) send "$@" ;;
    receive) receive "$@" ;;
    close) for id; do running "$id" || forget "$id"; done ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
