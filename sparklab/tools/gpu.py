"""nvidia-smi on a GB10: memory totals are not available, what processes use is."""

import os
import time

from sparklab import files
from sparklab.layout import Node, captured, here
from sparklab.tools.say import fail, out
from sparklab.tree.ailments import driver
from sparklab.tree.etc import DRIVER
from sparklab.tree.memory import state

FOR_EVER = 86400
LOAD = ("clocks.sm", "power.draw", "utilization.gpu", "temperature.gpu", "pstate", "clocks_event_reasons.active")
IDLE = ("208 MHz", "3.60 W", "0 %", "43", "P8", "0x0000000000000001")
BUSY = ("2405 MHz", "42.10 W", "3 %", "58", "P0", "0x0000000000000000")
HOT = ("2405 MHz", "42.10 W", "97 %", "92", "P0", "0x0000000000000020")
WEDGED = ("513 MHz", "14.02 W", "96 %", "58", "P0")
"""Values of `LOAD`; a wedged GPU reports the reasons of a busy or an idle one."""
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178"
LONG = f"""==============NVSMI LOG==============

Driver Version                            : {DRIVER}
CUDA Version                              : 13.0
Attached GPUs                             : 1
GPU 0000000F:01:00.0
    Product Name                          : NVIDIA GB10
    Addressing Mode                       : ATS"""
UNITS = {
    **dict.fromkeys(("memory.total", "memory.free", "memory.used"), "MiB"),
    "power.draw": "W",
    "clocks.sm": "MHz",
    "utilization.gpu": "%",
}


def at_once(node: Node, words: list[str]) -> bool:
    """Return whether it ends at all."""
    return not node.fault("gpu-hangs")


def main(name: str, words: list[str]) -> int:
    node = here()
    if not at_once(node, words):
        time.sleep(FOR_EVER)
    if node.fault("driver-updated"):
        out(MISMATCH)
        return 18
    options = dict(word.partition("=")[::2] for word in words)
    form = options.get("--format", "csv")
    if node.fault("gpu-garbage"):
        out("\x1b[31m#####\x07 0xdeadbeef ;;; %s%s")
    elif "-L" in words or "--list-gpus" in words:
        out(f"GPU 0: NVIDIA GB10 (UUID: {node.record['gpu']})")
    elif "--query-gpu" in options:
        _table(options["--query-gpu"], form, [_gpu(node)])
    elif "--query-compute-apps" in options:
        _table(options["--query-compute-apps"], form, _apps(node))
    elif not words:
        out(_summary(node))
    elif words[0] == "-q":
        out(LONG)
    elif words[0] == "--version":
        out(f"NVIDIA-SMI version  : {DRIVER}\nDRIVER version      : {DRIVER}\nCUDA Version        : 13.0")
    elif words[0] == "-lgc" and words[1:]:  # changes nothing: the lab's heat does not come from a clock
        low, _, high = words[1].partition(",")
        out(f'GPU clocks set to "(gpuClkMin {low}, gpuClkMax {high or low})" for GPU 0000000F:01:00.0\nAll done.')
    elif words == ["-rgc"]:
        out("Reset all GPU clocks to default values for GPU 0000000F:01:00.0.\nAll done.")
    else:
        refusal = "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."
        return fail(f'{refusal}\nOption "{words[0]}" is not recognized.')
    return 0


def _gpu(node: Node) -> dict[str, str]:
    usual = BUSY if state(node)["used"] else IDLE
    load = HOT if node.fault("gpu-hot") else (*WEDGED, usual[-1]) if node.fault("gpu-wedged") else usual
    return {
        "index": "0",
        **dict.fromkeys(("name", "gpu_name"), "NVIDIA GB10"),
        **dict.fromkeys(("uuid", "gpu_uuid"), node.record["gpu"]),
        "pci.bus_id": "0000000F:01:00.0",
        "driver_version": driver(node),
        "compute_cap": "12.1",
        "persistence_mode": "Enabled",
        "clocks.max.sm": "3003 MHz",
        **dict(zip(LOAD, load, strict=True)),
    }


def _apps(node: Node) -> list[dict[str, str]]:
    found = []
    for holder, size in state(node)["used"].items():
        record = files.read_json(node.path("docker", "containers", holder, "state.json")) or {}
        pid = str(record.get("engine") or record.get("pid") or os.getpid())
        name = dict.fromkeys(("process_name", "name"), "VLLM::EngineCore")
        found.append({"pid": pid, **name, "used_memory": f"{size // 1024} MiB"})
    return found


def _table(fields: str, form: str, rows: list[dict[str, str]]) -> None:
    names, units = [field.strip() for field in fields.split(",")], "nounits" not in form
    if "noheader" not in form:
        out(", ".join(f"{name} [{UNITS[name]}]" if units and name in UNITS else name for name in names))
    for row in rows:
        values = [row.get(name, "[N/A]") for name in names]
        measured = (" MiB", " MHz", " W", " %")
        out(", ".join(one if units or not one.endswith(measured) else one.rpartition(" ")[0] for one in values))


def _summary(node: Node) -> str:
    apps = [
        f"|    0   N/A  N/A {app['pid']:>15}      C   {app['process_name']:<33} {app['used_memory'].replace(' ', ''):>9} |"
        for app in _apps(node)
    ]
    nothing = f"{'|  No running processes found':<90}|"
    return captured("nvidia-smi.txt").rstrip().replace("{apps}", "\n".join(apps or [nothing]))
