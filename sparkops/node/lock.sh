#!/bin/sh
# Holds this machine's one lock for as long as its client lives.
#
#   lock RUNID QUIET OWNER_JSON [again]
#
# Prints `held` once it has the lock, and keeps it while a `.` arrives on stdin at least every QUIET seconds. A line
# `{...}` on stdin is kept in this user's history, which has at most KEPT lines. When another run has the lock: that
# run's OWNER_JSON on stdout, exit 75. When this same run has it over a connection that is dying: `waiting` first, then
# `held`. With `again`, a lock that another run has had since then is refused, though it is free now. What the file says
# counts only while somebody holds it, so a killed owner leaves nothing to clean up. Any SSH user may take it: the file
# is created open to all and never opened for creation again (fs.protected_regular forbids that in /run/lock).
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

run=$1 quiet=$2 owner=$3 again=${4:-}
ours=$HOME/.local/state/sparkops
kept=1000
file=${SPARKOPS_ROOT:-}/run/lock/sparkops.lock

look() {
    who=''
    for _ in 1 2 3 4 5; do
        read -r who <"$file"
        [ -z "$who" ] || return 0
        sleep 0.1 9<&- # its owner is writing it just now
    done
}

. ./record.sh

# Whole or not at all, and a full disk is no reason to fail. The begin of a run makes the file; its end does not, because
# `cleanup` has removed it by then.
note() {
    case $1 in
        *'"event":"begin"'*) [ -f "$ours/history" ] || record "file $ours/history" || return ;;
        *) [ -f "$ours/history" ] || return ;;
    esac
    new=$ours/history.new
    if (umask 077 && { tail -n "$((kept - 1))" "$ours/history" | grep -a '^{.*}$'; printf '%s\n' "$1"; } >"$new"); then
        mv -f "$new" "$ours/history"
    else
        rm -f "$new"
    fi
}

[ -e "$file" ] || {
    mkdir -p "${file%/*}"
    (umask 0 && set -C && : >"$file") 2>/dev/null
}
exec 9<"$file"
if ! flock -w 3 9; then # one that ended just now is still letting go
    look
    case $who in
        *"\"run\":\"$run\""*) echo waiting ;;
        *)
            printf '%s\n' "${who:-{\}}"
            exit 75
            ;;
    esac
    flock -w "$((quiet + 10))" 9 || exit 75
fi
if [ -n "$again" ]; then
    look
    case $who in
        '' | *"\"run\":\"$run\""*) ;;
        *)
            printf '%s\n' "$who"
            exit 75
            ;;
    esac
fi
printf '%s\n' "$owner" | dd of="$file" conv=nocreat status=none 9<&- || {
    echo "cannot write $file" >&2
    exit 73
}
echo held

while :; do
    case $(exec timeout "$quiet" head -c 1 9<&-) in
        .) ;;
        '{')
            # shellcheck disable=SC2016
            line=$(exec timeout "$quiet" sh -c 'read -r line && printf %s "$line"' 9<&-) && note "{$line" 2>/dev/null 9<&-
            ;;
        *) exit 0 ;;
    esac
done
