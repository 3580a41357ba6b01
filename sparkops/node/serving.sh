#!/bin/sh
# Does it serve? Asks what a client would ask and reports each answer; the first line is ready |
# wait | never, with a reason.
#
#   serving --api URL --health PATH --model NAME [--kind chat|completion|embedding|score|gateway|page] [--key FILE]
#           [--container NAME] [--restarts N] [--ray N | --ranks N] [--seconds S]
#
# Evidence lines: `health CODE|refused|silent|broken`, `model yes|no`, `answer ok|busy|none`, `ray NODES GPUS` or
# `ranks NUMBERS`. A request that is not answered while the token counters grow is busy, not dead. First line `never` when
# the container ended or was restarted more than N times. `--ray N`: its Ray must show at least N nodes and GPUs; it is asked while
# the request goes on, as both take their time. `--ranks N`: N ranks must be here; an older container does not say which.
# The key is read from FILE and never becomes an argument.
set -u
LC_ALL=C
export LC_ALL

api='' health='' model='' kind=chat key='' container='' restarts=0 ray=0 ranks=0 seconds=10
while [ $# -gt 0 ]; do
    case $1 in
        --api) api=$2 ;;
        --health) health=$2 ;;
        --model) model=$2 ;;
        --kind) kind=$2 ;;
        --key) key=$2 ;;
        --container) container=$2 ;;
        --restarts) restarts=$2 ;;
        --ray) ray=$2 ;;
        --ranks) ranks=$2 ;;
        --seconds) seconds=$2 ;;
        *) echo "wait unknown option $1" && exit 2 ;;
    esac
    shift 2
done

patience=$((seconds < 30 ? seconds : 30)) # at most, for what should come at once
secret=''
if [ -n "$key" ] && [ -r "$key" ]; then read -r secret <"$key"; fi

request() {
    limit=$1
    shift
    printf 'header = "Authorization: Bearer %s"\n' "$secret" | curl -sS --noproxy '*' -m "$limit" -K - "$@" 2>&1
}

counters() {
    request 3 "$api/metrics" |
        awk '/^vllm:(prompt|generation)_tokens_total/ { sum += $NF } END { printf "%.0f\n", sum }'
}

body() {
    case $kind in
        chat) printf '{"model":"%s","messages":[{"role":"user","content":"Say hello."}],"max_tokens":4}' "$model" ;;
        completion) printf '{"model":"%s","prompt":"Hello","max_tokens":4}' "$model" ;;
        embedding) printf '{"model":"%s","input":"hello"}' "$model" ;;
        score) printf '{"model":"%s","text_1":"hello","text_2":"hello"}' "$model" ;;
    esac
}

path() {
    case $kind in
        chat) echo /v1/chat/completions ;;
        completion) echo /v1/completions ;;
        embedding) echo /v1/embeddings ;;
        score) echo /v1/score ;;
    esac
}

counted() {
    case $kind in
        chat | completion) grep -Eq '"completion_tokens": *[1-9]' ;;
        *) grep -Eq '"total_tokens": *[1-9]' ;;
    esac
}

# Ray's own command starts Python and imports Ray: seconds, and more on a busy node.
ray_report() {
    limit=$((patience < 15 ? 15 : patience))
    timeout "$limit" docker exec "$container" timeout "$limit" ray status 2>/dev/null | awk '
        /^(Active|Healthy|Idle):/ { on = 1; told = 1 } /^Pending:/ { on = 0 } on && /^ 1 node_/ { nodes++ }
        $2 == "GPU" { split($1, part, "/"); gpus = part[2] }
        END { if (told) printf "\nray %d %d\n", nodes, gpus }'
}

# The numbers of the ranks that have met; the file is from `ranks.sh`.
ranks_report() {
    # shellcheck disable=SC2016  # the container's own root
    here=$(timeout 5 docker exec "$container" sh -c 'cat "${SPARKOPS_ROOT:-}/run/sparkops/ranks"' 2>/dev/null)
    case $here in '' | *[!0-9\ ]*) ;; *) printf '\nranks %s\n' "$here" ;; esac
}

ended() {
    state=$(docker inspect --format '{{.State.Status}} {{.RestartCount}}' "$container" 2>/dev/null) || return 0
    [ "${state% *}" != running ] || [ "${state#* }" -gt "$restarts" ]
}

lists_model() {
    case $(request 5 "$api/v1/models") in *"\"$model\""*) return 0 ;; esac
    return 1
}

# Who deployed as another user has the key in another home; the container that checks it has it too.
another_key() {
    [ -n "$container" ] && secret=$(
        # shellcheck disable=SC2016  # the container's own root
        timeout 5 docker exec "$container" sh -c 'cat "${SPARKOPS_ROOT:-}/run/sparkops/key"' 2>/dev/null
    )
}

reason=''
blame() { [ -n "$reason" ] || reason=$*; }

# A refused connection is an engine that is not up yet, an unanswered one is an engine that hangs.
status=$(curl -sS --noproxy '*' -m "$patience" -o /dev/null -w '%{http_code}' "$api$health" 2>/dev/null)
case $? in
    0) [ "$status" = 200 ] || blame "the API answers HTTP $status" ;;
    7) status=refused && blame 'the API is not listening (still loading?)' ;;
    28) status=silent && blame 'the API hangs: it accepts connections and does not answer' ;;
    *) status=broken && blame 'the API closed the connection without an answer' ;;
esac

listed=no answered=none before=''
# the endpoint of a fleet and a page have no model of their own to ask for
case $kind in gateway | page) [ -n "$reason" ] || listed=yes answered=ok ;; esac
if [ -z "$reason" ] && [ "$listed" = no ]; then
    lists_model || { another_key && lists_model; } || blame "the API does not list the model $model"
    [ -n "$reason" ] || listed=yes
fi

[ -n "$reason" ] || [ "$answered" = ok ] || before=$(counters)
said=$(
    [ "$ray" -eq 0 ] || ray_report &
    [ "$ranks" -eq 0 ] || ranks_report &
    [ -n "$reason" ] || [ "$answered" = ok ] || body | tr -d '\n' | {
        payload=$(cat)
        request "$seconds" -H 'Content-Type: application/json' -d "$payload" "$api$(path)"
    }
    wait
)
report=$(printf '%s\n' "$said" | sed -n 's/^ray //p')
met=$(printf '%s\n' "$said" | sed -n 's/^ranks //p')
detail=$(printf '%s\n' "$said" | sed '/^ray /d; /^ranks [0-9 ]*$/d')
lacking=''
if [ "$ray" -gt 0 ]; then
    if [ -z "$report" ]; then
        lacking='ray status shows no nodes'
    elif [ "${report% *}" -lt "$ray" ] || [ "${report#* }" -lt "$ray" ]; then
        lacking="Ray shows ${report% *} of $ray nodes and ${report#* } of $ray GPUs"
    fi
fi

if [ "$ranks" -gt 0 ] && [ -n "$met" ]; then
    here=$(printf '%s' "$met" | wc -w)
    [ "$here" -ge "$ranks" ] || lacking="$here of $ranks ranks are here"
fi
# Why nothing listens yet; a Ray that says nothing tells nothing.
if [ "$status" = refused ] && [ -n "$report$met" ] && [ -n "$lacking" ]; then reason=$lacking; fi

if [ -z "$reason" ] && [ "$answered" = none ]; then
    if printf '%s' "$detail" | counted; then
        answered=ok
    elif [ "$(counters)" != "$before" ]; then
        answered=busy
    else
        blame "${lacking:-$health answers, but a test request got no answer}"
    fi
fi
# Ray's own command takes seconds to start; a quick look believes the answer that came back over all ranks.
if [ -z "$report" ] && [ "$answered" = ok ] && [ "$seconds" -lt 20 ]; then lacking=''; fi
[ -z "$lacking" ] || blame "$lacking"

verdict=ready
if [ -n "$reason" ]; then
    verdict="wait $reason"
    [ -z "$container" ] || ! ended || verdict="never ${reason% (still loading?)}, and its container ended"
fi
echo "$verdict"
echo "health $status"
echo "model $listed"
echo "answer $answered"
[ -z "$report" ] || echo "ray $report"
[ -z "$met" ] || echo "ranks $met"
[ "$verdict" = ready ] || echo log # what stands below is no progress: every question changes it
[ "$answered" != none ] || [ -z "$detail" ] || { printf '%s\n' "$detail" | head -c 2000 && echo; }
[ "$verdict" = ready ] || [ -z "$container" ] || docker logs --tail 60 "$container" 2>&1 | tr '\r' '\n' | tail -n 60
