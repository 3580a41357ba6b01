"""The endpoint as the control machine sees it: what the nodes verified may still be behind a firewall."""

from sparkops.core.endpoints import api_url
from sparkops.core.revision import Revision
from sparkops.core.stored import StoredMember
from sparkops.remote.network import network

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
    try:
        lines = network().get(f"{api_url(member)}/metrics").splitlines()
        found = [line.rpartition(" ")[2] for line in lines if line.startswith(RUNNING)]
        return int(sum(map(float, found)))
    except (OSError, ValueError):
        return 0


def _problem(url: str, key: str) -> str:
    try:
        network().get(url, key)
    except OSError as error:
        return str(error) or type(error).__name__
    return ""
