"""With the real Ray two loopback addresses are two nodes with a GPU each."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from pathlib import Path

import pytest

from sparkops.lab import api, files, processes
from support import serving

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def test_a_real_head_and_a_real_worker_form_a_cluster_and_vanish(lab, tmp_path, eventually):
    place = tmp_path / "real"
    api.up(2, directory=place, ray="real")
    own = type(lab)(place)
    try:
        head, worker = own.connect(1), own.connect(2)
        fabric = [client.run("hostname -I").out.split()[1] for client in (head, worker)]
        options = "--num-gpus=1 --num-cpus=2 --object-store-memory=1000000000 --disable-usage-stats"
        start = f"ray start --head --node-ip-address={fabric[0]} --port=6379 --include-dashboard=false {options}"
        serving.run(head, "e", serving.STOCK, ["sh", "-c", f"{start} && sleep 600"])
        eventually(lambda: "ray status" in serving.log(head), 120)
        join = f"ray start --address={fabric[0]}:6379 --node-ip-address={fabric[1]} {options} --block"
        serving.run(worker, "e", serving.STOCK, join.split())
        eventually(lambda: "Ray runtime started" in serving.log(worker), 120)
        status = ("exec", "e", "timeout", "60", "ray", "status")  # refreshed every few seconds
        eventually(lambda: formed(head.docker(*status).out))
        assert listeners(place)
        assert all(address.endswith("7F") for address in listeners(place)), "loopback is 127.x.y.z, written backwards"
        worker.docker("rm", "-f", "e")
        head.docker("rm", "-f", "e")
    finally:
        for client in own.clients:
            client.ssh.close()
        api.down(directory=place)
    leftovers = [path for path in Path("/proc").glob("[0-9]*/environ") if str(place).encode() in _read(path)]
    assert leftovers == []


def formed(said):
    """What `ray status` says of two nodes with a GPU each."""
    return said.count("\n 1 node_") == 2 and "0.0/2.0 GPU" in said


def listeners(place):
    """The addresses, as the kernel prints them, at which any process of this lab listens."""
    marker = f"SPARKLAB_LAB={files.read_json(place / 'lab.json')['id']}"
    ours = {target for process in processes.family([marker]) for target in _open(process.pid)}
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours}


def _open(pid):
    """What a process has open just now; nothing of one that has ended."""
    with contextlib.suppress(OSError):
        for handle in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                yield os.readlink(f"/proc/{pid}/fd/{handle}")


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
