"""The emulated Open WebUI 0.11.4, as `bash start.sh` runs it in its image: a chat in the browser, with accounts."""

import os
import signal
import threading
from typing import Any

from sparklab.engine import http, log
from sparklab.engine.webui_api import handler
from sparklab.engine.webui_endpoint import Endpoint, say
from sparklab.engine.webui_users import Users
from sparklab.layout import here
from sparklab.tools.say import fail


def main(name: str, words: list[str]) -> int:
    signal.signal(signal.SIGTERM, _stop)
    host, port = os.environ.get("HOST") or "0.0.0.0", int(os.environ.get("PORT") or 8080)
    answers = started()
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


def started() -> type[http.Handler]:
    """Open the data, make the admin if there is no user, and return what answers requests."""
    log.write(f"INFO:     Started server process [{os.getpid()}]")
    log.write("INFO:     Waiting for application startup.")
    users, endpoint = Users(), Endpoint()
    email, password = os.environ.get("WEBUI_ADMIN_EMAIL"), os.environ.get("WEBUI_ADMIN_PASSWORD")
    if email and password and not users.all():
        users.add(email, password, os.environ.get("WEBUI_ADMIN_NAME", "Admin"))
        say("INFO", "utils.auth:create_admin_user", f"Admin account created successfully: {email}")
    return handler(users, endpoint)


def _stop(*_: Any) -> None:
    threading.Thread(target=_shut_down).start()  # whom the signal interrupts may be writing the log


def _shut_down() -> None:
    log.write("INFO:     Shutting down")
    os._exit(0)
