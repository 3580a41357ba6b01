#!/bin/sh
# Is this node's part of a deployment up? First line: ready | wait | never, with a reason; then the evidence: the last
# lines of the log and, while it waits, what shows that the engine compiles.
#
#   probe NAME --api URL [--restarts N] [--lines K] [--says TEXT]
#
# URL is the health address of the engine that this container serves or works for. A container that ended, or was
# restarted more than N times, will never be ready: waiting on is of no use. One that must say TEXT is ready only when
# its log has that too.
set -u
LC_ALL=C
export LC_ALL

name=$1
shift
api='' restarts=0 lines=15 says=''
while [ $# -gt 0 ]; do
    case $1 in
        --api) api=$2 ;;
        --restarts) restarts=$2 ;;
        --lines) lines=$2 ;;
        --says) says=$2 ;;
        *) echo "never unknown option $1" && exit 2 ;;
    esac
    shift 2
done

# What a container logged before its last start is no progress of this one, but may tell why the start before failed.
evidence() {
    rebooted
    docker logs ${since:+--since "$since"} --tail "$lines" "$name" 2>&1 | tr '\r' '\n' | tail -n "$lines"
}

# Whether a boot of this node ended the container, and Docker started it again.
rebooted() {
    read -r up _ 2>/dev/null <"${SPARKOPS_ROOT:-}/proc/uptime" || return 0
    made=$(date -d "$created" +%s 2>/dev/null) && start=$(date -d "$since" +%s 2>/dev/null) || return 0
    booted=$(($(date +%s) - ${up%.*}))
    if [ "$made" -lt "$booted" ] && [ "$start" -ge $((booted - 1)) ] && [ "$start" -lt $((booted + 600)) ]; then
        echo 'sparkops: this node rebooted, and Docker started the container again'
    fi
}

# A compile may log nothing for half an hour, but it uses the CPU and fills the caches. Only the CPU time of compilers
# counts: a rank that waits for a lost peer also keeps a CPU busy. The entry script and its watchers, whose text names
# compilers too, are words after `-c`.
compiling() {
    docker top "$name" -eo pid,times,args 2>/dev/null | awk '
        $4 == "-c" || $5 == "-c" { next }
        /compile_worker|ninja|nvcc|cicc|ptxas|cc1plus/ { running++; seconds += $2 }
        END { if (running) printf "compilers: %d, %d s of CPU time\n", running, seconds }'
    docker inspect --format '{{json .HostConfig.Binds}}' "$name" 2>/dev/null | tr -d '[]"' | tr ',' '\n' |
        while IFS=: read -r outside inside _; do
            case $inside in
                */huggingface*) ;;
                /root/.*) du -sk -- "$outside" 2>/dev/null ;;
            esac
        done | awk '{ size += $1 } END { if (NR) printf "compile caches: %d KiB\n", size }'
}

# A cause may stand far above the last lines, so what will never be ready shows more of them.
verdict() {
    echo "$*"
    case $1 in never*) lines=$((lines * 20)) since='' ;; esac
    evidence
    exit 0
}

form='{{.State.Status}} {{.RestartCount}} {{.State.ExitCode}} {{.Created}} {{.State.StartedAt}}'
state=$(docker inspect --format "$form" "$name" 2>&1) || {
    echo "never no container $name: $state"
    exit 0
}
read -r status count code created since <<STATE
$state
STATE

case $status in
    exited | dead) verdict "never the container ended with exit code $code" ;;
    paused) verdict "never the container is paused" ;;
esac
answer=$(curl -sS --noproxy '*' -m 5 -o /dev/null -w '%{http_code}' "$api" 2>/dev/null)
told() { [ -z "$says" ] || docker logs "$name" 2>&1 | grep -qF -e "$says"; }
if [ "$answer" = 200 ] && told; then verdict ready; fi
if [ "$count" -gt "$restarts" ]; then
    said=$(docker logs --tail 300 "$name" 2>&1 |
        sed -n 's/^sparkops: the engine ended with exit code \([0-9]*\).*/\1/p' | tail -n 1)
    # without a word of its own it ended with its peers, and Docker's code is 0 as soon as it runs again
    [ -n "$said" ] || [ "$code" != 0 ] || verdict 'never the container ended; Docker is restarting it'
    verdict "never the engine crashed (exit code ${said:-$code}); Docker is restarting it"
fi
seen=$(evidence)
case $(printf '%s\n' "$seen" | tail -n 3) in
    *'sparkops: gave up'*) verdict "never the container gave up after repeated failed starts" ;;
esac
case $answer in 000) health='does not answer yet' ;; *) health="answers HTTP $answer" ;; esac
echo "wait the container is $status, its API $health"
compiling
printf '%s\n' "$seen"
