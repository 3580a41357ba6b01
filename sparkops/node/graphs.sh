#!/bin/sh
# Notices that an engine hangs in its first replay of CUDA graphs, which some images do across nodes, and ends it.
#
# The head sends the first request itself, because vLLM counts nothing before its first step is complete. If no answer
# comes and no counter moves for SPARKOPS_GRAPHS_SECONDS (default 180; vLLM itself gives up a step after 300), while
# nothing compiles, that is remembered in the file `hung` and the engine is killed. On the engine's port the head then
# tells the other ranks of executor mp, which do the same: all ranks must run with graphs, or all without.
# shellcheck disable=SC2034,SC2154  # what entry.sh sets and waits for

watch_graphs() {
    [ -n "$graphs" ] && [ "$role" != ray-worker ] || return 0
    python3 -IS -c '
import http.client, json, os, re, signal, socket, sys, threading, time
role, url, hung, engine, parent, limit, proc = sys.argv[1:]
where = url.split("/", 3)[2]
host, port = where.rsplit(":", 1)
COUNTERS = r"^vllm:(?:(?:prompt|generation)_tokens_total|kv_cache_usage_perc)\S* (\S+)$"
COMPILERS = {"ninja", "nvcc", "cicc", "ptxas", "cudafe++", "cc1plus"}
NOTE = "sparkops_graphs_hung 1\n"
key = os.environ.get("VLLM_API_KEY")
outcome = []

def say(text):
    print("sparkops: CUDA graphs " + text, flush=True)

def ask(path, body=None, seconds=5):
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + key} if key else {})}
    link = http.client.HTTPConnection(host, int(port), timeout=seconds)
    try:
        link.request("POST" if body else "GET", path, body, headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        link.close()

def first_request():
    try:
        model = json.loads(ask("/v1/models")[1])["data"][0]["id"]
    except (ValueError, LookupError, TypeError):
        model = None
    body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 8, "ignore_eos": True})
    outcome.append(ask("/v1/completions", body, 86400)[0])

def processes():
    found = {}
    for pid in filter(str.isdigit, os.listdir(proc)):
        try:
            with open(f"{proc}/{pid}/stat") as file:
                name, rest = file.read().partition("(")[2].rsplit(")", 1)
        except (OSError, ValueError):
            continue
        found[int(pid)] = name, int(rest.split()[1])
    return found

def end(pid):
    family, table = [pid], processes()
    for one in family:
        family += [child for child, (_, parent) in table.items() if parent == one]
    for one in family:
        try:
            os.kill(one, signal.SIGKILL)
        except OSError:
            pass

def tell(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with socket.create_server((host, int(port))) as server:
                while (left := until - time.monotonic()) > 0:
                    server.settimeout(left)
                    link, _ = server.accept()
                    with link:
                        link.settimeout(5)
                        link.recv(4096)
                        link.sendall(b"HTTP/1.0 503 Service Unavailable\r\n\r\n" + NOTE.encode())
        except OSError:
            time.sleep(0.2)

def fall_back(text):
    try:
        with open(hung, "w") as file:
            file.write(text + "\n")
    except OSError as error:
        say(f"{text}, but this cannot be remembered ({error}): the engine stays as it is")
        return
    end(int(engine))
    say(text)
    if role == "head":
        tell(min(10, float(limit)))

seen, since, answers = None, time.monotonic(), False
while os.getppid() == int(parent):
    time.sleep(1)
    if role == "worker":
        if NOTE in (text := ask("/metrics")[1]):
            fall_back("hang in the first replay, as the head says")
            break
        if re.search(r"^vllm:generation_tokens_total\S* (?!0(?:\.0*)?$)\S+$", text, re.M):
            break
        continue
    if not answers:
        answers = ask("/health")[0] == 200
        if answers:
            threading.Thread(target=first_request, daemon=True).start()
        since = time.monotonic()
        continue
    if outcome:
        if outcome[0]:
            say("work" if outcome[0] == 200 else f"were not tried: the first request got HTTP {outcome[0]}")
        break
    status, text = ask("/metrics")
    now = re.findall(COUNTERS, text, re.M)
    if status != 200 or now != seen or COMPILERS & {name for name, _ in processes().values()}:
        seen, since = now, time.monotonic()
    if time.monotonic() - since > float(limit):
        fall_back(f"hang in the first replay: no token for {limit} s")
        break' "$role" "$health" "$hung" "$child" "$$" "${SPARKOPS_GRAPHS_SECONDS:-180}" "$root/proc" 2>/dev/null &
    watching=$!
}
