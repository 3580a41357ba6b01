#!/bin/bash
ask() { # where no answer comes the program says it
    [ -z "${SPARKLAB_SUDO-}" ] && [ -n "${SPARKLAB_ANSWERS-}" ] || return
    { exec 3<>"/dev/tcp/${SPARKLAB_ANSWERS%/*}"; } 2>/dev/null || return
    printf '%s\0' "${SPARKLAB_ANSWERS##*/}" "${SPARKLAB_NODE##*/}" $(($# + 1)) NAME "$@" >&3
    while read -r what size 2>/dev/null <&3; do
        case $what in
        all) exec cat <&3 3<&- ;;
        1) told=yes && head -c "$size" <&3 || exit ;;
        2) told=yes && head -c "$size" <&3 >&2 || exit ;;
        end) exit "$size" ;;
        esac
    done
    [ -z "${told-}" ] || exit 1 # half an answer is not said twice
    exec 3>&-
}
ask "$@"
