"""What the page gets: the newest picture, and then of each node and deployment only what changed since."""

import json
import threading
from typing import Any

from sparkops.core.printable import all_printable
from sparkops.core.watch.alerts import AlertKey
from sparkops.core.watch.document import alert, of_deployment, of_node
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture
from sparkops.remote.network import network


class PageHub:
    """One thread shows pictures, another asks. Nothing is written as JSON that nobody asks for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown = self._told = Picture()
        self._number = 0
        self._parts: dict[str, tuple[int, str]] = {}
        self._nodes: dict[str, tuple[WatchedNode, str]] = {}
        self._began: dict[tuple[AlertKey, float], int] = {}
        self.clients = 0

    def show(self, shown: Picture) -> None:
        self._shown = shown

    def has(self, deployment: str) -> bool:
        """Whether a deployment of this name is shown."""
        return any(one.name == deployment for one in self._shown.deployments)

    def runs(self, node: str, container: str) -> bool:
        """Whether a container of this name is on a node of this watch."""
        return any(
            rank.node.name == node and rank.container == container
            for one in self._shown.deployments
            for rank in one.ranks
        )

    def since(self, number: int) -> tuple[int, str]:
        """The number of the newest state, and as JSON what changed after `number`; an empty text if nothing did."""
        with self._lock:
            if self._shown is not self._told:
                self._tell(self._shown)
            changed = [f"{json.dumps(key)}: {text}" for key, (at, text) in self._parts.items() if at > number]
            return self._number, f"{{{', '.join(changed)}}}" if changed else ""

    def _tell(self, shown: Picture) -> None:
        self._told = shown
        texts = {f"node/{name}": self._node(node) for name, node in shown.nodes.items()}
        texts |= {f"deployment/{one.stored.hash}": _text(of_deployment(one)) for one in shown.deployments}
        texts |= {"order": _text([*texts]), "alerts": _text(self._alerts(shown))}
        self._number += 1
        before = self._parts
        self._parts = {
            key: before[key] if key in before and before[key][1] == text else (self._number, text)
            for key, text in texts.items()
        }

    def _alerts(self, shown: Picture) -> list[dict[str, Any]]:
        """`since` is the time of this machine's clock, found once for each, so that it does not waver."""
        clock = network().clock() - shown.now
        begins = [(one.key, shown.since.get(one.key, shown.now)) for one in shown.alerts]
        self._began = {one: self._began.get(one, round(clock + one[1])) for one in begins}
        return [{**alert(one), "since": self._began[at]} for one, at in zip(shown.alerts, begins, strict=True)]

    def _node(self, node: WatchedNode) -> str:
        """Made once for each frame."""
        told, text = self._nodes.get(node.name, (None, ""))
        if told is not node:
            text = _text(of_node(node))
            self._nodes[node.name] = node, text
        return text


def _text(document: Any) -> str:
    return json.dumps(all_printable(document), allow_nan=False)
