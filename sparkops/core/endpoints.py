"""Where a deployment is asked: the addresses of its APIs, and what stands in front of independent servers."""

from typing import Protocol

PROXY_IMAGE = "ghcr.io/berriai/litellm:main-stable"
PROXY_PORT = 4000

HEALTH = "/health"
PROXY_HEALTH = "/health/liveliness"


class ApiPlace(Protocol):
    """What a member has, stored or wanted."""

    @property
    def address(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def port(self) -> int | None: ...


def api_url(place: ApiPlace) -> str:
    """Nodes ask their own engine at the address that clients use."""
    host = f"[{place.address}]" if ":" in place.address else place.address
    return f"http://{host}:{place.port}"


def health_path(role: str) -> str:
    return PROXY_HEALTH if role == "proxy" else HEALTH


def health_url(place: ApiPlace) -> str:
    return f"{api_url(place)}{health_path(place.role)}"
