"""Deployments on demand before the endpoint's program: a small `ssh` in its PATH, and a file for each container."""

import json
from pathlib import Path
from typing import Any

from sparkops.core.fleet.routes import ModelRoute, RoutedServer
from sparkops.core.revision import Member
from sparkops.node_commands import gateway
from support.front import OWN, Engine, Front, digest

SSH = """#!/bin/sh
# The node is the last word but one; each has a folder with its containers.
for word; do asked=$last last=$word; done
cd "$NODES/$asked" 2>/dev/null || { echo "ssh: connect to host $asked: No route to host" >&2; exit 255; }
[ ! -e fails ] || { cat fails >&2; exit 1; }
case $last in
    look)
        echo "memory $(cat memory)"
        for name in *.state; do [ ! -e "$name" ] || echo "${name%.state} $(cat "$name")"; done
        ;;
    'start '*) cat begins 2>/dev/null >"${last#start }.state" || echo running 0 >"${last#start }.state" ;;
    'stop '*) echo exited 0 >"${last#stop }.state" ;;
esac
echo "$asked $last" >>"$NODES/log"
"""
GIB = 1 << 20


class Sleepers:
    """A fleet on one node with deployments on demand, of which each takes 60 of 100 GiB, and a person `anna`."""

    def __init__(self, root: Path, *names: str, **about: Any) -> None:
        self.root, self.names = root, names
        self.nodes = root / "nodes"
        self.node = self.nodes / "10.0.0.1"
        self.node.mkdir(parents=True)
        (self.node / "memory").write_text(str(100 * GIB))
        (root / "bin").mkdir()
        (root / "bin/ssh").write_text(SSH.replace("$NODES", str(self.nodes)))
        (root / "bin/ssh").chmod(0o755)
        self.engines = {name: Engine(container=self.node / f"c-{name}.state") for name in names}
        for name in names:
            self.put(name, "exited 0")
        self.front = Front(root, self.engines[names[0]])
        (self.front.routes / "ondemand").mkdir()
        servers = {
            name: RoutedServer(name, Member("spark1", "127.0.0.1", "server", 0, one.port), digest(OWN))
            for name, one in self.engines.items()
        }
        named = [ModelRoute(name, f"org/{name}", "chat", (one,)) for name, one in servers.items()]
        named.append(
            ModelRoute("auto", "", "chat", tuple(it._replace(served=f"org/{name}") for name, it in servers.items()))
        )
        (self.front.routes / gateway.CONFIG).write_text(gateway.config(named))
        self.write(**about)
        self.front.keys(anna={}, bert={})

    def write(self, *names: str, **about: Any) -> None:
        """`on-demand.json` for these deployments; without names, for all."""
        usual = {
            "needs": {"spark1": 60 * GIB},
            "requests": {"spark1": 60 * GIB},
            "alongside": False,
            "idle": 600.0,
            "priority": 0,
            "stay": 1.0,
            **about,
        }
        deployments = {
            name: {
                **usual,
                "containers": [["spark1", f"c-{name}"]],
                "health": [f"http://127.0.0.1:{self.engines[name].port}/health"],
            }
            for name in names or self.names
        }
        node = {"user": "spark", "address": "10.0.0.1", "port": 22, "bind": None, "kib": 100 * GIB, "owned": False}
        text = json.dumps({"version": 1, "nodes": {"spark1": node}, "deployments": deployments})
        place = self.front.routes / "ondemand/on-demand.json"
        place.with_suffix(".new").write_text(text)
        place.with_suffix(".new").replace(place)

    def put(self, name: str, state: str) -> None:
        (self.node / f"c-{name}.state").write_text(f"{state}\n")

    def state(self, name: str) -> str:
        return (self.node / f"c-{name}.state").read_text().split()[0]

    @property
    def acts(self) -> list[str]:
        """What was started and stopped, in order."""
        log = self.nodes / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.partition(" ")[2].replace("c-", "") for line in lines if not line.endswith(" look")]

    def end(self) -> None:
        self.front.end()
        for one in self.engines.values():
            one.end()
