"""nvidia-smi on a GB10: memory totals are not available, what processes use is."""

import os
import time

from sparklab import files
from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree.ailments import driver
from sparklab.tree.etc import DRIVER
from sparklab.tree.memory import state

FOR_EVER = 86400
IDLE = {
    "clocks.sm": "208 MHz",
    "power.draw": "3.60 W",
    "utilization.gpu": "0 %",
    "temperature.gpu": "43",
    "pstate": "P8",
}
BUSY = {
    "clocks.sm": "2405 MHz",
    "power.draw": "42.10 W",
    "utilization.gpu": "3 %",
    "temperature.gpu": "58",
    "pstate": "P0",
}
WEDGED = {**BUSY, "clocks.sm": "513 MHz", "power.draw": "14.02 W", "utilization.gpu": "96 %"}
HOT = {**BUSY, "utilization.gpu": "97 %", "temperature.gpu": "92", "clocks_event_reasons.active": "0x0000000000000020"}
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178"
UNITS = {
    "memory.total": "MiB",
    "memory.free": "MiB",
    "memory.used": "MiB",
    "power.draw": "W",
    "clocks.sm": "MHz",
    "utilization.gpu": "%",
}


def at_once(node: Node, words: list[str]) -> bool:
    """Does it come back?"""
    return not node.fault("gpu-hangs")


def main(name: str, words: list[str]) -> int:
    node = here()
    if not at_once(node, words):
        time.sleep(FOR_EVER)
    if node.fault("driver-updated"):
        out(MISMATCH)
        return 18
    if node.fault("gpu-garbage"):
        out("\x1b[31m#####\x07 0xdeadbeef ;;; %s%s")
        return 0
    options = dict(word.partition("=")[::2] for word in words)
    if "-L" in words or "--list-gpus" in words:
        out(f"GPU 0: NVIDIA GB10 (UUID: {node.record['gpu']})")
    elif "--query-gpu" in options:
        return _table(options["--query-gpu"], options.get("--format", "csv"), [_gpu(node)])
    elif "--query-compute-apps" in options:
        return _table(options["--query-compute-apps"], options.get("--format", "csv"), _apps(node))
    elif not words:
        out(_summary(node))
    elif words[0] == "-q":
        out("==============NVSMI LOG==============\n\nDriver Version                            : " + DRIVER)
        out("CUDA Version                              : 13.0\nAttached GPUs                             : 1")
        out(
            "GPU 0000000F:01:00.0\n    Product Name                          : NVIDIA GB10\n    Addressing Mode                       : ATS"
        )
    elif words[0] == "--version":
        out(f"NVIDIA-SMI version  : {DRIVER}\nDRIVER version      : {DRIVER}\nCUDA Version        : 13.0")
    else:
        return fail(
            f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\nOption \"{words[0]}\" is not recognized."
        )
    return 0


def _gpu(node: Node) -> dict[str, str]:
    busy = bool(state(node)["used"])
    return {
        "index": "0",
        "name": "NVIDIA GB10",
        "gpu_name": "NVIDIA GB10",
        "uuid": node.record["gpu"],
        "gpu_uuid": node.record["gpu"],
        "pci.bus_id": "0000000F:01:00.0",
        "driver_version": driver(node),
        "compute_cap": "12.1",
        "persistence_mode": "Enabled",
        "clocks_event_reasons.active": "0x0000000000000000" if busy else "0x0000000000000001",
        "clocks.max.sm": "3003 MHz",
        **(HOT if node.fault("gpu-hot") else WEDGED if node.fault("gpu-wedged") else BUSY if busy else IDLE),
    }


def _apps(node: Node) -> list[dict[str, str]]:
    found = []
    for holder, size in state(node)["used"].items():
        record = files.read_json(node.path("docker", "containers", holder, "state.json")) or {}
        pid = str(record.get("engine") or record.get("pid") or os.getpid())
        memory = f"{size // 1024} MiB"
        found.append(
            {"pid": pid, "process_name": "VLLM::EngineCore", "name": "VLLM::EngineCore", "used_memory": memory}
        )
    return found


def _table(fields: str, form: str, rows: list[dict[str, str]]) -> int:
    names = [field.strip() for field in fields.split(",")]
    if "noheader" not in form:
        units = "nounits" not in form
        out(", ".join(f"{name} [{UNITS[name]}]" if units and name in UNITS else name for name in names))
    for row in rows:
        values = [row.get(name, "[N/A]") for name in names]
        if "nounits" in form:
            values = [
                value.rpartition(" ")[0] if value.endswith((" MiB", " MHz", " W", " %")) else value for value in values
            ]
        out(", ".join(values))
    return 0


def _summary(node: Node) -> str:
    line = "+" + "-" * 89 + "+"
    split = "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+"
    apps = [
        f"|    0   N/A  N/A {app['pid']:>15}      C   {app['process_name']:<33} {app['used_memory'].replace(' ', ''):>9} |"
        for app in _apps(node)
    ] or ["|  No running processes found" + " " * 61 + "|"]
    return "\n".join(
        [
            line,
            f"| NVIDIA-SMI {DRIVER:<22} Driver Version: {DRIVER:<14} CUDA Version: 13.0     |",
            split,
            "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
            "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
            "|                                         |                        |               MIG M. |",
            split.replace("-", "="),
            "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |",
            "| N/A   43C    P8              4W /  N/A  | Not Supported          |      0%      Default |",
            "|                                         |                        |                  N/A |",
            split,
            "",
            line,
            "| Processes:" + " " * 78 + "|",
            "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
            "|        ID   ID                                                               Usage      |",
            "|" + "=" * 89 + "|",
            *apps,
            line,
        ]
    )
