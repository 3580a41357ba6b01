"""Switching faults on and off: a file each, and for some an effect at once."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sparklab import files, processes
from sparklab.daemon.host import Host
from sparklab.errors import LabError
from sparklab.faults import CABLES, ONE_SHOT
from sparklab.tools import repairs
from sparklab.tree import ailments, drops, etc, memory, models, netplan, network

REBOOT_SECONDS = 1.0
ENGINE = "SPARKLAB_ENGINE=1"
HELD = 90 * memory.KB_PER_GIB
STRANGER = "open-webui"
STRANGE = ("run", "-d", "--gpus", "all", "--name", STRANGER, "--entrypoint", "sleep", "vllm-node:latest", "86400")
ASIDE = ".aside"


class Trouble:
    """Faults of one node; `hosts` are all nodes of the lab."""

    def __init__(self, host: Host, hosts: Mapping[str, Host]) -> None:
        self.host = host
        self.node = host.node
        self.hosts = hosts

    async def switch(self, kind: str, off: bool, after: int) -> None:
        path = Path(self.node.path("faults", kind))
        if off:
            path.unlink(missing_ok=True)
        elif kind not in ONE_SHOT:
            files.write(path, str(after) if after else "")
        self.host.log("fault", kind=kind, off=off)
        try:
            await self._effect(kind, off)
            drops.publish(self.node, kind, off)
        except LabError:
            path.unlink(missing_ok=True)
            raise
        for name in (self.node.name, *self._ends()):
            network.publish(self.hosts[name].node)
        ailments.publish(self.node)
        memory.change(self.node)

    async def _replug(self) -> None:
        """Begin or end the links of this node and of those at the other ends of its cables."""
        for host in (self.host, *(self.hosts[name] for name in self._ends())):
            await host.refresh()
            host.drop(*host.node.fabric)

    def _ends(self) -> list[str]:
        """The nodes at the other ends of its cables."""
        return sorted({port["other"] for port in self.node.ports.values() if port["other"]})

    async def _effect(self, kind: str, off: bool) -> None:
        match kind:
            case "unreachable" | "bad-host-key" | "node-hangs":
                await self.host.refresh()
                self.host.drop()
            case "reboot" if not off:
                await self._reboot()
            case "engine-killed" if not off:
                await asyncio.to_thread(self._signal_engine, signal.SIGKILL)
            case "engine-frozen":
                await asyncio.to_thread(self._signal_engine, signal.SIGCONT if off else signal.SIGSTOP)
            case _ if kind in CABLES:
                await self._replug()
            case "page-cache-full":
                memory.change(self.node, cached=memory.CACHE_AFTER_BOOT if off else memory.CACHE_FULL)
            case "no-model":
                self._move_models(away=not off)
            case "gpu-held":
                memory.change(self.node, used={"somebody": 0 if off else HELD})
            case "gpu-stranger":
                await asyncio.to_thread(self._stranger, off)
            case "port-taken":
                await self.host.squat(off)
            case "disk-full" | "disk-low" if not off:
                files.write(self.node.path(models.WHEN_FULL), str(models.size(self.node)))
            case "model-torn":
                self._tear(off)

    def _signal_engine(self, number: int) -> None:
        """Signal `vllm serve` on this node, or the Ray worker in a container without one."""
        found = [
            p for p in processes.family([f"SPARKLAB_NODE={self.node.directory}"]) if processes.carries(p.pid, [ENGINE])
        ]
        processes.send(found, number)

    def _stranger(self, off: bool) -> None:
        """Remove somebody's container, and start it anew: one that was stopped has its name."""
        self._run("docker", "rm", "-f", STRANGER)
        if not off:
            self._run("docker", *STRANGE)

    def _tear(self, off: bool) -> None:
        """Hide the content of the first shard of each model, or bring it back."""
        for shard in models.hub(self.node).glob("*/snapshots/*/*-00001-of-*.safetensors"):
            here = os.path.realpath(shard)
            gone, come = (here + ASIDE, here) if off else (here, here + ASIDE)
            if os.path.exists(gone) and not os.path.exists(come):
                os.rename(gone, come)

    def _move_models(self, away: bool) -> None:
        here, aside = models.hub(self.node), Path(self.node.path("models-aside"))
        if away and here.exists() and not aside.exists():
            os.rename(here, aside)
            here.mkdir()
        elif not away and aside.exists():
            shutil.rmtree(here, ignore_errors=True)
            os.rename(aside, here)

    async def _reboot(self) -> None:
        """Power off and on: all processes end, /run is emptied, containers restart by their policy."""
        if self.host.down:
            return
        self.host.down = True
        await self.host.refresh()
        self.host.drop()
        await asyncio.to_thread(processes.end, [f"SPARKLAB_NODE={self.node.directory}"])
        memory.reset(self.node)
        for kind in repairs.at_boot(self.node):
            await self.switch(kind, off=True, after=0)
        for left in ("lock", "netplan", "sparkops"):
            shutil.rmtree(self.node.root("run", left), ignore_errors=True)
        netplan.apply(self.node)
        network.publish(self.node)
        os.makedirs(self.node.root("run", "lock"))
        for path, text in etc.volatile().items():
            files.write(self.node.root(path), text)
        for name in filter(str.isdigit, os.listdir(self.node.root("proc"))):
            shutil.rmtree(self.node.root("proc", name), ignore_errors=True)
        await asyncio.sleep(self.node.seconds(REBOOT_SECONDS))
        self.host.down = False
        self.host.log("boot")
        await self.host.refresh()
        await asyncio.to_thread(self._run, "dockerd")

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [self.node.path("bin", program), *words],
            env=self.host.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
