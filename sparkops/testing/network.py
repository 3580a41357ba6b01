"""The network of simulated nodes: one world for all runs, endpoints that answer like their engines."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from sparkops.core.inventory import Node
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.ssh import Options
from sparkops.remote.trust import SeenHostKey
from sparkops.testing.node import EPOCH
from sparkops.testing.world import SimulatedWorld


class SimulatedNetwork:
    """`firewalled` has the addresses of nodes whose endpoints this machine cannot reach."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.firewalled: set[str] = set()

    def fleet(self, nodes: Iterable[Node], options: Options) -> SimulatedWorld:
        self.world.open(options.secrets)
        return self.world

    def host_keys(self, options: Options) -> Callable[[Node], SeenHostKey]:
        return self._host_key

    def _host_key(self, node: Node) -> SeenHostKey:
        if node.address not in self.world.by_address:
            raise Unreached(node.name, "timeout", f"no answer from {node.address} port {node.port}")
        key = hashlib.sha256(node.address.encode())
        text = b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + key.digest()).decode()
        shown = b64encode(hashlib.sha256(key.digest()).digest()).decode().rstrip("=")
        return SeenHostKey(node.address, node.port, "ssh-ed25519", text, f"SHA256:{shown}")

    def get(self, url: str, key: str | None = None) -> str:
        parts = urlsplit(url)
        node = self.world.by_address.get(parts.hostname or "")
        port = parts.port or 80
        if node is None or parts.hostname in self.firewalled:
            raise OSError("timed out")
        one = node.listening(port)
        if one is None or not node.serves(port):
            raise OSError("[Errno 111] Connection refused")
        if parts.path == "/metrics":
            return "vllm:num_requests_running 0.0\n"
        if one.key is not None and (key or "") != one.key.strip():
            raise OSError("HTTP 401")
        return json.dumps({"object": "list", "data": []})

    def clock(self) -> float:
        return EPOCH + self.world.now()
