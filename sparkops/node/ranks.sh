#!/bin/sh
# Lets the ranks of executor mp meet before any engine starts, and ends this rank's engine when another rank is gone.
#
# vLLM gives a late rank ten minutes, then it fails on the nodes that were in time. Later it watches only processes of
# its own node: without another rank its /health still answers, and a rank without an API waits for ever.
#
# So every other rank keeps a connection to rank 0 over the fabric. Both ends send a byte each second: `.`, or `+` once
# all ranks are here. Rank 0 knows each by its address. A rank is gone when its connection ends, when it connects again,
# or when it was silent for SPARKOPS_SILENT_SECONDS (default 30: so long NCCL sends again over RDMA, 7 tries of 4.3 s).
#
# /run/sparkops/ranks has the numbers of the ranks that are here; a rank without an API writes it once all are.
# shellcheck disable=SC2034,SC2154  # what entry.sh sets, waits for and reads
lost='' meeting=''

# An engine that lost a rank may not end by itself, so the second signal kills it.
end_engine() {
    [ -z "$child" ] || kill "-${lost:-TERM}" "$child" 2>/dev/null
    lost=KILL
}

meet() {
    [ -n "$ranks" ] || return 0
    met=$root/run/sparkops/ranks
    mkdir -p "${met%/*}" && : >"$met"
    trap end_engine USR1
    python3 -IS -c '
import os, select, signal, socket, sys, time
met, parent, limit, port, own, ranks = sys.argv[1:]
ranks = ranks.split(",")
first = own == ranks[0]
peers = ranks[1:] if first else ranks[:1]
links, heard = {}, {}
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

def arrivals():
    again = set()
    while server:
        try:
            link, (address, _) = server.accept()
        except OSError:
            break
        if address in peers and address not in links:
            add(address, link)
            continue
        link.close()
        again |= {address} & {*links}
    return again

def exchange():
    global whole
    gone = arrivals()
    for address, link in links.items():
        try:
            link.send(b"+" if whole else b".")
            text = link.recv(4096)
        except BlockingIOError:
            if time.monotonic() - heard[address] > float(limit):
                gone.add(address)
        except OSError:
            gone.add(address)
        else:
            heard[address] = time.monotonic()
            whole = whole or b"+" in text
            gone |= set() if text else {address}
    for address in gone:
        links.pop(address).close()
    return gone

def write():
    global written
    here = [one for one in ranks if one in (own, *links)] if first else ranks if whole else []
    if here != written:
        written = here
        with open(met + ".new", "w") as file:
            print(*map(ranks.index, here), file=file)
        os.replace(met + ".new", met)

def state():
    missing = ", ".join(name(one) for one in peers if one not in links)
    if not missing:
        return f"{name(ranks[0])} waits for other ranks"
    return f"{len(links) + 1} of {len(ranks)} ranks are here; waiting for {missing}" if first else f"waiting for {missing}"

try:
    while not whole and not alone():
        trouble = reach()
        exchange()
        whole = whole or first and len(links) == len(peers)
        write()
        if not whole:
            if shown != (trouble or state()):
                shown = trouble or state()
                say(shown)
            time.sleep(1)
    say(f"all {len(ranks)} ranks are here")
    gone, ends = set(), select.poll()
    for link in links.values():
        ends.register(link, select.POLLRDHUP)
    while not gone and not alone():
        ends.poll(1000)
        gone = exchange()
        write()
    for one in gone:
        say(f"{name(one)} is gone, so this rank ends too")
finally:
    for link in links.values():
        link.close()
    for seconds in (10, 0):
        if not alone():
            os.kill(int(parent), signal.SIGUSR1)
            time.sleep(seconds)' "$met" "$$" "${SPARKOPS_SILENT_SECONDS:-30}" "$port" "$fabric" "$ranks" &
    meeting=$!
    until [ "$(wc -w <"$met")" -eq "$(echo "$ranks" | tr ',' '\n' | wc -l)" ]; do
        pause 1
        [ -z "$lost" ] || exit 1
    done
}
