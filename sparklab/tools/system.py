"""uname, lscpu, nproc, hostname, id, groups, whoami, df, free, sysctl."""

import os

from sparklab import files
from sparklab.layout import USER, Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import ailments, network
from sparklab.tree.etc import KERNEL

UNAME = {
    "s": "Linux",
    "n": "",
    "r": KERNEL,
    "v": "#14-Ubuntu SMP PREEMPT_DYNAMIC Tue Mar 17 19:01:40 UTC 2026",
    "m": "aarch64",
    "p": "aarch64",
    "i": "aarch64",
    "o": "GNU/Linux",
}
GROUPS = {"spark": 1000, "adm": 4, "sudo": 27, "audio": 29, "dip": 30, "plugdev": 46, "users": 100, "docker": 988}
DISK_KB = 3844551688
DISK_USED_KB = 93323264
DISK_TITLES = "Filesystem     1024-blocks     Used Available Capacity Mounted on"
DISK_ROW = f"/dev/nvme0n1p2 {DISK_KB} {DISK_USED_KB} {DISK_KB - DISK_USED_KB}       3% /"
LSCPU = """Architecture:                         aarch64
CPU op-mode(s):                       64-bit
Byte Order:                           Little Endian
CPU(s):                               20
On-line CPU(s) list:                  0-19
Vendor ID:                            ARM
Model name:                           Cortex-X925
Thread(s) per core:                   1
Core(s) per socket:                   10
Socket(s):                            1
CPU max MHz:                          3900.0000
Model name:                           Cortex-A725
Thread(s) per core:                   1
Core(s) per socket:                   10
Socket(s):                            1
CPU max MHz:                          2808.0000"""


def main(name: str, words: list[str]) -> int:
    return PROGRAMS[name](here(), words)


def uname(node: Node, words: list[str]) -> int:
    asked = "".join(word.lstrip("-")[:1] if word.startswith("--") else word[1:] for word in words) or "s"
    values = UNAME | {"n": node.hostname, "r": ailments.kernel(node)}
    order = "snrvmpio"
    out(" ".join(values[letter] for letter in order if letter in asked or "a" in asked))
    return 0


def lscpu(node: Node, words: list[str]) -> int:
    out(LSCPU)
    return 0


def nproc(node: Node, words: list[str]) -> int:
    out("20")
    return 0


def hostname(node: Node, words: list[str]) -> int:
    if words[:1] == ["-I"]:
        fabric = list(network.addressed(node).values())
        out(" ".join([node.address, *fabric, "172.17.0.1"]) + " ")
    elif words[:1] == ["-f"]:
        out(f"{node.hostname}.local")
    else:
        out(node.hostname)
    return 0


def _groups(node: Node) -> dict[str, int]:
    return {name: number for name, number in GROUPS.items() if name != "docker" or not node.fault("no-docker-group")}


def identity(node: Node, words: list[str]) -> int:
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    if os.environ.get("SPARKLAB_SUDO") == "1":
        out(("root" if "n" in flags else "0") if flags else "uid=0(root) gid=0(root) groups=0(root)")
        return 0
    groups = _groups(node)
    if "u" in flags or "g" in flags:
        out(USER if "n" in flags else "1000")
    elif "G" in flags:
        out(" ".join(groups) if "n" in flags else " ".join(str(number) for number in groups.values()))
    else:
        listed = ",".join(f"{number}({name})" for name, number in groups.items())
        out(f"uid=1000({USER}) gid=1000({USER}) groups={listed}")
    return 0


def groups(node: Node, words: list[str]) -> int:
    prefix = f"{words[0]} : " if words else ""
    out(prefix + " ".join(_groups(node)))
    return 0


def whoami(node: Node, words: list[str]) -> int:
    out("root" if os.environ.get("SPARKLAB_SUDO") == "1" else USER)
    return 0


def df(node: Node, words: list[str]) -> int:
    """One big NVMe disk, whatever path is asked; a path that is not there fails as it does."""
    paths = [word for word in words if not word.startswith("-")]
    missing = [path for path in paths if not os.path.exists(path)]
    for path in missing:
        fail(f"df: {path}: No such file or directory")
    if missing and len(missing) == len(paths):
        return 1
    joined = " ".join(words)
    unit, word = (1, "1B-blocks") if "-B1" in joined or "bytes" in joined else (1024, "1024-blocks")
    taken = DISK_KB - 12_000_000 if node.fault("disk-low") else DISK_USED_KB
    taken = DISK_KB if node.fault("disk-full") else taken
    total, used = DISK_KB * 1024 // unit, taken * 1024 // unit
    left = total - used
    columns = next((w.partition("=")[2].split(",") for w in words if w.startswith("--output=")), None)
    if columns:
        values = {
            "source": "/dev/nvme0n1p2",
            "size": total,
            "used": used,
            "avail": left,
            "pcent": "3%",
            "target": "/",
            "fstype": "ext4",
        }
        titles = {
            "avail": "Avail",
            "size": word,
            "used": "Used",
            "pcent": "Use%",
            "target": "Mounted on",
            "source": "Filesystem",
        }
        out(" ".join(titles.get(column, column) for column in columns))
        out(" ".join(str(values.get(column, "-")) for column in columns))
    elif "h" in "".join(w[1:] for w in words if w.startswith("-") and not w.startswith("--")):
        out("Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p2  3.7T   89G  3.4T   3% /")
    else:
        out(f"Filesystem     {word}     Used Available Capacity Mounted on")
        for _path in paths[len(missing) :] or ["/"]:
            out(f"/dev/nvme0n1p2 {total} {used} {left}       3% /")
    return 1 if missing else 0


def free(node: Node, words: list[str]) -> int:
    with open(node.root("proc", "meminfo"), encoding="ascii") as stream:
        rows = {line.split(":")[0]: int(line.split()[1]) for line in stream}
    cache = rows["Cached"] + rows["Buffers"] + rows["SReclaimable"]
    used = rows["MemTotal"] - rows["MemAvailable"]
    out("               total        used        free      shared  buff/cache   available")
    out(
        f"Mem:     {rows['MemTotal']:>11} {used:>11} {rows['MemFree']:>11} {rows['Shmem']:>11} {cache:>11} {rows['MemAvailable']:>11}"
    )
    out(f"Swap:    {rows['SwapTotal']:>11} {rows['SwapTotal'] - rows['SwapFree']:>11} {rows['SwapFree']:>11}")
    return 0


def sysctl(node: Node, words: list[str]) -> int:
    """Reads only."""
    code = 0
    for name in (word for word in words if not word.startswith("-")):
        path = node.root("proc", "sys", *name.split("."))
        if os.path.isfile(path):
            value = files.read(path).strip()
            out(value if "-n" in words else f"{name} = {value}")
        else:
            code = fail(f"sysctl: cannot stat /proc/sys/{name.replace('.', '/')}: No such file or directory", 255)
    return code


PROGRAMS = {
    "uname": uname,
    "lscpu": lscpu,
    "nproc": nproc,
    "hostname": hostname,
    "id": identity,
    "groups": groups,
    "whoami": whoami,
    "df": df,
    "free": free,
    "sysctl": sysctl,
}
