"""An engine that is up in seconds: the emulated API, and an end like vLLM's when a peer is lost.

With Ray every request passes an actor on each node of the real cluster, with `mp` a TCP connection between the ranks.
"""

import os
import queue
import socket
import threading
import time

from setproctitle import setproctitle

from sparklab.engine.api import Engine, handler
from sparklab.engine.http import Server
from sparklab.engine.ranks import Ranks

SILENT_SECONDS = 2.0
"""Before the port opens: an entry script that finds it open at its first look takes it for another program's."""


def gone(line):
    print(f"(EngineCore pid={os.getpid()}) ERROR 11-20 12:00:00 [multiproc_executor.py:302] {line}", flush=True)
    said = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    print(f"vllm.v1.engine.exceptions.EngineDeadError: {said}", flush=True)
    os._exit(1)


class Connected(Ranks):
    """Other ranks that each request passes: it waits until all of them have answered."""

    def __init__(self, settings, step):
        super().__init__(settings)
        self.step = step

    def unnoticed(self):
        self.step()
        return False

    def graphs_hang(self):
        return os.environ.get("LAB_GRAPHS") == "hang" and not self.settings.eager


def over_ray(ranks):
    """One actor on each node, as tensor parallel has; losing one ends this process."""
    import ray

    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="ERROR", log_to_driver=False)

    class Rank:
        def step(self):
            return True

    actors = [ray.remote(num_gpus=1, num_cpus=0)(Rank).remote() for _ in range(ranks)]

    def step(**limit):
        ray.get([actor.step.remote() for actor in actors], **limit)

    step()

    def watch():
        while True:
            time.sleep(1)
            try:
                step(timeout=60)
            except ray.exceptions.GetTimeoutError:
                continue
            except Exception:
                gone("RayWorkerProc rank=[1] died unexpectedly, shutting down executor.")

    threading.Thread(target=watch, daemon=True).start()
    return step


def over_tcp(master, ranks):
    """Wait for the connection of every other rank, over which each step goes; losing one ends this process."""
    with socket.create_server(master) as server:
        links = [(server.accept()[0], queue.Queue()) for _ in range(ranks - 1)]

    def listen(link, answers):
        while answer := received(link):
            answers.put(answer)
        gone("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.")

    for link in links:
        threading.Thread(target=listen, args=link, daemon=True).start()

    def step():
        for link, _ in links:
            link.sendall(b".")
        for _, answers in links:
            answers.get()

    return step


def other_rank(master):
    """Answer every step of the first rank until it is gone."""
    where = f"{master[0]}:{master[1]}"
    print(f"Launching vLLM (stand-in) headless multiproc executor, with head node address {where}", flush=True)
    while True:
        try:
            link = socket.create_connection(master)
            break
        except OSError:
            time.sleep(1)
    while question := received(link):
        link.sendall(question)
    gone("Worker proc VllmWorker-0 died unexpectedly, shutting down executor.")


def received(link):
    try:
        return link.recv(1)
    except OSError:
        return b""


def serve(settings):
    setproctitle("VLLM::EngineCore")
    settings.node.speed = 1000.0
    time.sleep(SILENT_SECONDS)
    master = (settings.given.get("master_addr"), settings.given.get("master_port", 29501))
    ranks = Ranks(settings)
    if settings.headless:
        other_rank(master)
    elif settings.executor == "ray":
        ranks = Connected(settings, over_ray(settings.gpus))
    elif settings.nnodes > 1:
        ranks = Connected(settings, over_tcp(master, settings.nnodes))
    server = Server((settings.host, settings.port), handler(Engine(settings, ranks, "0.32.0")))
    where = f"http://{settings.host}:{settings.port}"
    print(f"INFO:     Application startup complete.\nINFO:     Uvicorn running on {where}", flush=True)
    server.serve_forever()
