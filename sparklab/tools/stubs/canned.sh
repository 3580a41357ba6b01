#!/bin/sh
[ -z "${SPARKLAB_SUDO-}" ] && [ -d "$SPARKLAB_NODE/answers" ] && {
    words="NAME${*:+ $*}"
    [ ${#words} -le 250 ] || words=$(printf %.250s "$words")
    while :; do
        case $words in
        */*) words=${words%%/*}%${words#*/} ;;
        *) break ;;
        esac
    done
    said=$SPARKLAB_NODE/answers/$words
    if [ -f "$said.code" ] && { read -r code <"$said.code"; } 2>/dev/null; then
        [ ! -f "$said.err" ] || cat "$said.err" >&2
        cat "$said"
        exit "$code"
    elif [ -f "$said" ] && { command exec 4<"$said"; } 2>/dev/null; then # else it was forgotten just now
        exec cat <&4 4<&-
    fi
}
exec PROGRAM "$@"
