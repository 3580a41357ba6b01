"""Which servers answer to a model name, and with which key."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sparkops.node.gatewayfiles import load
from sparkops.node.gatewaykeys import digest_of

ASIDE = 5.0
"""Seconds for which a server that failed is asked last."""


@dataclass(frozen=True)
class Server:
    """A copy of a deployment, which knows the model as `served`.

    `opened_by` is the digest of the deployment's own key, empty if it needs none.
    """

    deployment: str
    node: str
    url: str
    opened_by: str
    served: str


@dataclass(frozen=True)
class NamedRoute:
    """A model name of clients; its servers know the model as `served`. `kind`: chat, embedding or score.

    Without `served` it means whichever of its deployments is loaded.
    """

    name: str
    served: str
    kind: str
    servers: tuple[Server, ...]

    def opened_by(self, digest: str) -> bool:
        """Whether this key of a deployment opens it; no key needs to, if none is needed."""
        return any(one.opened_by in ("", digest) for one in self.servers)


def routes(path: str) -> dict[str, NamedRoute]:
    """The entries of `routes.json` by model name; raises where it is not what sparkops wrote."""
    found = {}
    for name, entry in load(path)["routes"].items():
        servers = tuple(_server(one, entry["served"]) for one in entry["servers"])
        found[name] = NamedRoute(name, entry["served"], entry["kind"], servers)
    return found


def _server(entry: dict[str, str], served: str) -> Server:
    return Server(entry["deployment"], entry["node"], entry["url"], entry["key"], entry.get("served", served))


class Chooser:
    """Spreads requests over the servers of a route at random, which no published comparison beats for 2x-solo."""

    def __init__(self) -> None:
        self.failed: dict[str, float] = {}

    def order(self, servers: Iterable[Server]) -> list[Server]:
        """Whom to ask, one after the other."""
        found = [*servers]
        random.shuffle(found)
        return sorted(found, key=self.failed_lately)

    def failed_lately(self, server: Server) -> bool:
        return time.monotonic() - self.failed.get(server.url, -ASIDE) < ASIDE

    def fails(self, server: Server) -> None:
        self.failed[server.url] = time.monotonic()


def engine_keys(folder: str) -> dict[str, str]:
    """The deployments' own keys by digest; each is the content of a file."""
    found = {}
    for name in (one for one in os.listdir(folder) if ".new." not in one):  # those are being written
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            key = file.read().strip()
        found[digest_of(key)] = key
    return found
