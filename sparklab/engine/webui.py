"""The emulated Open WebUI 0.11.4, as `bash start.sh` runs it in its image: a chat in the browser, with accounts."""

import os

from sparklab.engine import http, uvicorn
from sparklab.engine.webui_api import handler
from sparklab.engine.webui_endpoint import Endpoint, say
from sparklab.engine.webui_users import Users


def main(name: str, words: list[str]) -> int:
    host, port = os.environ.get("HOST") or "0.0.0.0", int(os.environ.get("PORT") or 8080)
    uvicorn.begin()
    return uvicorn.serve(host, port, started())


def started() -> type[http.Handler]:
    """Open the data, make the admin if there is no user, and return what answers requests."""
    users, endpoint = Users(), Endpoint()
    email, password = os.environ.get("WEBUI_ADMIN_EMAIL"), os.environ.get("WEBUI_ADMIN_PASSWORD")
    if email and password and not users.all():
        users.add(email, password, os.environ.get("WEBUI_ADMIN_NAME", "Admin"))
        say("INFO", "utils.auth:create_admin_user", f"Admin account created successfully: {email}")
    return handler(users, endpoint)
