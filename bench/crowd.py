"""A crowd of embedded lab nodes, one in twenty of them faulty: does `preflight` name them all, and what does it cost?

    python bench/crowd.py --nodes 500

Prints what was missed and what was said of healthy nodes (both should be nothing), seconds, and the tool's memory.
Wants 1.5 MB of disk and a few seconds of CPU a node, all of them on this machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FAULTS = {
    "page-cache-full": "page-cache",
    "node-hangs": "ssh",
    "garbage": "ssh",
    "unreachable": "ssh",
    "gpu-hangs": "driver",
    "gpu-wedged": "gpu-clock",
    "gpu-held": "memory-fits",
    "no-toolkit": "gpu-in-container",
    "driver-updated": "driver",
    "driver-differs": "driver-same",
    "kernel-differs": "kernel-same",
    "cloned": "machines-differ",
    "swap-used": "swap",
    "no-earlyoom": "earlyoom",
    "disk-low": "disk-room",
    "clock-skew": "clock-skew",
    "reboot-pending": "reboot-pending",
    "image-differs": "image-same",
    "model-torn": "model-present",
    "no-cable": "cx7-usable",
    "twin-without-ipv4": "cx7-addresses",
    "link-100g": "cx7-speed",
    "small-mtu": "cx7-mtu",
    "rdma-down": "cx7-rdma",
    "no-docker-group": "docker-usable",
}
EVERY = 20
BAD = ("warn", "fail")
SPARKOPS = (sys.executable, "-m", "sparkops")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=500)
    nodes = parser.parse_args().nodes
    with tempfile.TemporaryDirectory(prefix="crowd-") as scratch:
        os.environ |= {"SPARKOPS_LAB_DIR": f"{scratch}/lab", "XDG_STATE_HOME": f"{scratch}/state"}
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        timed("lab up", "lab", "up", "--nodes", str(nodes), "--ray", "emulated")
        try:
            return judge(nodes)
        finally:
            timed("lab down", "lab", "down")


def judge(nodes: int) -> int:
    faulty = dict(zip((f"node{n}" for n in range(7, nodes + 1, EVERY)), [*FAULTS] * nodes, strict=False))
    for name, fault in faulty.items():
        subprocess.run([*SPARKOPS, "lab", "fault", name, fault], check=True, stdout=subprocess.DEVNULL)
    document = json.loads(timed("preflight", "-i", "lab", "preflight", "--json"))
    missed = {name: fault for name, fault in faulty.items() if not told(document, name, FAULTS[fault])}
    wrong = {
        node["name"]: [check["id"] for check in node["checks"] if check["status"] in BAD]
        for node in document["nodes"]
        if node["verdict"] in BAD and node["name"] not in faulty
    }
    print(
        f"{len(faulty)} of {nodes} nodes are faulty; missed: {missed or 'none'}; healthy but blamed: {wrong or 'none'}"
    )
    return 1 if missed or wrong else 0


def told(document: dict[str, Any], name: str, check: str) -> bool:
    """Of the node itself, or of all nodes together with its name."""
    own = next(node["checks"] for node in document["nodes"] if node["name"] == name)
    whole = [one for one in document["cluster"] if name in one["message"] + one["evidence"]]
    return any(one["id"] == check and one["status"] in BAD for one in (*own, *whole))


def timed(what: str, *words: str) -> str:
    with tempfile.TemporaryFile("w+") as out:
        begun = time.perf_counter()
        process = subprocess.Popen([*SPARKOPS, *words], stdout=out)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        wall, cpu = time.perf_counter() - begun, used.ru_utime + used.ru_stime
        print(f"{what}: {wall:.1f} s, {cpu:.1f} s of CPU, {used.ru_maxrss / 1024:.0f} MiB", flush=True)
        out.seek(0)
        return out.read()


if __name__ == "__main__":
    sys.exit(main())
