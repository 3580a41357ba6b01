#!/bin/sh
# Lets the ranks of executor mp meet before any engine starts, and ends this rank's engine when another rank is gone.
#
# vLLM gives a late rank ten minutes, then it fails on the nodes that were in time. Later it watches only processes of
# its own node: without another rank its /health still answers, and a rank without an API waits for ever.
#
# So every other rank keeps a connection to rank 0 over the fabric. Both ends send a byte each second: `.`, or `+` once
# all ranks are here. Rank 0 knows each by its address. A rank is gone when its connection ends, or when it was silent
# for SPARKOPS_SILENT_SECONDS (default 30: so long NCCL sends again over RDMA, 7 tries of 4.3 s).
#
# /run/sparkops/ranks has the numbers of the ranks that are here; a rank without an API writes it once all are.
# shellcheck disable=SC2154  # what entry.sh sets and waits for
lost=''
met=$root/run/sparkops/ranks
[ -z "$ranks" ] || { mkdir -p "${met%/*}" && : >"$met"; }

# An engine that lost a rank may not end by itself, so the second signal kills it.
end_engine() {
    [ -z "$child" ] || kill "-${lost:-TERM}" "$child" 2>/dev/null
    lost=KILL
}

meet() {
    [ -n "$ranks" ] || return 0
    trap end_engine USR1
    python3 -IS -c '
import os, select, socket, sys, time
met, parent, limit, port, own, ranks = sys.argv[1:]
limit, ranks = float(limit), ranks.split(",")
first = own == ranks[0]
peers = ranks[1:] if first else ranks[:1]
links, heard, here = {}, {}, set()
server, whole, shown, written = None, False, None, None

def say(text):
    print("sparkops: " + text, flush=True)

def name(address):
    return f"rank {ranks.index(address)} at {address}"

def alone():
    return os.getppid() != int(parent)

def add(address, link):
    link.setblocking(False)
    links[address], heard[address] = link, time.monotonic()

def reach():
    global server
    try:
        if first and not server:
            server = socket.create_server((own, int(port)))
            server.setblocking(False)
        if not first and not links:
            add(ranks[0], socket.create_connection((ranks[0], int(port)), 3, (own, 0)))
    except OSError as error:
        return f"cannot listen at {own}:{port}: {os.strerror(error.errno)}" if first else None

def accept():
    while server:
        try:
            link, (address, _) = server.accept()
        except OSError:
            break
        if address in peers and address not in links:
            add(address, link)
        else:
            link.close()

def exchange():
    global whole
    accept()
    gone = set()
    for address, link in links.items():
        try:
            link.send(b"+" if whole else b".")
            text = link.recv(4096)
        except BlockingIOError:
            if time.monotonic() - heard[address] > limit:
                gone.add(address)
            continue
        except OSError:
            text = b""
        if not text:
            gone.add(address)
            continue
        heard[address] = time.monotonic()
        here.add(address)
        whole = whole or not first and b"+" in text
    for address in gone:
        links.pop(address).close()
        here.discard(address)
    return gone

def write():
    global written
    known = [one for one in ranks if one in (own, *here)] if first else ranks if whole else []
    if known != written:
        written = known
        with open(met + ".new", "w") as file:
            print(*map(ranks.index, known), file=file)
        os.replace(met + ".new", met)

def state():
    missing = ", ".join(name(one) for one in peers if one not in here)
    if not missing:
        return f"{name(ranks[0])} waits for other ranks"
    return f"{len(here) + 1} of {len(ranks)} ranks are here; waiting for {missing}" if first else f"waiting for {missing}"

while not whole and not alone():
    trouble = reach()
    exchange()
    whole = whole or first and len(here) == len(peers)
    write()
    if not whole:
        if shown != (trouble or state()):
            shown = trouble or state()
            say(shown)
        time.sleep(1)
if whole:
    say(f"all {len(ranks)} ranks are here")
gone, ends = set(), select.poll()
for link in links.values():
    ends.register(link, select.POLLRDHUP)
while not gone and not alone():
    ends.poll(1000)
    gone = exchange()
    write()
for one in gone:
    say(f"{name(one)} is gone, so this rank ends too")' \
        "$met" "$$" "${SPARKOPS_SILENT_SECONDS:-30}" "$port" "$fabric" "$ranks" | {
        cat # until it ends, for whatever reason: without it nobody would notice a lost rank
        exec >/dev/null
        kill -USR1 "$$"
        sleep 10
        kill -USR1 "$$"
    } 2>/dev/null &
    total=$(echo "$ranks" | tr ',' ' ' | wc -w)
    until [ "$(wc -w <"$met")" -eq "$total" ]; do
        pause 1
        [ -z "$lost" ] || exit 1
    done
}
