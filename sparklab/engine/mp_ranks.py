# ruff: noqa: E501 - the lines of real logs are as long as they are
"""`vllm serve --headless` on other nodes: they connect to rank 0 at the master address and stay connected.

As in vLLM, ranks wait for each other only for a time. Afterwards a lost rank is noticed at the next step, which an engine
that nobody asks does not take; a rank without an API takes none of its own, so it notices nothing.
"""

import contextlib
import os
import socket
import threading
import time

from sparklab.engine.log import Voices
from sparklab.engine.ranks import PeerDied, Ranks
from sparklab.engine.settings import Settings, StartError
from sparklab.layout import Node

NOTICE_SECONDS = 0.4
CONNECT_EVERY = 0.3
JOIN_SECONDS = 600


class MpRanks(Ranks):
    """torch.distributed over TCP."""

    obituary = "RuntimeError: Worker failed"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.master = (settings.given.get("master_addr", "127.0.0.1"), settings.given.get("master_port", 29501))
        self.sockets: list[socket.socket] = []
        self.peers: list[str] = []
        self.parted = threading.Event()

    def nodes(self) -> list[Node]:
        others = [node for node in self.settings.node.siblings() if set(self.peers) & {node.address, *node.fabric}]
        return [self.settings.node, *others]

    def addresses(self) -> list[str]:
        return self.peers

    def meet(self, voices: Voices) -> None:
        settings = self.settings
        where = f"tcp://{self.master[0]}:{self.master[1]}"
        world = (
            f"world_size={settings.gpus} rank={settings.rank} local_rank=0 distributed_init_method={where} backend=nccl"
        )
        voices.core.info(
            "multiproc_executor.py:153",
            f"DP group leader: node_rank={settings.rank}, master_addr={self.master[0]}, world_size={settings.world}",
        )
        voices.worker.info("parallel_state.py:1906", world)
        deadline = time.monotonic() + settings.node.seconds(JOIN_SECONDS)
        while settings.dp > 1 and settings.world > 1 and not settings.is_moe:
            time.sleep(CONNECT_EVERY)  # each copy waits for its own ranks where those of the first one meet
        if settings.rank == 0:
            self._gather(deadline)
        else:
            self._join(deadline)
        super().meet(voices)
        for peer in self.sockets:
            threading.Thread(target=self._listen, args=(peer,), daemon=True).start()

    def _gather(self, deadline: float) -> None:
        with socket.create_server(self.master) as server:
            while len(self.sockets) < self.settings.nnodes - 1:
                server.settimeout(max(deadline - time.monotonic(), 0.01))
                try:
                    peer, _ = server.accept()
                except TimeoutError as error:
                    joined = f"{len(self.sockets) + 1}/{self.settings.nnodes} clients joined."
                    text = f"Timed out after {JOIN_SECONDS + 1} seconds waiting for clients. {joined}"
                    raise StartError(f"torch.distributed.DistStoreError: {text}") from error
                self.peers.append(peer.recv(64).decode().strip())
                self.sockets.append(peer)
        for peer in self.sockets:
            peer.sendall(b"go\n")

    def _join(self, deadline: float) -> None:
        mine = os.environ.get("VLLM_HOST_IP") or self.settings.node.fabric[0]
        while time.monotonic() < deadline:
            if not self.settings.node.cut_off_from(self.master[0]):
                with contextlib.suppress(OSError):
                    link = socket.create_connection(self.master, timeout=5, source_address=(mine, 0))
                    link.settimeout(None)
                    link.sendall(mine.encode() + b"\n")
                    if link.recv(16):
                        self.sockets.append(link)
                        self.peers.append(self.master[0])
                        return
            time.sleep(CONNECT_EVERY)
        text = f"The client socket has timed out after {JOIN_SECONDS}000ms while trying to connect to {self.master}."
        raise StartError(f"torch.distributed.DistNetworkError: {text}")

    def _listen(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while peer.recv(64):
                pass
        self.parted.set()

    def check(self) -> None:
        """All ranks load in step."""
        if self.parted.is_set():
            raise PeerDied(self.obituary)
        super().check()

    def unnoticed(self) -> bool:
        if super().unnoticed():
            return True
        if self.parted.is_set():
            time.sleep(self.settings.node.seconds(NOTICE_SECONDS))
            self.lost.set()
        return self.parted.is_set()

    def announce(self, voices: Voices) -> None:
        other = self.peers[0] if self.peers else self.master[0]
        voices.core.error(
            "core.py:1512",
            "EngineCore encountered a fatal error.\nTraceback (most recent call last):\nRuntimeError: Worker failed with error "
            f"'[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [{other}]:1768: Connection reset by peer. "
            "This is typically caused by the remote process exiting'",
        )

    def close(self) -> None:
        super().close()
        for peer in self.sockets:
            peer.close()
