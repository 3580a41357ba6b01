"""The other ranks of an engine; here: none. `ray_ranks` and `mp_ranks` have some."""

import os
import threading
import time
from itertools import combinations

from sparklab.cables import SWITCH
from sparklab.engine.log import Speaker, Voices
from sparklab.engine.settings import Settings, StartError
from sparklab.layout import Node

EACH_CABLE = {"NCCL_NET_PLUGIN": "none", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_MERGE_NICS": "0"}
RING = {"NCCL_ALGO": "Ring", "NCCL_RUNTIME_CONNECT": "1"}
"""What NCCL needs to be told if each cable has subnets of its own, and if some nodes have no cable between them."""

UNCONNECTED = (
    "torch.distributed.DistBackendError: NCCL error: ncclRemoteError: A call failed possibly due to a network error.\n"
    "Last error:\nNET/IB: Got completion from peer with status=12: transport retry counter exceeded"
)


class PeerDied(StartError):
    """A rank has gone; the engine ends, before or after it serves."""


class Ranks:
    """One process alone: nothing to meet, nobody to lose."""

    obituary = "RuntimeError: Executor failed."

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lost = threading.Event()
        self.ending = False

    def meet(self, voices: Voices) -> None:
        self._connect()
        self.assigned(voices.worker, self.settings.rank)

    def _connect(self) -> None:
        """NCCL in a triangle or ring: it needs to be told, and then reaches neighbours only."""
        node = self.settings.node
        kind = node.record.get("fabric", SWITCH)
        needed = {**EACH_CABLE, **(RING if kind == "ring" else {})} if kind in ("triangle", "ring") else {}
        lacking = [name for name, value in needed.items() if os.environ.get(name) != value]
        if len(self.nodes()) > 2 and (lacking or (kind == "ring" and self.settings.tp != self.settings.gpus)):
            raise StartError(UNCONNECTED)

    def assigned(self, speaker: Speaker, rank: int) -> None:
        """The log line of a rank that has its place."""
        settings = self.settings
        copy, within = divmod(rank, settings.world)
        stage, part = divmod(within, settings.tp)
        place = f"DP rank {copy}, PP rank {stage}, PCP rank 0, TP rank {part}, EP rank N/A"
        text = f"rank {rank} in world size {settings.gpus} is assigned as {place}"
        speaker.info("parallel_state.py:2350", text)

    def nodes(self) -> list[Node]:
        return [self.settings.node]

    def addresses(self) -> list[str]:
        """Where the other ranks are reached."""
        return []

    def crashed(self) -> tuple[str, str] | None:
        """Where vLLM says that a worker process was killed, and what; other nodes tell of their own."""
        if not self.settings.node.fault("crash-while-loading"):
            return None
        name = f"Worker proc VllmWorker-{self.settings.rank}"
        return "multiproc_executor.py:267", f"{name} died unexpectedly (exit code: -9), shutting down executor."

    def unnoticed(self) -> bool:
        """A peer that died without a sign, or a link that went: requests hang, /health stays green."""
        nodes = self.nodes()
        link = any(self.settings.node.cut_off_from(address) for address in self.addresses())
        link = link or any(one.parted_from(other) for one, other in combinations(nodes, 2))
        frozen = any(node.fault("engine-frozen") for node in nodes[1:])
        return link or frozen or any(node.fault("peer-dead-health-green") for node in nodes)

    def graphs_hang(self) -> bool:
        """The first step replays graphs across nodes and never ends."""
        settings = self.settings
        across = settings.tp > 1 and (settings.executor == "ray" or settings.nnodes > 1)
        return across and not settings.eager and any(node.fault("graphs-hang") for node in self.nodes())

    def check(self) -> None:
        if self.lost.is_set():
            raise PeerDied(self.obituary)

    def lose(self, notice: float) -> None:
        """A peer has gone; noticed after so many seconds, if at all."""
        if not self.ending and not self.unnoticed():
            time.sleep(self.settings.node.seconds(notice))
            self.lost.set()

    def announce(self, voices: Voices) -> None:
        """The lines of an engine whose peer has died."""

    def close(self) -> None:
        self.ending = True
