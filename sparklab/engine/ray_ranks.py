# ruff: noqa: E501 - the lines of real logs are as long as they are
"""The workers that joined the Ray head, as the engine sees them."""

import os
import threading
import time

from sparklab.engine import coordinator, log
from sparklab.engine.log import Voices
from sparklab.engine.ranks import Ranks
from sparklab.engine.settings import Settings, StartError
from sparklab.layout import Node

NOTICE_SECONDS = 1.5
REPORT_AFTER = (10, 20, 40)
MOST_WAIT = 1800.0
LOOK_EVERY = 0.3


class RayRanks(Ranks):
    """The coordinator says when a worker has gone."""

    obituary = "RuntimeError: cancelled"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.channel: coordinator.Channel | None = None
        self.members: list[dict[str, str]] = []

    def nodes(self) -> list[Node]:
        own = self.settings.node
        return [own, *(Node(member["node"]) for member in self.members if member["node"] != own.directory)]

    def crashed(self) -> tuple[str, str] | None:
        """The engine tells of all ranks; those on other nodes have no log of their own."""
        gone = [rank for rank, node in enumerate(self.nodes()) if node.fault("crash-while-loading")]
        return _gone(gone) if gone else None

    def addresses(self) -> list[str]:
        return [member["ip"] for member in self.members]

    def meet(self, voices: Voices) -> None:
        address = os.environ.get("RAY_ADDRESS", "")
        stamp = time.strftime("%Y-%m-%d %H:%M:%S,000")
        if not address:
            log.write(
                f"{stamp}\tINFO worker.py:1841 -- No existing RAY instance detected. A new instance will be launched with current node resources."
            )
            self._wait_for_ever(voices)
        log.write(
            f"{stamp}\tINFO worker.py:1691 -- Using address {address} set in the environment variable RAY_ADDRESS"
        )
        log.write(f"{stamp}\tINFO worker.py:1841 -- Connecting to existing Ray cluster at address: {address}...")
        self.channel = coordinator.connect(address)
        if self.channel is None:
            raise StartError(f"ConnectionError: ray.init() failed: could not connect to Ray at {address}")
        log.write(f"{stamp}\tINFO worker.py:2029 -- Connected to Ray cluster.")
        voices.core.info("ray_utils.py:607", "No current placement group found. Creating a new placement group.")
        self._wait_for_gpus(voices)
        self.channel.send({"do": "reserve", "gpus": self.settings.gpus, "utilization": self.settings.utilization})
        threading.Thread(target=self._listen, daemon=True).start()
        for rank, member in enumerate(self.members):
            self._joined(voices, rank, member)

    def _joined(self, voices: Voices, rank: int, member: dict[str, str]) -> None:
        head = f"\x1b[36m(RayWorkerProc pid={os.getpid() + 2 + rank}, ip={member['ip']})\x1b[0m "
        speaker = log.Speaker("Worker", 2 + rank, head if rank else voices.worker.head.split("(W")[0])
        world = self.settings.gpus
        master = os.environ.get("VLLM_HOST_IP", member["ip"])
        speaker.info(
            "parallel_state.py:1906",
            f"world_size={world} rank={rank} local_rank=0 distributed_init_method=tcp://{master}:46693 backend=nccl",
        )
        self.assigned(speaker, rank)

    def _wait_for_gpus(self, voices: Voices) -> None:
        assert self.channel
        began, reports = time.monotonic(), 0
        while True:
            answer = self.channel.ask({"do": "list"})
            self.members = answer["nodes"] if answer else []
            wanted = os.environ.get("VLLM_HOST_IP", "")
            known = not wanted or wanted in [member["ip"] for member in self.members]
            if len(self.members) >= self.settings.gpus and known:
                return
            waited = time.monotonic() - began
            if waited < LOOK_EVERY:
                voices.core.warning(
                    "ray_utils.py:613",
                    "The number of required GPUs exceeds the total number of available GPUs in the placement group.",
                )
            if waited >= self.settings.node.seconds(sum(REPORT_AFTER[: reports + 1])):
                reports = self._report(voices, reports)
            if waited > MOST_WAIT:
                raise StartError(
                    f"ValueError: Cannot provide a placement group requiring {self.settings.gpus} GPUs (placement_group_specs="
                    f"{self._specs()}) within 1800 seconds. Tensor parallel size may exceed available GPUs in your cluster."
                )
            time.sleep(LOOK_EVERY)

    def _specs(self) -> str:
        return str([{"GPU": 1.0}] * self.settings.gpus)

    def _report(self, voices: Voices, reports: int) -> int:
        passed = sum(REPORT_AFTER[: reports + 1])
        voices.core.info(
            "ray_utils.py:467",
            f"Waiting for creating a placement group of specs for {passed} seconds. specs={self._specs()}. Check `ray status` and `ray list "
            "nodes` to see if you have enough resources, and make sure the IP addresses used by ray cluster are the same as VLLM_HOST_IP "
            "environment variable specified in each node if you are running on a multi-node.",
        )
        return reports + 1

    def _wait_for_ever(self, voices: Voices) -> None:
        reports = 0
        while True:
            time.sleep(self.settings.node.seconds(REPORT_AFTER[min(reports, 2)]))
            reports = self._report(voices, reports)

    def _listen(self) -> None:
        """A member that leaves, or a head that goes: noticed after a moment, as heartbeats are."""
        assert self.channel
        for message in self.channel.messages():
            if "left" in message:
                break
        self.lose(NOTICE_SECONDS)

    def announce(self, voices: Voices) -> None:
        log.write(
            "\x1b[33m(raylet)\x1b[0m Raylet is terminated. Termination is unexpected. Possible reasons include: (1) SIGKILL by the user or "
            "system OOM killer, (2) Invalid memory access from Raylet causing SIGSEGV or SIGBUS, (3) Other termination signals."
        )
        voices.core.error(*_gone([1]))
        voices.core.error(
            "core.py:1512",
            "EngineCore encountered a fatal error.\nTraceback (most recent call last):\nRuntimeError: cancelled",
        )

    def close(self) -> None:
        super().close()
        if self.channel:
            self.channel.close()


def _gone(ranks: list[int]) -> tuple[str, str]:
    return "ray_executor_v2.py:522", f"RayWorkerProc rank={ranks} died unexpectedly, shutting down executor."
