#!/bin/sh
# `record LINE` says in this node's manifest what was placed here. A script carries it by a line `. ./record.sh`.

# shellcheck disable=SC2154  # ours: the folder of our state, set by who carries this
record() {
    if [ ! -s "$ours/manifest" ]; then
        first='sparkops-manifest 1'
        for up in "${ours%/*/*}" "${ours%/*}"; do
            [ -d "$up" ] || first=$(printf '%s\nmade %s' "$first" "$up")
        done
        { mkdir -p "$ours" && printf '%s\n' "$first" >"$ours/manifest"; } || return
    fi
    grep -qxF -e "$1" "$ours/manifest" || printf '%s\n' "$1" >>"$ours/manifest"
}
