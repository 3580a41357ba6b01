#!/bin/sh
# Ask a fleet's endpoint to start or to stop a deployment on demand. Asked again while that goes on, it says how far it is.
#
#   ondemand activate|sleep --url URL [--key FILE]
#
# URL is that of the model at the endpoint: http://HOST:PORT/v1/models/NAME?deployment=NAME. The first line is ready | wait | never,
# with a reason. The key is read from FILE and never becomes an argument.
set -u
LC_ALL=C
export LC_ALL

verb=$1 url='' key=''
shift
while [ $# -gt 0 ]; do
    case $1 in
        --url) url=$2 ;;
        --key) key=$2 ;;
        *) echo "never unknown option $1" && exit 2 ;;
    esac
    shift 2
done

secret=''
if [ -n "$key" ]; then
    [ -r "$key" ] || { echo "never $key cannot be read" && exit 0; }
    read -r secret <"$key" # it does not end with a line break
fi

query=''
case $url in *\?*) query="?${url##*\?}" ;; esac
said=$(
    printf 'header = "Authorization: Bearer %s"\n' "$secret" |
        curl -sS --noproxy '*' -m 15 -K - -X POST -w '\n%{http_code}' "${url%%\?*}/$verb$query" 2>&1
) || { echo "wait the endpoint does not answer: $(printf '%s\n' "$said" | head -n 1)" && exit 0; }

of() { printf '%s\n' "$said" | sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

state=$(of state)
case $verb:${said##*
}:$state in
    activate:200:loaded | sleep:200:asleep) echo ready ;;
    activate:200:*) echo "wait it is $state; ready in about $(of wake_seconds) s" ;;
    *:200:*) echo "wait it is $state" ;;
    *:405:*) echo "never the endpoint is of an earlier release: sparkops apply" ;;
    *:429:*) echo "wait $(of message)" ;;
    *) echo "never $(of message)" ;;
esac
