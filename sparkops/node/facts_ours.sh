#!/bin/sh
# Probes of what is ours, and of what we may do.
# shellcheck disable=SC2154  # what facts.sh sets

access() {
    if begin sudo; then
        if [ -n "$escalated" ]; then
            insist sudo -l -U "$person"
            case $body in *'NOPASSWD: ALL'*) text="true 0 $nl$body" ;; *) text="true 1 a password is required$nl$body" ;; esac
            code=127
        else
            insist sudo -n true
            text="true $code $body"
        fi
        if [ "$code" != 0 ] && [ "$code" != 127 ]; then
            insist sudo -n -l
            text=$text$nl$body
        fi
        end 0 "$text"
    fi
    if begin linger; then
        body=no
        [ ! -e "$root/var/lib/systemd/linger/${person:-$(id -un)}" ] || body=yes
        end 0 "$body"
    fi
    if begin logind; then
        body=$(grep -hs '^[[:space:]]*RemoveIPC' "$root/etc/systemd/logind.conf" "$root"/etc/systemd/logind.conf.d/*.conf)
        end 0 "$body"
    fi
    if begin caches; then
        body=$(ask stat -c '%u %g %a %n' "$HOME" "$HOME/.cache" "$HOME"/.cache/* "$cache" "$cache/hub" | grep '^[0-9]')
        end 0 "$body"
    fi
}

# The shared lock keeps a run from beginning between the two, which would look like one that was cut off.
lock() {
    begin lock || return 0
    path=$root/run/lock/sparkops.lock
    text=$(
        held=no owner=''
        if [ -r "$path" ]; then
            exec 9<"$path"
            flock -n -s 9
            [ $? != 1 ] || held=yes
            read -r owner <"$path"
        fi
        printf 'held %s\n%s\n' "$held" "$owner"
        grep -a '"load":' "$HOME/.local/state/sparkops/history" 2>/dev/null | tail -n 20
        grep -a '"started":' "$HOME/.local/state/sparkops/history" 2>/dev/null | tail -n 5
        grep -a '"settled":' "$HOME/.local/state/sparkops/history" 2>/dev/null | tail -n 40
        tail -n "$history" "$HOME/.local/state/sparkops/history" 2>/dev/null
    )
    end 0 "$text"
}

state() {
    begin state || return 0
    ours=$HOME/.local/state/sparkops
    text=$(
        part folder 0 "$ours"
        for path in "$ours"/manifest "$ours"/orphans/*; do
            [ ! -f "$path" ] || { slurp "$path" && part "${path#"$ours"/}" 0 "$(redact "$body")"; }
        done
        for path in "$ours"/key "$ours"/keys/* "$ours"/gateways/*/keys/* "$ours"/pages/*/key; do
            [ ! -f "$path" ] || { slurp "$path" && part "${path#"$ours"/}" 0 "$(printf %s "$body" | sha256sum)"; }
        done
        for path in "$ours"/ondemand/*/; do
            [ ! -f "${path}answer" ] || door "${path%/}"
        done
        for path in "$ours"/gateways/*/routes.json "$ours"/gateways/*/proxy.yml "$ours"/people/*/keys.json \
            "$ours"/gateways/*/ondemand/on-demand.json "$ours"/gateways/*/ondemand/known "$ours"/gateways/*/ondemand/key.pub; do
            [ -f "$path" ] || continue
            if slurp "$path"; then part "${path#"$ours"/}" 0 "$body"; else part "${path#"$ours"/}" 0 'cannot be read'; fi
        done
        for path in "$ours"/images/*.graphs-hung; do
            [ ! -e "$path" ] || part "${path#"$ours"/}" 0 yes
        done
        for path in "$ours"/jobs/*/; do
            [ ! -d "$path" ] || job "${path%/}"
        done
    )
    end 0 "$text"
}

# What a fleet's endpoint may do here: the line with its key, the digest of what that runs, of which containers; and its last acts.
door() {
    slurp "$1/containers" || return
    program=$(cat "$1/answer" "$1/drop" "$1/cache" | sha256sum)
    [ ! -f "$1/acts" ] || body=$body$nl$(tail -n "$history" "$1/acts")
    part "ondemand/${1##*/}" 0 "$(grep -hs " sparkops-ondemand:${1##*/}\$" "$HOME/.ssh/authorized_keys")$nl${program%% *}$nl$body"
}

job() {
    slurp "$1/pid" && pid=$body || pid=''
    alive=no
    [ -z "$pid" ] || [ ! -d "/proc/$pid" ] || flock -n -s "$1/pid" true 2>/dev/null || alive=yes
    slurp "$1/rc" && rc=$body || rc=''
    slurp "$1/cmd" || body=''
    part "jobs/${1##*/}" 0 "pid=$pid${nl}alive=$alive${nl}rc=$rc${nl}cmd=$(redact "$body")"
}

# our own line of the crontab alone: what else stands there is nobody's business
schedule() {
    begin schedule || return 0
    asked crontab -l ${escalated:+-u "$person"}
    [ "$code" != 0 ] || body=$(printf '%s\n' "$body" | grep 'drop\.sh.* scheduled.*# sparkops: cache schedule')
    ours=$HOME/.local/state/sparkops/cache
    text=$(
        part crontab "$code" "$body"
        [ ! -f "$ours/drop.sh" ] || part script 0 "$(sha256sum "$ours/drop.sh") $(stat -c %Y "$ours/drop.sh")"
        [ ! -f "$ours/log" ] || part log 0 "$(tail -n 1 "$ours/log")"
    )
    end 0 "$text"
}
