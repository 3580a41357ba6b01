"""What LiteLLM and Open WebUI have in common: they run in uvicorn, which says so in their logs."""

import os
import signal
import threading
from typing import Any

from sparklab.engine import http, log
from sparklab.layout import here
from sparklab.tools.say import fail


def begin() -> None:
    """Before the program opens what it needs; from now on SIGTERM ends it at once."""
    signal.signal(signal.SIGTERM, _stop)
    log.write(f"INFO:     Started server process [{os.getpid()}]")
    log.write("INFO:     Waiting for application startup.")


def serve(host: str, port: int, answers: type[http.Handler]) -> int:
    """Answer until it is stopped; the exit code if it cannot listen."""
    try:
        servers = http.listen(here(), host, port, answers)
    except OSError:
        return fail(
            f"ERROR:    [Errno 98] error while attempting to bind on address ('{host}', {port}): address already in use"
        )
    http.serve(servers)
    log.write("INFO:     Application startup complete.")
    log.write(f"INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
    threading.Event().wait()
    return 0


def _stop(*_: Any) -> None:
    threading.Thread(target=_shut_down).start()  # whom the signal interrupts may be writing the log


def _shut_down() -> None:
    log.write("INFO:     Shutting down")
    os._exit(0)
