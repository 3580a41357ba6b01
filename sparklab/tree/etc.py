"""/etc, DMI, device files and the static part of /proc as on a Founders Edition DGX Spark: the files of `data/root`."""

import os

from sparklab import files
from sparklab.layout import PACKAGE_ROOT, Node

KERNEL = "6.17.0-1014-nvidia"
DRIVER = "580.142"
ROOT = os.path.join(PACKAGE_ROOT, "sparklab", "data", "root")


def volatile() -> dict[str, str]:
    """Return the files that are new after every boot."""
    import uuid

    return {
        "proc/sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
        "proc/uptime": "86423.51 1700112.20\n",
        "run/systemd/timesync/synchronized": "",
    }


def contents(node: Node) -> dict[str, str]:
    """Path below the node's root -> text; the files in the package have `{name}` where nodes differ."""
    paths = [os.path.join(place, name) for place, _, names in os.walk(ROOT) for name in names]
    found = {os.path.relpath(path, ROOT): files.read(path) for path in paths}
    varying = {"hostname": node.hostname, "home": node.home, **{k: node.record[k] for k in ("machine_id", "serial")}}
    for name, value in varying.items():
        found = {path: text.replace(f"{{{name}}}", value) for path, text in found.items()}
    return found | volatile()
