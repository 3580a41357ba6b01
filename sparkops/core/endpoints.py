"""The addresses of a deployment's APIs, and the proxy in front of independent servers."""

from sparkops.core.revision import PAGE, Member, Revision
from sparkops.core.stored import Stored, StoredMember

EARLIER_PROXY_PORT = 4000
"""Where proxies of earlier releases listen. They stay there until something else of their deployment changes."""

WITHOUT_KEY = "no API key: everyone who reaches the port can use the model"

ApiPlace = Member | StoredMember


def api_url(place: ApiPlace) -> str:
    """Nodes ask their own engine at the address that clients use."""
    return f"http://{host_port(place.address, place.port)}"


def base_url(stored: Stored | Revision, place: ApiPlace) -> str:
    """What clients are given: the base URL of the OpenAI API; of a page, its address in the browser."""
    return api_url(place) if stored.kind == PAGE else f"{api_url(place)}/v1"


def host_port(host: str, port: int | None) -> str:
    """As it stands in a URL; an IPv6 address in brackets."""
    named = f"[{host}]" if ":" in host else host
    return named if port is None else f"{named}:{port}"


def health_path(role: str) -> str:
    return "/health/liveliness" if role == "proxy" else "/health"


def health_url(place: ApiPlace) -> str:
    return f"{api_url(place)}{health_path(place.role)}"
