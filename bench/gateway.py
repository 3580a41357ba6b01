"""What a proxy adds to a stream: the gateway of sparkops, LiteLLM, and vllm-router, before one engine that only waits.

    python bench/gateway.py [--litellm PATH] [--vllm-router PATH] [--streams 1 16 64]

Each round, every client takes its turn: straight to the engine, then through each proxy. A stream has 50 events, one
each 20 ms. Prints the median time until the first event and the CPU of the proxy for each event, and of each proxy the
memory and the time until it answers. The two paths are programs of other environments; without one it is left out.
"""

import argparse
import asyncio
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from sparkops.node_commands.proxy import AUTH, Group, configured
from sparkops.remote.frame import script_text

ENGINE, KEY, MODEL = 18100, "sk-bench", "tiny"
EVENTS, PAUSE = 50, 0.02
PORTS = {"straight": ENGINE, "sparkops": 18101, "litellm": 18102, "vllm-router": 18103}
TICK = os.sysconf("SC_CLK_TCK")


async def answer(request: web.Request) -> web.StreamResponse:
    """A stream as vLLM's."""
    await request.read()
    out = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await out.prepare(request)
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    for number in range(EVENTS):
        choice = {"index": 0, "delta": {"content": f" word{number}"}, "finish_reason": None}
        await out.write(b"data: " + json.dumps({**about, "choices": [choice]}).encode() + b"\n\n")
        await asyncio.sleep(PAUSE)
    usage = {"prompt_tokens": 9, "completion_tokens": EVENTS, "total_tokens": 9 + EVENTS}
    await out.write(b"data: " + json.dumps({**about, "choices": [], "usage": usage}).encode() + b"\n\n")
    await out.write(b"data: [DONE]\n\n")
    return out


async def well(_: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": MODEL}], "object": "list"})


def engine() -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    for path in ("/health", "/v1/models", "/v1/model/info", "/get_server_info", "/get_model_info"):
        app.router.add_get(path, well)
    web.run_app(app, host="127.0.0.1", port=ENGINE, print=None, access_log=None)


def commands(told: argparse.Namespace, scratch: Path) -> dict[str, tuple[list[str], Mapping[str, str]]]:
    """The words and variables that start the engine and each proxy."""
    digest, base = hashlib.sha256(KEY.encode()).hexdigest(), f"http://127.0.0.1:{ENGINE}"
    found: dict[str, tuple[list[str], Mapping[str, str]]] = {"straight": ([sys.executable, __file__, "engine"], {})}
    inside, state = scratch / "etc/sparkops", scratch / "var/lib/sparkops-people"
    (inside / "keys").mkdir(parents=True)
    state.mkdir(parents=True)
    (inside / "keys/tiny").write_text(KEY)
    (state / "keys.json").write_text(json.dumps({"keys": {"anna": {"digest": digest, "parallel": 1000}}}))
    server = {"deployment": "tiny", "node": "node1", "url": base, "key": digest}
    (inside / "routes.json").write_text(
        json.dumps({"routes": {MODEL: {"served": MODEL, "kind": "chat", "servers": [server]}}})
    )
    words = ["sh", "-c", script_text("gateway"), "gateway", "--port", str(PORTS["sparkops"])]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found["sparkops"] = (words, {"SPARKOPS_ROOT": str(scratch), "PATH": path})
    if told.litellm:
        group = Group(MODEL, MODEL, {"one": base}, "none")
        (scratch / "proxy.yml").write_text(configured([group], "sparkops_auth.check"))
        (scratch / "sparkops_auth.py").write_text(AUTH)
        words = [told.litellm, "--config", str(scratch / "proxy.yml"), "--host", "127.0.0.1"]
        offline = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        found["litellm"] = ([*words, "--port", str(PORTS["litellm"])], offline)
    if told.vllm_router:
        words = [told.vllm_router, "--worker-urls", base, "--host", "127.0.0.1", "--prometheus-port", "18104"]
        found["vllm-router"] = ([*words, "--port", str(PORTS["vllm-router"])], {})
    return found


@contextmanager
def started(name: str, words: list[str], more: Mapping[str, str]) -> Iterator[tuple[int, float]]:
    """The process, and the seconds until it answers."""
    began = time.monotonic()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, env={**os.environ, **more}, **quiet)  # type: ignore[call-overload]
    try:
        while asyncio.run(refused(PORTS[name])):
            if process.poll() is not None or time.monotonic() - began > 120:
                sys.exit(f"{name} does not start")
            time.sleep(0.1)
        yield process.pid, time.monotonic() - began
    finally:
        process.terminate()
        process.wait()


async def refused(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return True
    writer.close()
    return False


async def streams(port: int, count: int) -> list[float]:
    """Seconds until the first event of each of these streams, which run at once."""
    headers = {"Authorization": f"Bearer {KEY}"}
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "stream": True}

    async def one(session: aiohttp.ClientSession) -> float:
        began, first = time.monotonic(), 0.0
        async with session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, headers=headers) as got:
            text = b""
            async for chunk in got.content.iter_any():
                first = first or time.monotonic() - began
                text += chunk
        if got.status != 200 or text.count(b"word") != EVENTS:
            sys.exit(f"port {port} answered {got.status}: {text[-300:]!r}")
        return first

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        return await asyncio.gather(*(one(session) for _ in range(count)))


def used(pid: int) -> float:
    """CPU seconds of a process and of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK


def memory(pid: int) -> int:
    """Resident memory in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--litellm", help="the program litellm, of litellm[proxy]")
    parser.add_argument("--vllm-router", help="the program vllm-router")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--rounds", type=int, default=5)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gateway-") as scratch, ExitStack() as running:
        there = {
            name: running.enter_context(started(name, *how)) for name, how in commands(told, Path(scratch)).items()
        }
        print("| client | streams | first event, ms | CPU an event, ms |", "|---|---|---|---|", sep="\n")
        for count in told.streams:
            firsts: dict[str, list[float]] = {name: [] for name in there}
            before = {name: used(pid) for name, (pid, _) in there.items()}
            for _ in range(told.rounds):
                for name in there:
                    firsts[name] += asyncio.run(streams(PORTS[name], count))
            for name, (pid, _) in there.items():
                spent = (used(pid) - before[name]) / (told.rounds * count * EVENTS)
                shown = f"{spent * 1000:.2f}" if name != "straight" else "-"
                print(f"| {name} | {count} | {statistics.median(firsts[name]) * 1000:.1f} | {shown} |", flush=True)
        print("", "| proxy | starts in, s | memory, MiB |", "|---|---|---|", sep="\n")
        for name, (pid, seconds) in there.items():
            if name != "straight":
                print(f"| {name} | {seconds:.1f} | {memory(pid)} |")


if __name__ == "__main__":
    engine() if sys.argv[1:] == ["engine"] else main()
