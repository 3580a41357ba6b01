"""The user's access to the model hub: endpoint, token, proxies."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """How the hub is asked. `proxies` are this machine's variables; a node's own come before them."""

    token: str | None = field(default=None, repr=False)
    endpoint: str | None = None
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    encodings: str | None = None
