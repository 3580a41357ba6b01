"""The endpoint of a fleet: its words, and the routes that it follows. `sparkops/node/gateway.py` is its program."""

import json
from collections.abc import Sequence

from sparkops.core.endpoints import api_url, health_url
from sparkops.core.fleet.routes import ModelRoute
from sparkops.core.plan import Script, Word
from sparkops.core.revision import Member

CONFIG = "routes.json"
KEYS = "keys"
"""The folder with the API keys of the deployments, each in a file of its own."""

PEOPLE_IN_CONTAINER = "/var/lib/sparkops-people"
BORROWED_IN_CONTAINER = "/opt/node/usr"
"""The node's own programs, of which its SSH client is used: images have none."""


def words(member: Member) -> tuple[Word, ...]:
    """The entry script's arguments."""
    return ("proxy", "--health", health_url(member), "--", Script("gateway"), "--port", str(member.port))


def config(routes: Sequence[ModelRoute]) -> str:
    """The routes as JSON; of keys it holds only digests."""
    return json.dumps({"version": 1, "routes": {one.name: _route(one) for one in routes}}, indent=1)


def _route(route: ModelRoute) -> dict[str, object]:
    servers = [
        {"deployment": one.deployment, "node": one.place.name, "url": api_url(one.place), "key": one.key}
        | ({"served": one.served} if one.served else {})
        for one in route.servers
    ]
    return {"served": route.served, "kind": route.kind, "servers": servers}
