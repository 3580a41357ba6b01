"""The other ranks of an engine; here: none. `ray_ranks` and `mp_ranks` have some."""

import threading
import time

from sparklab.engine.log import Speaker, Voices
from sparklab.engine.settings import Settings, StartError
from sparklab.layout import Node


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
        self.assigned(voices.worker, self.settings.rank)

    def assigned(self, speaker: Speaker, rank: int) -> None:
        """The log line of a rank that has its place."""
        place = f"DP rank 0, PP rank 0, PCP rank 0, TP rank {rank}, EP rank N/A"
        text = f"rank {rank} in world size {self.settings.world} is assigned as {place}"
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
