"""The endpoint as the control machine sees it: what the nodes verified may still be behind a firewall."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from sparkops.core.endpoints import api_url
from sparkops.core.revision import Revision
from sparkops.core.stored import StoredMember

SECONDS = 10
RUNNING = "vllm:num_requests_running"


def ask_from_here(revision: Revision, key: str) -> list[str]:
    """One warning for each endpoint that answers on its node but not here; proxy variables are bypassed."""
    return [
        f"{api_url(front)} answers on {front.name} but not from here ({problem}): a firewall, or another network"
        for front in revision.fronts
        if (problem := _problem(f"{api_url(front)}/v1/models", key))
    ]


def requests_running(member: StoredMember) -> int:
    """How many requests an engine works on; 0 where its counters cannot be read from here."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{api_url(member)}/metrics", timeout=SECONDS) as answer:
            lines = answer.read().decode("utf-8", "replace").splitlines()
        found = [line.rpartition(" ")[2] for line in lines if line.startswith(RUNNING)]
        return int(sum(map(float, found)))
    except (OSError, http.client.HTTPException, ValueError):
        return 0


def _problem(url: str, key: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with opener.open(request, timeout=SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
