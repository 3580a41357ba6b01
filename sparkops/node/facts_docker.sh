#!/bin/sh
# Probes of Docker and of the disk below it.
# shellcheck disable=SC2154  # what facts.sh sets

# one Docker probe; after the engine failed to answer, all others tell the same without asking again
docked() {
    begin "$1" || return 0
    shift
    if [ "$refused" = 0 ]; then
        privileged docker "$@"
        body=$(redact "$body")
    else
        code=$refused body=$refusal
    fi
    end "$code" "$body"
}

docker_probes() {
    refused=0
    if begin docker-version; then
        privileged docker version --format '{{json .}}'
        end "$code" "$body"
        refused=$code refusal=$body
    fi
    docked docker-info info --format '{{json .}}'
    info=$body
    docked docker-ps ps -a --no-trunc --format '{{json .}}'
    listed=''
    [ "$refused" != 0 ] || listed=$(without_commands "$body")
    ours='' strangers='' names=''
    while IFS= read -r line; do
        case $line in '{'*'"ID":"'*) ;; *) continue ;; esac
        id=${line#*'"ID":"'} name=${line#*'"Names":"'}
        id=${id%%'"'*} name=${name%%'"'*}
        case $line in
        *sparkops.schema=*)
            ours="$ours $id"
            case $line in *"sparkops.deployment=$deployment"*) names="$names $name" ;; esac
            ;;
        *'"State":"running"'*) strangers="$strangers $id" ;;
        esac
    done <<LISTED
$listed
LISTED
    # shellcheck disable=SC2086
    [ -z "$ours" ] || docked docker-ours inspect $ours
    # shellcheck disable=SC2086
    [ -z "$strangers" ] || docked docker-strangers inspect \
        --format '{{.Id}} {{json .HostConfig.DeviceRequests}} {{.HostConfig.Runtime}}' $strangers
    if [ -n "$names" ] && begin docker-logs; then
        text=''
        for name in $names; do
            privileged docker logs --tail 5 "$name"
            text=$text$(part "$name" "$code" "$(redact "$body" | cut -c1-2000)")$nl
        done
        end 0 "${text%"$nl"}"
    fi
    if [ -n "$images" ] && begin images; then
        text=''
        while IFS= read -r ref; do
            [ -n "$ref" ] || continue
            code=$refused body=${refusal-}
            [ "$refused" != 0 ] || privileged docker image inspect "$ref"
            text=$text$(part "$ref" "$code" "$(redact "$body")")$nl
            [ "$code" != 0 ] || about_image "$ref"
        done <<IMAGES
$images
IMAGES
        end 0 "${text%"$nl"}"
    fi
    disk
}

# the lines of `docker ps` without what the containers run: `#*` looks once at the whole for each byte that it passes, and
# a container of sparkops runs 8 KB of script
without_commands() {
    printf '%s\n' "$1" | sed -E 's/^\{"Command":"([^"\\]|\\.)*",/{/'
}

# free space where it will be needed: each path, or the nearest parent that exists
disk() {
    begin disk || return 0
    answers "$cache" || {
        end 124 "$cache"
        return
    }
    folder=$(printf '%s\n' "$info" | sed -n 's/.*"DockerRootDir":"\([^"]*\)".*/\1/p')
    folder=$root${folder:-/var/lib/docker}
    set -- "$HOME" "$cache" "$folder"
    text="home $HOME${nl}cache $cache${nl}docker $folder$nl"
    nearest "$1" && first=$near
    nearest "$2" && second=$near
    nearest "$3" && insist df -P -k "$first" "$second" "$near"
    end "$code" "$text$body"
}

nearest() {
    near=$1
    until [ -e "$near" ] || [ -z "$near" ]; do near=${near%/*}; done
    near=${near:-/}
}
