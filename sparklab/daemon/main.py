"""The lab's process: starts every node's sshd, serves the control socket."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from sparklab import files
from sparklab.daemon import modelhub
from sparklab.daemon.answers import Answers
from sparklab.daemon.host import Host
from sparklab.daemon.trouble import Trouble
from sparklab.errors import LabError
from sparklab.layout import Node
from sparklab.tree import network

LISTEN_AT_ONCE = 16


class Daemon:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.record: dict[str, Any] = files.read_json(directory / "lab.json")
        records = str(directory / "processes.jsonl")
        nodes = (Node(directory / "nodes" / f"node{number}") for number in range(1, self.record["count"] + 1))
        self.answers = Answers(directory / "nodes", self.record["octet"])
        self.hosts = {node.name: Host(node, records, self.answers.where) for node in nodes}
        self.done = asyncio.Event()

    async def run(self) -> None:
        hosts = list(self.hosts.values())
        for first in range(0, len(hosts), LISTEN_AT_ONCE):
            await asyncio.gather(*(host.refresh() for host in hosts[first : first + LISTEN_AT_ONCE]))
        hub = await modelhub.serve(self.record["octet"])
        answers = await self.answers.serve()
        control = os.path.join(self.record["short"], "control")
        await asyncio.start_unix_server(self._serve, f"{control}.new")
        os.rename(f"{control}.new", control)  # it is there once it answers
        await self.done.wait()
        hub.close()
        answers.close()
        for host in hosts:
            host.close()
            host.drop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answer(json.loads(await reader.readline()))
        except LabError as error:
            answer = {"error": error.message, "hint": error.hint}
        except (ValueError, KeyError) as error:
            answer = {"error": f"the daemon of the lab cannot read this request: {error!r}"}
        writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "status":
                return self._status(request["reset"])
            case "fault":
                host = self.hosts[request["node"]]
                await Trouble(host, self.hosts).switch(request["kind"], request["off"], request.get("after", 0))
                return {"ok": True}
            case "network":
                host = self.hosts[request["node"]]
                await host.refresh()
                network.publish(host.node)
                return {"ok": True}
        raise KeyError(request["do"])

    def _status(self, reset: bool) -> dict[str, Any]:
        rows = []
        for name, host in self.hosts.items():
            rows.append(
                {
                    "name": name,
                    "address": host.node.address,
                    "port": host.node.record["port"],
                    "connections": host.connections,
                    "commands": host.commands,
                    "faults": sorted(os.listdir(host.node.path("faults"))),
                }
            )
            if reset:
                host.connections = host.commands = 0
        return {"nodes": rows}


async def main(directory: Path) -> None:
    daemon = Daemon(directory)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.done.set)
    await daemon.run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
