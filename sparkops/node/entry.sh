#!/bin/sh
# First process of every container of sparkops: joins or forms the cluster, runs the engine as its child, and stops
# trying when starts keep failing, because blind restart loops leak unified memory until sshd stops answering.
#
#   entry ROLE [--health URL] [--graphs IMAGE] [--fabric IP] [--head IP] [--nodes N] [--ranks IPS] [--port P] [--id ID]
#         [--keys NAMES] [-- WORDS...]
#
#   server | proxy | page run WORDS
#   head | worker         wait until IP is an address of this node, meet the ranks at IPS (with commas, in their order;
#                         rank 0 listens on port P), then run WORDS until a rank is gone (executor mp)
#   ray-head              ... start a Ray head, wait for N nodes in it, then run WORDS with RAY_ADDRESS
#   ray-worker            ... wait for the head with the same ID, then serve its Ray cluster until one of them ends
#
# URL is the health address of the engine that this rank serves or works for: a start after which it came to answer did
# not fail, whatever ends it later, so that a cluster outlives any number of lost links.
#
# NAMES, with commas, are further variables that hold the API key.
#
# IMAGE, an image ID without `sha256:`, is given where CUDA graphs run across nodes. If they hang at the first request, the
# engine starts again without them at once, and so does every later start of this image on this node.
#
# SPARKOPS_BACKOFF: seconds before the second start, doubled for each further one (default 10).
set -u
LC_ALL=C
export LC_ALL

root=${SPARKOPS_ROOT:-}
record=$root/var/lib/sparkops/starts
limit=5

say() { echo "sparkops: $*"; }

role=$1
shift
health='' graphs='' keys='' fabric='' head='' nodes=1 ranks='' port=6379 id='' mark=sparkops-id-
while [ $# -gt 0 ]; do
    case $1 in
        --health) health=$2 ;;
        --graphs) graphs=$2 ;;
        --fabric) fabric=$2 ;;
        --head) head=$2 ;;
        --nodes) nodes=$2 ;;
        --ranks) ranks=$2 ;;
        --port) port=$2 ;;
        --id) id=$2 ;;
        --keys) keys=$2 ;;
        --) shift && break ;;
        *) say "unknown option $1" && exit 2 ;;
    esac
    shift 2
done

child='' stopping=''
trap 'stopping=yes; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT

# A stop that came just before the child was known is passed on here.
adopt() {
    child=$1
    [ -z "$stopping" ] || kill -TERM "$child" 2>/dev/null
}

pause() {
    sleep "$1" &
    adopt $!
    wait "$child" 2>/dev/null # dash would print how a signal ended it
    child=''
    [ -z "$stopping" ] || exit 0
}

# Waits for the child's own end, whatever interrupts the wait.
await_child() {
    while :; do
        wait "$child" 2>/dev/null
        code=$?
        kill -0 "$child" 2>/dev/null || break
    done
    child=''
}

# Runs the words as a child, so that a stop reaches them and their end is counted here.
supervise() {
    if [ "$role" = server ]; then turn take; else turn try; fi
    [ -z "$stopping" ] || exit 0
    "$@" &
    adopt $!
    [ -z "$lost" ] || end_engine
    watch_graphs
    await_child
    [ -z "$stopping" ] || exit 0
    return "$code"
}

. ./graphs.sh
. ./ranks.sh
. ./turns.sh

boot=unknown
[ ! -r "$root/proc/sys/kernel/random/boot_id" ] || read -r boot <"$root/proc/sys/kernel/random/boot_id"

# Failed starts in a row since the boot; 'served' stands there while the running one has answered.
recorded() {
    last_boot='' last=0
    [ ! -r "$record" ] || read -r last_boot last <"$record"
    if [ "$last_boot" = "$boot" ]; then echo "$last"; else echo 0; fi
}

record_starts() {
    mkdir -p "${record%/*}" && echo "$boot $1" >"$record"
}

# Notes that the health address came to answer. One that answers from the beginning belongs to somebody else, or to a
# head that lost its peers and does not know it, and proves nothing. It ends when we are gone, and is not ended from here:
# an engine that served long outlives it, and its number may be another process's by then.
watch_health() {
    [ -n "$health" ] || return 0
    python3 -IS -c '
import os, socket, sys, time
url, record, text, parent = sys.argv[1:]
where, path = url.split("/", 3)[2:]
host, port = where.rsplit(":", 1)
silent = False
while os.getppid() == int(parent):
    try:
        with socket.create_connection((host, int(port)), 5) as server:
            server.sendall(f"GET /{path} HTTP/1.0\r\nHost: {where}\r\n\r\n".encode())
            answers = server.recv(64).split()[1] == b"200"
    except (OSError, IndexError):
        answers = False
    silent = silent or not answers
    if answers and silent:
        os.makedirs(os.path.dirname(record), exist_ok=True)
        with open(record, "w") as file:
            file.write(text)
        break
    time.sleep(2)' "$health" "$record" "$boot served
" "$$" 2>/dev/null &
}

is_local() {
    python3 -IS -c 'import socket, sys; socket.socket().bind((sys.argv[1], 0))' "$1" 2>/dev/null
}

listens() {
    python3 -IS -c 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)' "$1" "$2" 2>/dev/null
}

wait_for_fabric() {
    [ -n "$fabric" ] || return 0
    is_local "$fabric" && return 0
    say "waiting for the fabric address $fabric to appear"
    until is_local "$fabric"; do pause 2; done
    say "the fabric address $fabric is there"
}

ray_nodes() {
    timeout 20 ray status --address "$fabric:$port" 2>/dev/null |
        awk '/^(Active|Healthy|Idle):/ { on = 1 } /^Pending:/ { on = 0 } on && /^ 1 node_/ { n++ } END { print n + 0 }'
}

# vLLM gives the head's variables to the data parallel ranks on other nodes, also those that name interfaces of a node,
# and Ray writes what it is given into its log.
keep_own_interfaces() {
    config=$root${VLLM_CONFIG_ROOT:-${XDG_CONFIG_HOME:-${HOME:-/root}/.config}/vllm}
    own='"VLLM_HOST_IP", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "VLLM_API_KEY"'
    mkdir -p "$config" && echo "[$own]" >"$config/ray_non_carry_over_env_vars.json"
}

ray_head() {
    case " $* " in *' --data-parallel-backend '*) keep_own_interfaces ;; esac
    ray start --head --node-ip-address="$fabric" --port="$port" --num-gpus=1 --num-cpus=2 \
        --resources="{\"$mark$id\": 1}" --object-store-memory=1000000000 --include-dashboard=false --disable-usage-stats || return
    seen=''
    while :; do
        there=$(ray_nodes)
        [ "$there" -lt "$nodes" ] || break
        # a head that does not count itself yet has not started to count
        [ "$there" = "$seen" ] || [ "$there" = 0 ] || say "Ray has $there of $nodes nodes; waiting for the others"
        seen=$there
        pause 2
    done
    say "Ray has all $nodes nodes"
    RAY_ADDRESS=$fabric:$port
    export RAY_ADDRESS
    supervise "$@"
}

# A raylet notices a dead head only after a minute or more, so the head's port is watched and the end hurried.
watch_head() {
    exec python3 -IS -c '
import os, signal, socket, sys, time
host, port, worker = sys.argv[1:]
missed = 0
while missed < 3:
    time.sleep(3)
    try:
        socket.create_connection((host, int(port)), 3).close()
        missed = 0
    except OSError:
        missed += 1
print(f"sparkops: the Ray head at {host}:{port} is gone", flush=True)
os.kill(int(worker), signal.SIGTERM)' "$head" "$port" "$1" 2>/dev/null
}

# A worker that was out of reach when its deployment ended would join the next Ray head at this address, and vLLM could
# take its GPU. So each head has a resource with its ID. One that an older sparkops started has none.
whose_head() {
    case $(timeout 20 ray status --address "$head:$port" 2>/dev/null) in
        *" $mark$id"*) echo ours ;;
        *" $mark"*) echo another ;;
        *' 1 node_'*) echo ours ;;
    esac
}

ray_worker() {
    listens "$head" "$port" || say "waiting for the Ray head at $head:$port"
    rounds=0 shown=''
    while :; do
        whose='' nap=2 told=''
        if listens "$head" "$port" && whose=$(whose_head) && [ -z "$whose" ]; then
            rounds=$((rounds + 1))
        else
            rounds=0
        fi
        [ "$whose" != ours ] || break
        [ "$whose" != another ] || nap=20 told='is of another deployment; waiting for our own'
        [ -n "$told" ] || [ "$rounds" -lt 30 ] || told='does not say whose it is; waiting for that'
        [ -z "$told" ] || [ "$told" = "$shown" ] || say "the Ray head at $head:$port $told"
        shown=$told
        pause "$nap"
    done
    turn try
    say "joining the Ray head at $head:$port"
    ray start --address="$head:$port" --node-ip-address="$fabric" --num-gpus=1 --num-cpus=2 \
        --object-store-memory=1000000000 --disable-usage-stats --block &
    adopt $!
    watch_head "$child" &
    watcher=$!
    await_child
    kill "$watcher" 2>/dev/null
    [ -z "$stopping" ] || exit 0
    listens "$head" "$port" || exit 1 # the head went away: no failed start of ours
    return "$code"
}

if [ -r "$root/run/sparkops/key" ]; then
    read -r VLLM_API_KEY <"$root/run/sparkops/key"
    LITELLM_MASTER_KEY=$VLLM_API_KEY
    export VLLM_API_KEY LITELLM_MASTER_KEY
    for name in $(echo "$keys" | tr , ' '); do export "$name=$VLLM_API_KEY"; done
fi

failed=$(recorded)
if [ "$failed" = served ]; then
    failed=0
    record_starts 0
fi
if [ "$failed" -ge "$limit" ]; then
    say "gave up after $limit failed starts; 'docker restart' or a new deploy tries again"
    record_starts 0
    while :; do pause 5; done
fi
if [ "$failed" -gt 0 ]; then
    delay=$((${SPARKOPS_BACKOFF:-10} << (failed - 1)))
    say "start $((failed + 1)) of $limit in $delay seconds"
    pause "$delay"
fi

wait_for_fabric
[ "$role" = server ] || turn wait
meet
hung=$root/run/sparkops/images/$graphs.graphs-hung
if [ -n "$graphs" ] && [ -e "$hung" ]; then
    say "CUDA graphs hung with this image before: the engine starts without them (--enforce-eager)"
    graphs=''
    set -- "$@" --enforce-eager
fi
watch_health
case $role in
    ray-head) ray_head "$@" ;;
    ray-worker) ray_worker ;;
    *) supervise "$@" ;;
esac
code=$?
# An engine also ends because its peers were stopped first; then the stop that is meant for us is on its way.
pause 3
if [ -z "$lost" ] && [ -n "$graphs" ] && [ -e "$hung" ]; then
    wait "$watching"
    say "CUDA graphs are switched off: the engine starts again without them (--enforce-eager)"
    graphs=''
    record_starts "$failed"
    watch_health
    supervise "$@" --enforce-eager
    code=$?
    pause 3
fi
if [ "$(recorded)" = served ]; then
    say "the engine ended with exit code $code after it had served; it starts again"
else
    record_starts $((failed + 1))
    say "the engine ended with exit code $code (failed start $((failed + 1)) of $limit)"
fi
[ "$code" -ne 0 ] || code=1
exit "$code"
