#!/bin/sh
# `record LINE` says in this node's manifest what was placed here. A script carries it by a line `. ./record.sh`.

# shellcheck disable=SC2154  # ours: the folder of our state, set by who carries this
record() {
    [ -s "$ours/manifest" ] || begin_manifest || return
    grep -qxF -e "$1" "$ours/manifest" || printf '%s\n' "$1" >>"$ours/manifest"
}

# Whole or not at all, and only by one: whoever has the lock notes that while its first step records something, too.
begin_manifest() {
    first='sparkops-manifest 1'
    for up in "${ours%/*/*}" "${ours%/*}"; do
        [ -d "$up" ] || first=$(printf '%s\nmade %s' "$first" "$up")
    done
    { mkdir -p "$ours" && printf '%s\n' "$first" >"$ours/manifest.$$"; } || return
    ln "$ours/manifest.$$" "$ours/manifest" 2>/dev/null || [ -s "$ours/manifest" ] || mv -f "$ours/manifest.$$" "$ours/manifest"
    rm -f "$ours/manifest.$$"
}
