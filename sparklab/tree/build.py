"""Writes a lab: programs and keys once, then every node's record, home, root and image store."""

import hashlib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from sparklab import files
from sparklab.layout import PACKAGE_ROOT, PATH, SSH_PORT, USER, Node, addresses, prefix
from sparklab.tools import knob, system
from sparklab.tools.registry import ASKED, TOOLS, WHERE_MISSING
from sparklab.tree import canned_answers, etc, images, keys, memory, models, network, vocabulary

EMPTY = (
    "var/lib/docker",
    "etc/systemd/system",
    "root",
    "run/lock",
    "run/user",
    "var/run",
    "var/lib",
    "dev/infiniband",
    "dev/shm",
    "etc/ssh",
    "etc/sudoers.d",
    "etc/netplan",
    "tmp",
    "etc/cdi",
)
PROGRAMS = {
    "vllm-mxfp4": ("vllm", "ray", "python3", "python"),
    "vllm": ("vllm", "ray", "python3", "python"),
    "litellm": ("litellm", "python3", "python"),
}


def programs(directory: Path) -> None:
    """`bin` for the nodes, `images/KIND/bin` for the containers: shell stubs that start one small Python."""
    missing = [name for name in WHERE_MISSING if not shutil.which(name)]
    for name in (*TOOLS, *missing):
        _stub(directory / "bin" / name, name)
    if not shutil.which("python3", path=PATH):
        _stub(directory / "bin" / "python3", "python3")
    _quick(directory / "bin")
    _hub_first(directory / "bin")
    for kind, names in PROGRAMS.items():
        for name in names:
            _stub(directory / "images" / kind / "bin" / name, name)


def _quick(programs: Path) -> None:
    """The same programs at the cost of a shell, for what a fleet is asked all the time."""
    texts = {name: _told(name) for name in canned_answers.QUESTIONS}
    texts |= {
        "ping": canned_answers.PING,
        "ss": canned_answers.SOCKETS,
        "sudo": canned_answers.SUDO,
        "crontab": canned_answers.CRONTAB.replace("USER", USER),
    }
    texts["df"] = canned_answers.DF.replace("HEAD", system.DISK_TITLES).replace("ROW", system.DISK_ROW)
    if own := shutil.which("sha256sum", path=PATH):
        texts["sha256sum"] = canned_answers.HASHES.replace("SHA256SUM", own)
    for name, text in texts.items():
        program = (programs / name).read_text().rpartition("exec ")[2].removesuffix(' "$@"\n')
        files.write(programs / name, text.replace("PROGRAM", program), 0o755)
    for name, text in {"date": canned_answers.DATE, "tar": canned_answers.TAR}.items():
        files.write(programs / name, text.replace(name.upper(), shutil.which(name, path=PATH) or name), 0o755)


def _told(name: str) -> str:
    """The stub of a program whose answers are written down; bash alone can ask the lab's process."""
    bash = shutil.which("bash") if name in ASKED else None
    text = canned_answers.STUB.replace("SHELL", bash or "/bin/sh")
    if bash:
        text = text.replace("exec PROGRAM", f"{canned_answers.ASKS}exec PROGRAM")
    return text.replace("NAME", name)


def _hub_first(programs: Path) -> None:
    """`curl` of what lies on the lab's hub is emulated, any other is the machine's."""
    if (programs / "curl").exists():
        (programs / "curl").rename(programs / "curl.any")
    _stub(programs / "hubcurl", "hubcurl")
    other = shutil.which("curl") or str(programs / "curl.any")
    text = (
        "#!/bin/sh\nfor url; do :; done\n"
        f'case ${{SPARKLAB_HUB:+$url}} in "${{SPARKLAB_HUB:-}}"/*/resolve/*) exec hubcurl "$@" ;; esac\n'
        f'exec {shlex.quote(other)} "$@"\n'
    )
    files.write(programs / "curl", text, 0o755)


def _stub(path: Path, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable)
    if name in ("python", "python3"):
        modules = shlex.quote(os.path.join(PACKAGE_ROOT, "sparklab", "engine", "site"))
        found = f"PYTHONPATH={modules} " if "images" in path.parts and "vllm" in path.parent.parent.name else ""
        text = f'#!/bin/sh\n{found}exec {python} "$@"\n'
    else:
        site = "" if name == "litellm" else " -S"
        main = shlex.quote(os.path.join(PACKAGE_ROOT, "sparklab", "tools", "main.py"))
        marker = "export SPARKLAB_ENGINE=1\n" if name == "vllm" else ""
        text = f'#!/bin/sh\n{marker}exec {python} -I{site} {main} {name} "$@"\n'
    files.write(path, text, 0o755)


def node(directory: Path, record: dict[str, Any], index: int, client_key: str) -> str:
    """One node; returns its line for known_hosts."""
    name = f"node{index}"
    home = directory / "nodes" / name
    (home / "faults").mkdir(parents=True)
    management, first, second, loopback = addresses(record["octet"], index)
    identity = hashlib.sha256(f"{record['id']} {name}".encode()).hexdigest()
    files.write_json(
        home / "node.json",
        {
            "name": name,
            "index": index,
            "lab": record["id"],
            "address": management,
            "port": SSH_PORT,
            "fabric": [first, second],
            "prefix": prefix(record["count"]),
            "loopback": loopback,
            "hostname": f"spark-{identity[:4]}",
            "machine_id": identity[:32],
            "serial": identity[:13].upper(),
            "gpu": f"GPU-{identity[:8]}-{identity[8:12]}-{identity[12:16]}-{identity[16:20]}-{identity[20:32]}",
            "mac": f"4c:bb:47:{index % 256:02x}:{(index // 256) + 0x20:02x}",
            "speed": record["speed"],
            "ray": record["ray"],
            "short": os.path.join(record["short"], f"n{index}"),
        },
    )
    made = Node(home)
    _root(made)
    _home(made, client_key)
    _docker(made)
    os.symlink(directory / "bin", home / "bin")
    _reached(directory, made)
    canned_answers.publish(made)
    public = keys.make(home / "host_key", f"root@{made.hostname}")
    keys.make(home / "host_key_other", f"root@{made.hostname}")
    files.write(made.root("etc", "ssh", "ssh_host_ed25519_key.pub"), (home / "host_key.pub").read_text())
    return f"[{management}]:{SSH_PORT} {public}\n"


def _root(made: Node) -> None:
    for directory in EMPTY:
        os.makedirs(made.root(directory), exist_ok=True)
    for path, text in etc.contents(made).items():
        network.put(made, path, text)
    for device in ("uverbs0", "uverbs1", "uverbs2", "uverbs3", "rdma_cm"):
        files.write(made.root("dev", "infiniband", device), "")
    for device in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        files.write(made.root("dev", device), "")
    knob.close(made)
    os.symlink("/usr/lib/systemd/system/multi-user.target", made.root("etc", "systemd", "system", "default.target"))
    network.publish(made)
    memory.change(made)


def _home(made: Node, client_key: str) -> None:
    ssh = Path(made.home, ".ssh")
    ssh.mkdir(parents=True, mode=0o700)
    files.write(ssh / "authorized_keys", client_key + " lab\n", 0o600)
    for cache in ("tiktoken_rs", "ccache", "flashinfer", "vllm"):
        Path(made.home, ".cache", cache).mkdir(parents=True)
    vocabulary.place(Path(made.home, ".cache", "tiktoken_rs"))
    models.place(made)


def _reached(directory: Path, made: Node) -> None:
    """Who has which address, and how the kernel's table of sockets calls those of this node."""
    mine = (made.address, *made.fabric, made.loopback)
    for address in mine:
        os.symlink(f"../nodes/{made.name}", directory / "at" / address)
    names = ("".join(f"{int(part):02X}" for part in reversed(address.split("."))) for address in mine)
    files.make(made.path("sockets"), f"{' '.join(names)}\n")


def _docker(made: Node) -> None:
    os.makedirs(made.path("docker", "containers"))
    os.makedirs(made.path("docker", "images"))
    for reference in images.IMAGES:
        image = images.inspect(reference)
        files.write_json(made.path("docker", "images", image["Id"].partition(":")[2] + ".json"), image)


def inventory(directory: Path, nodes: list[Node]) -> str:
    """An Ansible-shaped inventory; JSON strings are YAML strings, so any path is quoted right."""
    lines = [
        "all:",
        "  vars:",
        f"    user: {USER}",
        f"    port: {SSH_PORT}",
        f"    key_file: {json.dumps(str(directory / 'keys' / 'client'))}",
    ]
    lines += ["  hosts:", *(f"    {made.name}: {{address: {made.address}}}" for made in nodes)]
    return "\n".join(lines) + "\n"
