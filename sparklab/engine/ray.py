"""`ray start` and `ray status`: the real Ray if this lab uses it, always with the lab's coordinator beside it.

For any address but 127.0.0.1 the real Ray listens on every interface. So all its nodes have that address and differ by
their ids; each lab has its own token, and its own port behind the one that was asked for.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sparklab import files, processes
from sparklab.engine import ray_text
from sparklab.engine.coordinator import RAY_PORT, Channel, Coordinator, connect
from sparklab.engine.failures import TOTAL_GIB
from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import memory

RETRY = 0.5
GONE_AFTER = 2.0
STORE_BYTES = 90_000_000
LOOPBACK = "127.0.0.1"
STARTER = os.path.join(os.path.dirname(__file__), "real_ray.py")


def main(name: str, words: list[str]) -> int:
    verb, options = words[0] if words else "", _options(words[1:])
    if verb == "--version":
        out("ray, version 2.60.0")
        return 0
    if verb == "status":
        return status(here(), options)
    if verb == "start":
        if "--head" in options:
            return head(here(), options)
        if os.environ.get("SPARKLAB_ENGINE") != "1":  # so that the lab finds the rank's process by its environment
            os.environ["SPARKLAB_ENGINE"] = "1"
            main_file = os.path.join(os.path.dirname(os.path.dirname(__file__)), "tools", "main.py")
            os.execv(sys.executable, [sys.executable, "-I", "-S", main_file, "ray", *words])
        return worker(here(), options)
    return fail(f"Usage: ray [OPTIONS] COMMAND [ARGS]...\n\nError: No such command '{verb}'.", 2)


def _options(words: list[str]) -> dict[str, str]:
    """`--name=value`, `--name value` and bare ones."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not equals and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        found[name] = value
    return found


def _own(node: Node, ip: str) -> dict[str, Any]:
    stamp = hashlib.sha224(f"{ip} {time.time_ns()}".encode()).hexdigest()
    return {"ip": ip, "id": stamp, "node": node.directory, "container": os.environ.get("SPARKLAB_CONTAINER", "")}


def _real(node: Node) -> bool:
    return bool(node.record["ray"] == "real")


def real_environment(node: Node) -> dict[str, str]:
    """Short paths for its sockets, no usage reports, nobody else's jobs, no workers started before they are needed."""
    short = node.record["short"]
    token = hashlib.sha256(f"{node.lab} ray".encode()).hexdigest()
    files.write(os.path.join(short, "token"), token, 0o600)
    return dict(os.environ) | {
        "RAY_TMPDIR": short,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": os.path.join(short, "token"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
    }


def _real_words(options: dict[str, str], **changed: str) -> list[str]:
    own = {"--object-store-memory": str(STORE_BYTES), "--node-ip-address": LOOPBACK}
    kept = options | own | {f"--{name}": value for name, value in changed.items()}
    words = [f"{name}={value}" if value else name for name, value in kept.items()]
    return _ray_line("start", *words)


def _ray_line(*words: str) -> list[str]:
    return [sys.executable, "-P", STARTER, *words]  # without -P, the ray.py beside it would be imported


def head(node: Node, options: dict[str, str]) -> int:
    """Starts the head in the background, like the real one, and says how to join it."""
    ip, port = options.get("--node-ip-address", node.fabric[0]), int(options.get("--port", RAY_PORT))
    real_port = 0
    if _real(node):
        real_port = _free_port()
        code = subprocess.call(_real_words(options, port=str(real_port)), env=real_environment(node))
        if code:
            return code
    try:
        resources = json.loads(options.get("--resources", "{}"))
        coordinator = Coordinator(ip, port, _own(node, ip), real_port, resources)
    except OSError:
        return fail(f"ConnectionError: Ray is trying to start at {ip}:{port}, but that port is already in use.")
    files.write(os.path.join(node.record["short"], "current"), f"{ip}:{port}")
    if not _real(node):
        out(ray_text.started_head(ip, port))
    sys.stdout.flush()
    if os.fork() == 0:
        os.setsid()
        _detach()
        coordinator.serve()
    return 0


def _detach() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nothing, handle)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def worker(node: Node, options: dict[str, str]) -> int:
    """Joins, and with `--block` stays until the head goes or a stop comes."""
    address = options.get("--address", "")
    ip = options.get("--node-ip-address", node.fabric[0])
    if not _real(node):
        out(ray_text.joining(ip))
    channel, raylet = _reach(node, address, ip), None
    files.write(os.path.join(node.record["short"], "current"), address)
    while _real(node) and raylet is None:
        raylet = _start_real(node, options, channel)
        channel = channel if raylet else _reach(node, address, ip)
    if raylet is not None and raylet.poll() is not None:
        return raylet.returncode
    channel.ask({"do": "join", "node": _own(node, ip)})
    if raylet is None:
        out(ray_text.started_worker())
        sys.stdout.flush()
    if "--block" not in options and os.fork():
        return 0
    signal.signal(signal.SIGTERM, lambda *_: _end(raylet))
    return _stay(node, channel, raylet)


def _reach(node: Node, address: str, ip: str) -> Channel:
    """Like the real one, this blocks silently until the head answers."""
    while True:
        blocked = node.fault("worker-never-joins") or node.cut_off_from(address.partition(":")[0])
        if not blocked and (channel := connect(address, ip)):
            return channel
        time.sleep(RETRY)


def _start_real(node: Node, options: dict[str, str], channel: Channel) -> subprocess.Popen[bytes] | None:
    """None if this head has gone meanwhile; on a node the next one has the same port, here it has another."""
    if not (answer := channel.ask({"do": "list"})):
        return None
    words = _real_words(options, address=f"{LOOPBACK}:{answer['real_port']}", block="")
    raylet = subprocess.Popen(words, env=real_environment(node), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert raylet.stdout
    lines = _shown(raylet.stdout)
    for line in lines:
        if b"Ray runtime started" in line:
            threading.Thread(target=deque, args=(lines, 0), daemon=True).start()  # shows the others as they come
            return raylet
        if b"Failed to connect to GCS at address" in line:
            _kill(raylet)
            return None
    raylet.wait()
    return raylet


def _shown(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        sys.stdout.write(line.decode(errors="replace"))
        sys.stdout.flush()
        yield line


def _end(raylet: subprocess.Popen[bytes] | None) -> None:
    if raylet is not None:
        raylet.terminate()
    os._exit(0)


def _stay(node: Node, channel: Channel, raylet: subprocess.Popen[bytes] | None) -> int:
    holder = os.environ.get("SPARKLAB_CONTAINER", "worker")
    if raylet is not None:
        threading.Thread(target=_leave_with, args=(raylet, channel), daemon=True).start()
    for message in channel.messages():
        if "hold" in message:
            memory.change(node, used={holder: int(message["hold"] * TOTAL_GIB * memory.KB_PER_GIB)})
        elif "left" in message:
            break
    memory.change(node, used={holder: 0})
    time.sleep(node.seconds(GONE_AFTER))
    if raylet is not None:
        _kill(raylet)
    return fail(
        "Some Ray subprocesses exited unexpectedly:\n  raylet [exit code=1]\n\nRemaining processes will be killed."
    )


def _kill(raylet: subprocess.Popen[bytes]) -> None:
    processes.send(processes.family([], [(raylet.pid, processes.start_of(raylet.pid))]), signal.SIGKILL)
    raylet.wait()


def _leave_with(raylet: subprocess.Popen[bytes], channel: Channel) -> None:
    raylet.wait()
    channel.close()


def status(node: Node, options: dict[str, str]) -> int:
    address = (
        options.get("--address")
        or os.environ.get("RAY_ADDRESS")
        or files.read(os.path.join(node.record["short"], "current"))
    )
    if not address:
        return fail(
            "ConnectionError: Could not find any running Ray instance. Please specify the one to connect to by setting "
            "`--address` flag or `RAY_ADDRESS` environment variable."
        )
    channel = connect(address)
    answer = channel.ask({"do": "list"}) if channel else None
    if answer is None:
        time.sleep(node.seconds(RETRY))
        return fail("ray._raylet.RpcError: Timed out while waiting for GCS to become available.")
    gpus = len(answer["nodes"])
    if not answer["real_port"]:
        ids = [member["id"] for member in answer["nodes"]]
        out(ray_text.status(ids, answer["reserved"], answer["resources"]))
        return 0
    words = _ray_line("status", f"--address={LOOPBACK}:{answer['real_port']}")
    done = subprocess.run(words, env=real_environment(node), capture_output=True, text=True, check=False)
    text = done.stdout
    if answer["reserved"]:
        text = text.replace(f" 0.0/{gpus}.0 GPU", ray_text.gpus(gpus, answer["reserved"]))
    sys.stdout.write(text)
    sys.stderr.write(done.stderr)
    return done.returncode
