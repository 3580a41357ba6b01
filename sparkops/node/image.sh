#!/bin/sh
# Images on this node: what is there, what makes one, what goes.
#
#   image list                                `used ID` of each container's image, then `docker image inspect` of all
#   image context STATE_DIR ID                the build context of ID: a gzipped tar, in base64, on stdin
#   image build STATE_DIR ID TAG LABEL URL COMMIT WORDS...
#                                             runs WORDS in that context, or in COMMIT of the repository URL, and puts
#                                             LABEL on the image TAG where WORDS did not; what it needed is removed
#   image login STATE_DIR ID REGISTRY USER    keeps a password (stdin) for the pull ID, readable by its owner alone
#   image pull STATE_DIR ID REFERENCE TAG [USER]
#                                             TAG is what the image is called besides; the password is removed
#   image save REFERENCE                      to stdout; `progress: BYTES` on stderr, here and in `load`
#   image load                                from stdin
#   image remove REFERENCE...                 never one that a container uses
set -u
LC_ALL=C
BUILDKIT_PROGRESS=plain BUILDX_NO_DEFAULT_ATTESTATIONS=1
export LC_ALL BUILDKIT_PROGRESS BUILDX_NO_DEFAULT_ATTESTATIONS

. ./own.sh

folder() {
    dir=$1/work/$2
    mkdir -p "$dir" && chmod 700 "$dir" || exit
    own "${1%/state/*}" "${1%/*}" "$1" "$1/work" "$dir"
}

# Runs the words with their output through the filter; their exit code.
through() {
    filter=$1
    shift
    {
        code=$({ { "$@" </dev/null 2>&1 3>&- 4>&-; echo $? >&3; } | "$filter" >&4 3>&-; } 3>&1)
    } 4>&1
    return "$code"
}

# Docker's steps, as the old builder and BuildKit print them, and ninja's inside one.
steps() {
    sed -u -E \
        -e 's/^Step ([0-9]+)\/([0-9]+) : (.*)$/progress: step \1 of \2: \3\n&/' \
        -e 's/^#[0-9]+ \[([^]]* )?([0-9]+)\/([0-9]+)\] (.*)$/progress: step \2 of \3: \4\n&/' \
        -e 's/^#[0-9]+ [0-9.]+ \[([0-9]+)\/([0-9]+)\] .*$/progress: compiling \1 of \2\n&/'
}

layers() {
    all=0 here=0
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in
            *': Pulling fs layer') all=$((all + 1)) ;;
            *': Already exists') all=$((all + 1)) here=$((here + 1)) ;;
            *': Pull complete') here=$((here + 1)) ;;
            *) continue ;;
        esac
        echo "progress: $here of $all layers"
    done
}

list() {
    # shellcheck disable=SC2046
    set -- $(docker ps -aq --no-trunc)
    [ $# -eq 0 ] || docker inspect --format '{{.Image}}' "$@" | sed 's/^/used /'
    # shellcheck disable=SC2046
    set -- $(docker image ls -q --no-trunc | sort -u)
    if [ $# -eq 0 ]; then echo '[]'; else docker image inspect "$@"; fi
}

checkout() {
    command -v git >/dev/null || { echo 'sparkops: git is not installed on this node' && return 1; }
    echo "progress: fetching $1 at $2"
    git init -q . && git fetch -q --depth 1 "$1" "$2" && git checkout -q FETCH_HEAD
}

labelled() {
    docker image inspect --format '{{json .Config.Labels}}' "$1" | grep -qF "\"${2%%=*}\":\"${2#*=}\""
}

build() {
    folder "$1" "$2"
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 143' TERM INT HUP
    tag=$3 label=$4 url=$5 commit=$6
    shift 6
    cd "$dir" || exit
    if [ -n "$url" ]; then
        { mkdir source && cd source && checkout "$url" "$commit"; } || exit
    else
        cd source || { echo "the build context is missing: run the command again to send it" && exit 1; }
    fi
    through steps "$@" || exit
    labelled "$tag" "$label" && exit
    mkdir "$dir/empty" && echo "FROM $tag" >"$dir/empty/Dockerfile" || exit
    docker build -q -t "$tag" --label "$label" "$dir/empty" || exit
    labelled "$tag" "$label" || { echo "the build ended, but there is no image $tag" && exit 1; }
}

pull() {
    folder "$1" "$2"
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 143' TERM INT HUP
    [ -n "${5:-}" ] || rm -f "$dir/config.json" # of a login whose pull never began
    if [ -e "$dir/config.json" ]; then
        DOCKER_CONFIG=$dir
        export DOCKER_CONFIG
    fi
    through layers docker pull "$3" || exit
    [ -z "$4" ] || docker tag "$3" "$4"
}

# Says on stderr how many bytes the process has read (rchar) or written (wchar), each second until it ends.
counted() {
    while kill -0 "$1" 2>/dev/null; do
        sed -n "s/^$3: /progress: /p" "$2/$1/io" >&2 2>/dev/null
        sleep 1
    done
    wait "$1"
}

save() {
    docker save "$1" &
    counted "$!" "${SPARKOPS_ROOT:-}/proc" wchar
}

load() {
    exec 3<&0
    { cat <&3 3<&- & counted "$!" /proc rchar; } | docker load 3<&-
}

verb=$1
shift
case $verb in
    list) list ;;
    context)
        folder "$1" "$2"
        rm -rf "$dir/source" "$dir/new"
        { mkdir "$dir/new" && base64 -d | tar -xzf - -C "$dir/new" --no-same-owner && mv "$dir/new" "$dir/source"; } || exit
        own -R "$dir"
        ;;
    build) build "$@" ;;
    login)
        folder "$1" "$2"
        docker --config "$dir" login --username "$4" --password-stdin "$3" 2>&1
        ;;
    pull) pull "$@" ;;
    save) save "$1" ;;
    load) load ;;
    remove) docker image rm "$@" ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
