"""uname, lscpu, nproc, hostname, id, groups, whoami, df, free, sysctl."""

import os

from sparklab import files
from sparklab.layout import USER, Node, captured, here
from sparklab.tools import repairs
from sparklab.tools.say import fail, out
from sparklab.tree import ailments, models, network

UNAME = {
    "s": "Linux",
    "n": "",
    "r": "",
    "v": "#14-Ubuntu SMP PREEMPT_DYNAMIC Tue Mar 17 19:01:40 UTC 2026",
    **dict.fromkeys("mpi", "aarch64"),
    "o": "GNU/Linux",
}
GROUPS = {USER: 1000, "adm": 4, "sudo": 27, "audio": 29, "dip": 30, "plugdev": 46, "users": 100, "docker": 988}
DISK_KB = 3844551688
DISK_USED_KB = 93323264
DISK_LOW_KB = 12_000_000


def main(name: str, words: list[str]) -> int:
    node = here()
    groups = {name: number for name, number in GROUPS.items() if name != "docker" or not node.fault("no-docker-group")}
    root = os.environ.get("SPARKLAB_SUDO") == "1"
    match name:
        case "uname":
            out(_uname(node, words))
        case "lscpu":
            out(captured("lscpu.txt").rstrip())
        case "nproc":
            out("20")
        case "hostname":
            out(_hostname(node, words[:1]))
        case "id":
            flags = "".join(word[1:] for word in words if word.startswith("-"))
            out(_root_identity(flags) if root else _identity(flags, groups))
        case "groups":
            out("".join(f"{word} : " for word in words[:1]) + " ".join(groups))
        case "whoami":
            out("root" if root else USER)
        case "df":
            return df(node, words)
        case "free":
            out(_free(node))
        case "sysctl":
            return sysctl(node, words)
    return 0


def _uname(node: Node, words: list[str]) -> str:
    asked = "".join(word.lstrip("-")[:1] if word.startswith("--") else word[1:] for word in words) or "s"
    values = UNAME | {"n": node.hostname, "r": ailments.kernel(node)}
    return " ".join(value for letter, value in values.items() if letter in asked or "a" in asked)


def _hostname(node: Node, words: list[str]) -> str:
    match words:
        case ["-I"]:
            return " ".join([node.address, *network.addressed(node).values(), "172.17.0.1"]) + " "
        case ["-f"]:
            return f"{node.hostname}.local"
    return node.hostname


def _root_identity(flags: str) -> str:
    return ("root" if "n" in flags else "0") if flags else "uid=0(root) gid=0(root) groups=0(root)"


def _identity(flags: str, groups: dict[str, int]) -> str:
    if "u" in flags or "g" in flags:
        return USER if "n" in flags else "1000"
    if "G" in flags:
        return " ".join(groups if "n" in flags else map(str, groups.values()))
    listed = ",".join(f"{number}({name})" for name, number in groups.items())
    return f"uid=1000({USER}) gid=1000({USER}) groups={listed}"


def df(node: Node, words: list[str]) -> int:
    """Print one big NVMe disk for every path; a missing path is an error."""
    paths = [word for word in words if not word.startswith("-")] or ["/"]
    there = [path for path in paths if os.path.exists(path)]
    for path in paths:
        if path not in there:
            fail(f"df: {path}: No such file or directory")
    if not there:
        return 1
    _end_if_freed(node)
    used = DISK_KB if node.fault("disk-full") else DISK_KB - DISK_LOW_KB if node.fault("disk-low") else DISK_USED_KB
    if "--output=pcent" in words:
        out("Use%")
        for _ in there:
            out(f"{used * 100 // DISK_KB:3}%")
    elif any("h" in word for word in words if word.startswith("-") and not word.startswith("--")):
        out("Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p2  3.7T   89G  3.4T   3% /")
    else:
        out("Filesystem     1024-blocks     Used Available Capacity Mounted on")
        for _ in there:
            out(f"/dev/nvme0n1p2 {DISK_KB} {used} {DISK_KB - used}       3% /")
    return 0 if len(there) == len(paths) else 1


def _end_if_freed(node: Node) -> None:
    """A disk is no longer full once models were removed from it; `docker rmi` ends that fault by itself."""
    mark = node.path(models.WHEN_FULL)
    if os.path.exists(mark) and not node.fault("no-model") and models.size(node) < int(files.read(mark)):
        repairs.end(node, "disk-full", "disk-low")


def _free(node: Node) -> str:
    lines = files.read(node.root("proc", "meminfo")).splitlines()
    kb = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    cache = kb["Cached"] + kb["Buffers"] + kb["SReclaimable"]
    memory = (
        kb["MemTotal"],
        kb["MemTotal"] - kb["MemAvailable"],
        kb["MemFree"],
        kb["Shmem"],
        cache,
        kb["MemAvailable"],
    )
    swap = (kb["SwapTotal"], kb["SwapTotal"] - kb["SwapFree"], kb["SwapFree"])
    return "\n".join(
        [
            "               total        used        free      shared  buff/cache   available",
            "Mem:     " + " ".join(f"{size:>11}" for size in memory),
            "Swap:    " + " ".join(f"{size:>11}" for size in swap),
        ]
    )


def sysctl(node: Node, words: list[str]) -> int:
    """Print values; setting one is not emulated."""
    code = 0
    for name in (word for word in words if not word.startswith("-")):
        path = node.root("proc", "sys", *name.split("."))
        if os.path.isfile(path):
            value = files.read(path).strip()
            out(value if "-n" in words else f"{name} = {value}")
        else:
            code = fail(f"sysctl: cannot stat /proc/sys/{name.replace('.', '/')}: No such file or directory", 255)
    return code
