#!/bin/sh
# How a probe is asked and framed; `facts.sh` carries this and the other `facts_*.sh`.
# shellcheck disable=SC2154  # what facts.sh sets

hold='' reader=''
if command -v timeout >/dev/null 2>&1; then
    hold="timeout -k 1 $limit" reader="timeout -k 1 $((limit + 2))"
fi

# run through sudo: tells of the person behind sudo, not of root
behind_sudo() {
    [ "${SUDO_USER:-root}" != root ] && [ "$(id -u)" = 0 ] || return 0
    # shellcheck disable=SC2034  # for the probes, and whoever carries this
    person=$SUDO_USER escalated=yes
    while IFS=: read -r name _ _ _ _ home _; do
        [ "$name" != "$person" ] || HOME=$home
    done 2>/dev/null <"$root/etc/passwd"
    unset HF_HOME
}

now() {
    read -r t _ 2>/dev/null </proc/uptime || t=0.0
    t=${t%.*}${t#*.}
}
now
began=$t
late='not asked: the probes before it took too long'

begin() {
    case ",$only," in ,, | *",$1,"*) ;; *) return 1 ;; esac
    probe=$1
    now
    start=$t
    [ $(((t - began) / 100)) -lt "$budget" ] || {
        printf '== %s 124 0 %s\n%s\n' "$probe" ${#late} "$late"
        return 1
    }
}

end() {
    now
    printf '== %s %s %s %s\n%s\n' "$probe" "$1" "$(((t - start) * 10))" "${#2}" "$2"
}

# inside a probe that has several parts: `-- EXIT BYTES NAME`
part() {
    printf -- '-- %s %s %s\n%s\n' "$2" "${#3}" "$1" "$3"
}

has() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "$1: not found"
        return 127
    }
}

# replaces the shell that calls it: only as the last thing inside $(...)
ask() {
    has "$1" || exit 127
    # shellcheck disable=SC2086
    exec $hold "$@" 2>&1
}

asked() {
    body=$(ask "$@")
    code=$?
}

# also comes back when the command cannot be killed: stuck inside the driver, or running as root; at twice the processes
insist() {
    # shellcheck disable=SC2086
    body=$(
        has "$1" || {
            printf '\nexit 127'
            exit
        }
        { { $hold "$@" 2>&1; printf '\nexit %s' $?; } & } | $reader cat
    )
    case ${body##*"$nl"} in
    'exit '*) code=${body##*"$nl"exit } body=${body%"$nl"exit *} ;;
    *) code=124 ;;
    esac
    body=${body%"$nl"}
}

# through sudo where that is wanted; what runs as root is not ours to kill
privileged() {
    if [ -n "$sudo" ]; then insist sudo -n "$@"; else asked "$@"; fi
}

# a folder of a file server that is gone holds whoever looks, the shell too
answers() {
    $hold ls "$1/." >/dev/null 2>&1
    case $? in 124 | 137 | 143) return 1 ;; esac
}

slurp() {
    body=''
    [ -e "$1" ] || { body="${1#"$root"}: not found" && return 1; }
    [ -r "$1" ] || { body="${1#"$root"}: permission denied" && return 1; }
    while IFS= read -r line || [ -n "$line" ]; do
        body=$body$line$nl
    done 2>/dev/null <"$1"
    body=${body%"$nl"}
}

run() {
    begin "$1" || return 0
    shift
    asked "$@"
    end "$code" "$body"
}

# the same without a limit, and so at half the processes, for what only asks the kernel
tell() {
    begin "$1" || return 0
    shift
    body=$(has "$1" && exec "$@" 2>&1)
    end $? "$body"
}

file() {
    begin "$1" || return 0
    slurp "$root$2"
    end $? "$body"
}

# many small files at the cost of one process: lines `PATH:CONTENT` below a folder; unreadable ones are left out
tree() {
    begin "$1" || return 0
    base=$root$2
    shift 2
    if cd "$base" 2>/dev/null; then
        # shellcheck disable=SC2068
        body=$(ask grep -Hs '' $@)
        code=$?
        [ $code -gt 2 ] || code=0
    else
        body="${base#"$root"}: not found" code=1
    fi
    cd / || exit
    end $code "$body"
}

redact() {
    [ -n "$1" ] || return 0
    printf '%s\n' "$1" | sed -E \
        -e 's/("[A-Za-z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)=)([^"\\]|\\.)*"/\1***"/g' \
        -e 's/(--([a-z-]+-)?(key|token|password|secret)[= ])[^ "\\]+/\1***/g' \
        -e "s/('api_key': )(\\[[^]]*\\]|'[^']*')/\\1'***'/g" \
        -e 's/(^|[^A-Za-z])(hf_[A-Za-z0-9]|sk-[A-Za-z0-9_-])[A-Za-z0-9_-]{23,}/\1***/g' \
        -e 's,(://[^/:@ "]+:)[^]@/ "\\,}]+@,\1***@,g'
}
