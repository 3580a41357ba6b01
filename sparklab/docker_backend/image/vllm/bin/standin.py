"""An engine that is up at once: answers as vLLM's server does, and dies as vLLM does when a peer is lost.

Takes the command line that the front would give to vLLM. With Ray every answer passes an actor on each node of the
real cluster, with `mp` a TCP connection between the ranks.
"""

import argparse
import asyncio
import json
import os
import threading
import time
import uuid

from aiohttp import web
from setproctitle import setproctitle


def options():
    parser = argparse.ArgumentParser()
    for name in ("--host", "--port", "--api-key", "--served-model-name", "--max-model-len", "--tensor-parallel-size"):
        parser.add_argument(name)
    for name in ("--distributed-executor-backend", "--nnodes", "--node-rank", "--master-addr", "--master-port"):
        parser.add_argument(name)
    parser.add_argument("--headless", action="store_true")
    return parser.parse_known_args()[0]


def gone(line):
    print(f"(EngineCore pid={os.getpid()}) ERROR 11-20 12:00:00 [multiproc_executor.py:302] {line}", flush=True)
    said = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    print(f"vllm.v1.engine.exceptions.EngineDeadError: {said}", flush=True)
    os._exit(1)


def over_ray(ranks):
    """One actor on each node, as tensor parallel has: what it answers with passes every node, a lost one ends it."""
    import ray

    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="ERROR", log_to_driver=False)

    class Rank:
        def step(self):
            return True

    actors = [ray.remote(num_gpus=1, num_cpus=0)(Rank).remote() for _ in range(ranks)]

    def steps():
        return [actor.step.remote() for actor in actors]

    ray.get(steps())

    def watch():
        while True:
            time.sleep(1)
            try:
                ray.get(steps(), timeout=60)
            except ray.exceptions.GetTimeoutError:
                continue
            except Exception:
                gone("RayWorkerProc rank=[1] died unexpectedly, shutting down executor.")

    threading.Thread(target=watch, daemon=True).start()

    async def step():
        await asyncio.gather(*steps())

    return step


async def rank_zero(given):
    """Wait for every other rank's connection, over which each step goes; losing one ends this process."""
    joined, peers = asyncio.Semaphore(0), []

    async def rank(reader, writer):
        answers = asyncio.Queue()
        peers.append((writer, answers))
        joined.release()
        while answer := await reader.read(1):
            answers.put_nowait(answer)
        gone("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.")

    await asyncio.start_server(rank, given.master_addr, int(given.master_port or 29501))
    for _ in range(int(given.nnodes) - 1):
        await joined.acquire()

    async def step():
        for writer, _ in peers:
            writer.write(b".")
        for _, answers in peers:
            await answers.get()

    return step


async def other_rank(given):
    where = f"{given.master_addr}:{given.master_port}"
    print(f"Launching vLLM (stand-in) headless multiproc executor, with head node address {where}", flush=True)
    while True:
        try:
            reader, writer = await asyncio.open_connection(given.master_addr, int(given.master_port or 29501))
            break
        except OSError:
            await asyncio.sleep(1)
    while question := await reader.read(1):
        writer.write(question)
    gone("Worker proc VllmWorker-0 died unexpectedly, shutting down executor.")


async def alone():
    """A step of an engine that has one rank."""


class Server:
    """The part of the OpenAI API that is asked for, with counters as Prometheus text."""

    def __init__(self, given, step):
        self.step = step
        self.name = (given.served_model_name or "model").split()[0]
        self.length = int(given.max_model_len or 131072)
        self.key = given.api_key or os.environ.get("VLLM_API_KEY")
        self.prompt = self.generated = 0

    @web.middleware
    async def guard(self, request, handler):
        if self.key and request.path.startswith("/v1") and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        return await handler(request)

    async def health(self, _request):
        return web.Response()

    async def version(self, _request):
        return web.json_response({"version": "0.32.0"})

    async def models(self, _request):
        model = {
            "id": self.name,
            "object": "model",
            "created": 0,
            "owned_by": "vllm",
            "root": self.name,
            "max_model_len": self.length,
        }
        return web.json_response({"object": "list", "data": [model]})

    async def metrics(self, _request):
        label = f'{{engine="0",model_name="{self.name}"}}'
        lines = {
            "vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0,
            "vllm:prompt_tokens_total": self.prompt, "vllm:generation_tokens_total": self.generated,
        }  # fmt: skip
        return web.Response(text="".join(f"{name}{label} {float(value)}\n" for name, value in lines.items()))

    async def complete(self, request):
        body = await request.json()
        if body.get("model") != self.name:
            message = f"The model `{body.get('model')}` does not exist."
            error = {"message": message, "type": "NotFoundError", "param": "model", "code": 404}
            return web.json_response({"error": error}, status=404)
        count = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        chat = "messages" in body
        await self.step()
        self.prompt += 4
        self.generated += count
        text = " lab" * count
        choice = {
            "index": 0,
            "finish_reason": "length",
            **({"message": {"role": "assistant", "content": text}} if chat else {"text": text}),
        }
        made = {
            "id": uuid.uuid4().hex,
            "object": "chat.completion" if chat else "text_completion",
            "created": int(time.time()),
            "model": self.name,
        }
        usage = {"prompt_tokens": 4, "completion_tokens": count, "total_tokens": 4 + count}
        if not body.get("stream"):
            return web.json_response({**made, "choices": [choice], "usage": usage})
        return await self.stream(request, made, usage, chat, count)

    async def stream(self, request, made, usage, chat, count):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for index in range(count):
            part = {"delta": {"role": "assistant", "content": " lab"}} if chat else {"text": " lab"}
            choice = {"index": 0, "finish_reason": None if index < count - 1 else "length", **part}
            await response.write(b"data: " + json.dumps({**made, "choices": [choice]}).encode() + b"\n\n")
        await response.write(
            b"data: " + json.dumps({**made, "choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n"
        )
        return response

    def app(self):
        app = web.Application(middlewares=[self.guard])
        app.add_routes(
            [web.get("/health", self.health), web.get("/metrics", self.metrics), web.get("/version", self.version)]
        )
        app.add_routes([web.get("/v1/models", self.models)])
        app.add_routes([web.post(path, self.complete) for path in ("/v1/completions", "/v1/chat/completions")])
        return app


async def main():
    given = options()
    setproctitle("VLLM::EngineCore")
    if given.headless:
        await other_rank(given)
        return
    step = alone
    if given.distributed_executor_backend == "ray":
        step = over_ray(int(given.tensor_parallel_size or 1))
    elif int(given.nnodes or 1) > 1:
        step = await rank_zero(given)
    runner = web.AppRunner(Server(given, step).app())
    await runner.setup()
    await web.TCPSite(runner, given.host or "0.0.0.0", int(given.port or 8000)).start()
    print(
        f"INFO:     Application startup complete.\nINFO:     Uvicorn running on http://{given.host}:{given.port}",
        flush=True,
    )
    await asyncio.Event().wait()


asyncio.run(main())
