"""Before runc: `runc.py REAL WORDS…` asks for no more than this machine may give, and becomes the real one.

Where a sandbox lacks a capability (CAP_SYS_RESOURCE above all), runc refuses privileged containers, raised
limits and OOM scores. What cannot be had is taken out of the bundle; on a whole machine nothing changes.
On a node it also gives every container the node's boot id, which runc allows no mount for.
"""

import json
import os
import resource
import shutil
import sys
from pathlib import Path

CAP_SYS_RESOURCE = 24
BOOT = Path("/run/lab/boot_id")
NAMES = {21: "CAP_SYS_ADMIN", 24: "CAP_SYS_RESOURCE", 38: "CAP_PERFMON", 39: "CAP_BPF", 40: "CAP_CHECKPOINT_RESTORE"}


def held():
    """The bounding set of this process, as a bit mask."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return int(line.split()[1], 16)
    return ~0


def lowered(process, mask):
    """Take the capabilities, limits and score that this machine cannot grant out of an OCI process."""
    lacking = {name for bit, name in NAMES.items() if not mask >> bit & 1}
    for kind, names in (process.get("capabilities") or {}).items():
        process["capabilities"][kind] = [name for name in names if name not in lacking]
    if mask >> CAP_SYS_RESOURCE & 1:
        return
    process.pop("oomScoreAdj", None)
    for limit in process.get("rlimits") or []:
        ceiling = resource.getrlimit(getattr(resource, limit["type"]))[1]
        if ceiling != resource.RLIM_INFINITY:
            limit["hard"] = min(limit["hard"], ceiling)
            limit["soft"] = min(limit["soft"], ceiling)


def option(words, *names):
    for name, value in zip(words, words[1:], strict=False):
        if name in names:
            return value
    return None


def booted(bundle):
    """A hook between the mounts of a container and its start, where the kernel is still the node's."""
    if BOOT.exists():
        words = ["mount", "--bind", str(BOOT), f"{bundle['root']['path']}/proc/sys/kernel/random/boot_id"]
        hooks = bundle.setdefault("hooks", {}).setdefault("createContainer", [])
        hooks.append({"path": shutil.which("mount"), "args": words})


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def created(bundle):
    lowered(bundle["process"], held())
    booted(bundle)


def main():
    real, *words = sys.argv[1:]
    if "create" in words or "run" in words:
        bundle = Path(option(words, "--bundle", "-b") or Path.cwd())
        rewrite(bundle / "config.json", created)
    elif "exec" in words and option(words, "--process", "-p"):
        rewrite(Path(option(words, "--process", "-p")), lambda process: lowered(process, held()))
    os.execv(real, ["runc", *words])


main()
