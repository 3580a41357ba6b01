#!/bin/sh
# Our one entry in the login user's crontab. What else stands there stays as it is, byte for byte.
#
#   schedule set TIMES KEY OP KIB DIR sh -c TEXT cache   TEXT is placed as the script that cron runs; KEY '' means always
#   schedule remove                                      the entry and the script; the log stays
#   schedule log LINES                                   the end of what the runs wrote
#
# The entry is one line, told from all others by its end, and stands first: no variable that a person set further down
# is in force for it, and a last line without its newline is left alone.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

mark='# sparkops: cache schedule'
entry="drop\\.sh.* scheduled.*${mark}[[:cntrl:]]*\$"
ours=$HOME/.local/state/sparkops
script=$ours/cache/drop.sh

fail() {
    echo "$*" >&2
    exit 1
}

. ./record.sh

# The crontab as a file, empty where there is none; whatever else keeps it from being read ends us before a write.
read_table() {
    command -v crontab >/dev/null || fail 'there is no crontab command: install cron on this node'
    folder=$(mktemp -d "${TMPDIR:-/tmp}/sparkops-cron.XXXXXX") || exit
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    if ! said=$(crontab -l 2>&1 >"$folder/old"); then
        case $said in
            *'no crontab for'* | *"can't open"*) : >"$folder/old" ;;
            *) fail "crontab -l: ${said:-it failed and printed nothing}" ;;
        esac
    fi
    sed "/$entry/d" "$folder/old" >"$folder/rest"
}

same() { [ "$(cat "$1" && echo .)" = "$(cat "$2" && echo .)" ]; }

write_table() {
    if [ ! -s "$folder/new" ]; then
        crontab -r 2>"$folder/said" || fail "crontab -r: $(cat "$folder/said")"
        return
    fi
    crontab "$folder/new" 2>"$folder/said" || {
        [ -z "$(tail -c 1 "$folder/old")" ] ||
            fail 'cron rejects this crontab, because its last line has no newline: add one with crontab -e'
        fail "crontab: $(cat "$folder/said")"
    }
    crontab -l >"$folder/now" 2>/dev/null && same "$folder/now" "$folder/new" && return
    [ ! -s "$folder/old" ] || crontab "$folder/old" 2>/dev/null
    fail 'crontab did not save the new entries as sent; the old crontab was restored'
}

# As the shell that cron starts reads it, and with cron's own `%` kept from meaning a newline.
quoted() {
    case $1 in
        *[!A-Za-z0-9_./=:,+@-]* | '') printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf %s "$1" ;;
    esac
}

set_entry() {
    times=$1 text=$8
    read_table
    line="/bin/sh $(quoted "$script") scheduled"
    [ -z "$2" ] || line="$line --when $2 $3 $4"
    [ -z "$5" ] || line="$line --dir $(quoted "$5")"
    line="$times $(printf %s "$line" | sed 's/%/\\%/g') $mark"
    umask 077
    { record "folder $ours/cache" && mkdir -p "$ours/cache"; } || exit
    record 'crontab cache schedule' || exit
    printf %s "$text" >"$folder/text" || exit
    if ! [ -f "$script" ] || ! same "$script" "$folder/text"; then
        { cat "$folder/text" >"$script.new" && mv -f "$script.new" "$script"; } || exit
    fi
    if [ "$(grep -e "$entry" "$folder/old")" = "$line" ]; then
        echo "unchanged: $line"
        return
    fi
    { printf '%s\n' "$line" && cat "$folder/rest"; } >"$folder/new" || exit
    write_table
    touch "$script" # its time tells since when the entry should run
    echo "set: $line"
}

remove_entry() {
    read_table
    if same "$folder/old" "$folder/rest"; then
        echo 'unchanged: the crontab has no sparkops entry'
    else
        mv "$folder/rest" "$folder/new"
        write_table
        echo 'removed'
    fi
    rm -rf "$script" "$ours/cache/lock"
    forget 'crontab cache schedule'
}

forget() {
    [ -f "$ours/manifest" ] || return 0
    grep -vxF -e "$1" "$ours/manifest" >"$ours/manifest.new"
    mv -f "$ours/manifest.new" "$ours/manifest"
}

verb=$1
shift
case $verb in
    set) set_entry "$@" ;;
    remove) remove_entry ;;
    log) [ ! -e "$ours/cache/log" ] || tail -n "$1" "$ours/cache/log" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
