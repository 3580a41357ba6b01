"""nvidia-smi of a GB10 as far as it is asked: totals are [N/A], processes are the node's real vLLM processes."""

import os
import sys
from pathlib import Path

VALUES = {
    "name": "NVIDIA GB10",
    "gpu_name": "NVIDIA GB10",
    "index": "0",
    "uuid": "GPU-b0ec33a0-2589-53de-953c-0713d37d0794",
    "pci.bus_id": "0000000F:01:00.0",
    "driver_version": "580.142",
    "compute_cap": "12.1",
    "temperature.gpu": "39",
    "utilization.gpu": "0 %",
    "power.draw": "3.74 W",
    "pstate": "P8",
    "clocks.sm": "208 MHz",
    "clocks.current.sm": "208 MHz",
    "clocks_event_reasons.active": "0x0000000000000001",
    "persistence_mode": "Enabled",
}
UNITS = (" MiB", " MHz", " W", " %")
TABLE = """\
Tue May  5 10:44:29 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.142                Driver Version: 580.142        CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              4W /  N/A  | Not Supported          |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
"""


def engines():
    """A row for each process that would hold the GPU."""
    for folder in Path("/proc").iterdir():
        try:
            title = (folder / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            if folder.name.isdigit() and title.startswith(("VLLM::EngineCore", "VLLM::Worker", "ray::RayWorkerProc")):
                pages = int((folder / "statm").read_text().split()[1])
                size, name = pages * os.sysconf("SC_PAGE_SIZE") >> 20, title.split()[0]
                yield {"pid": folder.name, "process_name": name, "name": name, "used_memory": f"{size} MiB"}
        except OSError:
            continue


def table(fields, form, rows):
    if "noheader" not in form:
        print(", ".join(fields))
    for row in rows:
        values = [row.get(field, "[N/A]") for field in fields]
        if "nounits" in form:
            values = [value.rpartition(" ")[0] if value.endswith(UNITS) else value for value in values]
        print(", ".join(values))


def main():
    if not Path("/dev/nvidiactl").exists():
        print(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest"
            " NVIDIA driver is installed and running.\n"
        )
        return 9
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    form = options.get("--format", "csv").split(",")
    if "--query-gpu" in options:
        table(options["--query-gpu"].split(","), form, [VALUES])
    elif "--query-compute-apps" in options:
        table(options["--query-compute-apps"].split(","), form, engines())
    elif "-L" in sys.argv:
        print(f"GPU 0: NVIDIA GB10 (UUID: {VALUES['uuid']})")
    else:
        print(TABLE)
    return 0


sys.exit(main())
