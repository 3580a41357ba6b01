"""What the CLI asks of a running daemon: one JSON line each way over a private Unix socket."""

import json
import socket
from typing import Any

from sparklab.errors import LabError


def ask(path: str, request: dict[str, Any], patience: float = 60.0) -> dict[str, Any]:
    """Send one request to the daemon that owns this socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(patience)
        try:
            client.connect(path)
            client.sendall(json.dumps(request).encode() + b"\n")
            answer = client.makefile("r").readline()
        except OSError as error:
            raise LabError(
                f"the lab does not answer: {error}", "run `sparkops lab down`, then `sparkops lab up`"
            ) from error
    if not answer:
        raise LabError("the lab ended before it answered", "run `sparkops lab down`, then `sparkops lab up`")
    found: dict[str, Any] = json.loads(answer)
    if "error" in found:
        raise LabError(found["error"], found.get("hint", ""))
    return found
