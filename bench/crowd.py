"""A crowd of embedded lab nodes with all kinds of cabling, one in twenty faulty: is each fault named, at what cost?

    python bench/crowd.py --nodes 500

Runs `preflight`, `fabric`, `facts` and `status`. Prints what was missed and what was said of healthy nodes (both should
be nothing), seconds, the tool's memory, and how often it connected to a node (once). Wants 1.5 MB of disk and a few
seconds of CPU a node, all of them on this machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FAULTS = {
    "page-cache-full": "page-cache",
    "node-hangs": "ssh",
    "cable-pulled": "cx7-cabling",
    "garbage": "ssh",
    "cables-exchanged": "cx7-cabling",
    "unreachable": "ssh",
    "gpu-hangs": "driver",
    "gpu-wedged": "gpu-clock",
    "gpu-held": "memory-fits",
    "no-toolkit": "gpu-in-container",
    "driver-updated": "driver",
    "swap-used": "swap",
    "no-earlyoom": "earlyoom",
    "disk-low": "disk-room",
    "clock-skew": "clock-skew",
    "reboot-pending": "reboot-pending",
    "model-torn": "model-present",
    "no-cable": "cx7-usable",
    "twin-without-ipv4": "cx7-addresses",
    "link-100g": "cx7-speed",
    "small-mtu": "cx7-mtu",
    "rdma-down": "cx7-rdma",
    "subnet-differs": "cx7-one-network",
    "cloned": "machines-differ",
    "no-docker-group": "docker-usable",
}
"""By fault, the check that names it: one of `preflight`, or, as its name begins with cx7-, one of `fabric`."""

SILENT = ("node-hangs", "garbage", "unreachable")
UNKNOWN = (*SILENT, "no-docker-group")
"""What such nodes run cannot be read."""

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
        timed("lab up", "lab", "up", "--nodes", str(nodes), "--ray", "emulated", "--fabric", "mixed")
        try:
            wrong = list(judge(nodes, Path(scratch) / "lab"))
        finally:
            timed("lab down", "lab", "down")
    print(*(wrong or ["every fault was found, no healthy node was blamed"]), sep="\n")
    return 1 if wrong else 0


def judge(nodes: int, lab: Path) -> Iterator[str]:
    """What went wrong, one line each."""
    faulty = dict(zip((f"node{n}" for n in range(7, nodes + 1, EVERY)), [*FAULTS] * nodes, strict=False))
    for name, fault in faulty.items():
        subprocess.run([*SPARKOPS, "lab", "fault", name, fault], check=True, stdout=subprocess.DEVNULL)
    silent = {name for name, fault in faulty.items() if fault in SILENT}
    seen = connections(lab)
    said = {
        command: json.loads(timed(command, "-i", "lab", command, *words, "--json"))
        for command, words in (
            ("preflight", ("--topology", f"{nodes}x-solo")),
            ("fabric", ()),
            ("facts", ()),
            ("status", ()),
        )
    }
    for name, count in connections(lab).items():
        if name not in silent and count - seen.get(name, 0) != len(said):
            yield f"{name}: {count - seen.get(name, 0)} connections for {len(said)} commands"
    for name, fault in faulty.items():
        command = "fabric" if FAULTS[fault].startswith("cx7-") else "preflight"
        if not told(said[command], name, FAULTS[fault]):
            yield f"{command} missed {fault} of {name}"
    for node in said["preflight"]["nodes"]:
        if node["verdict"] in BAD and node["name"] not in faulty:
            yield f"preflight blamed {node['name']}: {[one['id'] for one in node['checks'] if one['status'] in BAD]}"
    unknown = {name for name, fault in faulty.items() if fault in UNKNOWN}
    if {*said["status"]["unreachable"]} != unknown:
        yield f"status could not read {sorted(said['status']['unreachable'])}, not {sorted(unknown)}"
    print(f"{len(faulty)} of {nodes} nodes are faulty")


def told(document: dict[str, Any], name: str, check: str) -> bool:
    """Of the node itself, or of all nodes together with its name."""
    own = next(node["checks"] for node in document["nodes"] if node["name"] == name)
    whole = [one for one in document["cluster"] if name in one["message"] + one["evidence"]]
    return any(one["id"] == check and one["status"] in BAD for one in (*own, *whole))


def connections(lab: Path) -> dict[str, int]:
    """How many SSH connections each node has seen."""
    logs = {path.parent.name: path.read_text(errors="replace") for path in lab.glob("nodes/*/ssh.jsonl")}
    return {name: text.count('"event": "connect"') for name, text in logs.items()}


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
