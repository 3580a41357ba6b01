"""The emulated `vllm`: checks its command line, boots, serves, and dies as the real one does."""

import os
import signal
import sys
import threading
import time
from typing import Any

from sparklab.engine import http, log
from sparklab.engine.api import Engine, handler
from sparklab.engine.boot import VERSIONS, Boot, give_up
from sparklab.engine.flags import UsageError, parse
from sparklab.engine.mp_ranks import MpRanks
from sparklab.engine.ranks import PeerDied, Ranks
from sparklab.engine.ray_ranks import RayRanks
from sparklab.engine.settings import Settings, StartError
from sparklab.tools.say import fail, out

IMPORT_SECONDS = 0.2
WATCH_EVERY = 0.1


def main(name: str, words: list[str]) -> int:
    build = os.environ.get("SPARKLAB_KIND", "vllm")
    if words[:1] in (["--version"], ["-v"]):
        out(VERSIONS.get(build, VERSIONS["vllm"]))
        return 0
    if words[:1] != ["serve"]:
        return fail("usage: vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ...", 2)
    signal.signal(signal.SIGTERM, _stop)
    try:
        settings = Settings(parse(words[1:], build))
    except UsageError as error:
        time.sleep(IMPORT_SECONDS)
        return fail(f"usage: vllm serve [model_tag] [options]\n{error}", 2)
    except StartError as error:
        log.Speaker("APIServer").error("api_server.py:1402", f"Traceback (most recent call last):\n{error}")
        return 1
    if not os.environ.get("SPARKLAB_GPUS"):
        return fail(
            "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` "
            "to turn on verbose logging to help debug the issue."
        )
    return _serve(settings)


def _stop(*_: Any) -> None:
    threading.Thread(target=_shut_down).start()  # whom the signal interrupts may be writing the log


def _shut_down() -> None:
    log.Speaker("APIServer").info("launcher.py:254", "[shutdown] API server: shutdown triggered")
    os._exit(0)


def _serve(settings: Settings) -> int:
    peers = _ranks(settings)
    boot = Boot(settings, peers)
    servers: list[http.Server] = []
    try:
        if not settings.headless:
            http.close(_listen(settings, http.Handler))  # vLLM binds its socket first, so a taken port shows at once
        boot.run()
        engine = Engine(settings, peers, boot.version)
        if not settings.headless:
            servers = _open(settings, engine, boot)
        return _watch(peers, boot, engine)
    except PeerDied as error:
        peers.announce(boot.voices)
        return give_up(error)
    except StartError as error:
        return give_up(error)
    finally:
        peers.close()
        http.close(servers)


def _ranks(settings: Settings) -> Ranks:
    if settings.executor == "ray" and settings.gpus > 1:
        return RayRanks(settings)
    return MpRanks(settings) if settings.nnodes > 1 else Ranks(settings)


def _listen(settings: Settings, answers: type[http.Handler]) -> list[http.Server]:
    try:
        return http.listen(settings.node, settings.host, settings.port, answers)
    except OSError as error:
        raise StartError(f"OSError: [Errno 98] Address already in use ({settings.host}:{settings.port})") from error


def _open(settings: Settings, engine: Engine, boot: Boot) -> list[http.Server]:
    boot.api.info("entry.py:136", "Supported tasks: ['generate']")
    servers = _listen(settings, handler(engine))
    boot.api.info("entry.py:140", f"Starting vLLM server on http://{settings.host}:{settings.port}")
    for route in ("/health", "/metrics", "/v1/models", "/v1/chat/completions", "/v1/completions"):
        boot.api.info("launcher.py:195", f"Route: {route}, Methods: {'POST' if 'completions' in route else 'GET'}")
    http.serve(servers)
    log.write(f"INFO:     Started server process [{os.getpid()}]")
    log.write("INFO:     Waiting for application startup.")
    log.write("INFO:     Application startup complete.")
    return servers


def _watch(peers: Ranks, boot: Boot, engine: Engine) -> int:
    """Until a rank dies; the port answers 503 for a moment, then the process is gone."""
    while not peers.lost.wait(WATCH_EVERY):
        pass
    engine.dead = True
    peers.announce(boot.voices)
    log.Speaker("APIServer").error(
        "async_llm.py:906",
        "AsyncLLM output_handler failed.\nTraceback (most recent call last):\n"
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. "
        "See stack trace (above) for the root cause.",
    )
    log.write("INFO:     Shutting down")
    time.sleep(boot.node.seconds(0.3))
    sys.stdout.flush()
    return 1
