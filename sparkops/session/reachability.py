"""Ask endpoints from the control machine: a firewall may block what the nodes verified."""

from sparkops.core.endpoints import api_url
from sparkops.core.revision import Revision
from sparkops.core.stored import StoredMember
from sparkops.remote.network import network

RUNNING = "vllm:num_requests_running"


def ask_from_here(revision: Revision, key: str) -> list[str]:
    """One warning for each endpoint that does not answer from here; proxy variables are ignored."""
    return [
        f"{api_url(front)} answers {front.name} itself, but not this machine ({problem}): check firewall and network"
        for front in revision.fronts
        if (problem := _problem(f"{api_url(front)}/v1/models", key))
    ]


def requests_running(member: StoredMember) -> int:
    """The number of requests that an engine works on; 0 if its metrics cannot be read from here."""
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
