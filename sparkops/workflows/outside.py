"""The endpoint as the control machine sees it: what the nodes verified may still be behind a firewall."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from sparkops.core.revision import Revision
from sparkops.phases.verify import api_url

SECONDS = 10


def ask_from_here(revision: Revision, key: str) -> list[str]:
    """One warning for each endpoint that answers on its node but not here; proxy variables are bypassed."""
    return [
        f"{api_url(front)} answers on {front.name} but not from here ({problem}): a firewall, or another network"
        for front in revision.fronts
        if (problem := _problem(f"{api_url(front)}/v1/models", key))
    ]


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
