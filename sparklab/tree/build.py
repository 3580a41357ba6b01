"""Writes a lab: programs and keys once, then every node's record, home, root and image store."""

import hashlib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from sparklab import cables, files
from sparklab.layout import PACKAGE_ROOT, PATH, SSH_PORT, USER, Node, addresses, of_port, prefix
from sparklab.tools import knob
from sparklab.tools.registry import ASKED, TOOLS
from sparklab.tree import etc, images, keys, memory, models, network, packages, vocabulary

EMPTY = "etc/cdi etc/netplan etc/ssh etc/sudoers.d etc/systemd/system dev/shm root run/lock run/user tmp var/lib/docker var/run"
PROGRAMS = {
    **dict.fromkeys(("vllm-mxfp4", "vllm"), ("vllm", "ray")),
    **{"litellm": ("litellm",), "open-webui": ("bash",)},
}
"""By the kind of image, its programs beside Python."""
CHEAP = ("crontab", "curl", "date", "df", "sha256sum", "ss", "sudo", "tar")
"""Programs with a shell script in `tools/stubs` that answers common questions, because starting Python takes longer. In the
script `PROGRAM` is replaced by the emulated program and `REAL` by this machine's own."""


def programs(directory: Path) -> None:
    """`bin` for the nodes, `images/KIND/bin` for the containers: shell stubs that start one small Python."""
    own, python = directory / "bin", shlex.quote(sys.executable)
    bash = shutil.which("bash")  # it alone can ask the lab's process
    for name in (*TOOLS, "hubcurl"):
        ask = _stub("ask").replace("NAME", name) if bash and name in ASKED else ""
        _script(own / name, f'{ask}exec {_program(name)} "$@"\n', bash if bash and ask else "/bin/sh")
    for name in CHEAP:
        real = shutil.which(name, path=PATH) or shutil.which(name)
        text = _stub(name).replace("REAL", shlex.quote(real) if real else "PROGRAM")
        _script(own / name, text.replace("PROGRAM", _program(name)))
    if not shutil.which("python3", path=PATH):
        _script(own / "python3", f'exec {python} "$@"\n')
    modules = os.path.join(PACKAGE_ROOT, "sparklab", "engine", "site")
    for kind, names in PROGRAMS.items():
        inside, site = directory / "images" / kind / "bin", directory / "images" / kind / "site"
        packages.place(site, kind)
        path = shlex.quote(f"{modules}:{site}" if "vllm" in names else str(site))
        program = shlex.quote(os.path.join(PACKAGE_ROOT, "sparklab", "engine", "python.py"))
        alone = f'[ "$1 $2" != "-I -c" ] || {{ shift 2 && exec {python} -I {program} "$@"; }}\n'
        for name in ("python3", "python"):
            _script(inside / name, f'{alone if kind == "litellm" else ""}PYTHONPATH={path} exec {python} -S "$@"\n')
        for name in names:
            _script(inside / name, _in_image(name, bash or "/bin/bash"))


def _in_image(name: str, bash: str) -> str:
    """The script of a program in an image; Open WebUI is what its image's `bash start.sh` runs."""
    if name == "bash":
        return f'[ "${{1-}}" != start.sh ] || exec {_program("webui")}\nexec {shlex.quote(bash)} "$@"\n'
    marker = "export SPARKLAB_ENGINE=1\n" if name == "vllm" else ""
    return f'{marker}exec {_program(name)} "$@"\n'


def _program(name: str) -> str:
    """The words that start an emulated program."""
    main = shlex.quote(os.path.join(PACKAGE_ROOT, "sparklab", "tools", "main.py"))
    alone = "-I" if name == "litellm" else "-I -S"  # LiteLLM's configuration needs an installed package
    return f"{shlex.quote(sys.executable)} {alone} {main} {name}"


def _stub(name: str) -> str:
    """The script of `tools/stubs` without its first line."""
    return Path(PACKAGE_ROOT, "sparklab", "tools", "stubs", f"{name}.sh").read_text().partition("\n")[2]


def _script(path: Path, text: str, shell: str = "/bin/sh") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, f"#!{shell}\n{text}", 0o755)


def node(directory: Path, record: dict[str, Any], index: int, client_key: str) -> str:
    """Write one node; return its line for known_hosts."""
    name = f"node{index}"
    home = directory / "nodes" / name
    (home / "faults").mkdir(parents=True)
    management, _, _, loopback = addresses(record["octet"], index)
    identity = hashlib.sha256(f"{record['id']} {name}".encode()).hexdigest()
    files.write_json(
        home / "node.json",
        {
            "name": name,
            "index": index,
            "lab": record["id"],
            "address": management,
            "port": SSH_PORT,
            "ports": cables.ports(
                record.get("fabric", cables.SWITCH),
                index,
                record["count"],
                of_port(record["octet"], record["count"]),
            ),
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
    public = keys.make(home / "host_key", f"root@{made.hostname}")
    keys.make(home / "host_key_other", f"root@{made.hostname}")
    files.write(made.root("etc", "ssh", "ssh_host_ed25519_key.pub"), (home / "host_key.pub").read_text())
    return f"[{management}]:{SSH_PORT} {public}\n"


def _root(made: Node) -> None:
    for directory in EMPTY.split():
        os.makedirs(made.root(directory), exist_ok=True)
    for path, text in etc.contents(made).items():
        network.put(made, path, text)
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
    """Record which addresses the node has."""
    for address in (made.address, *made.fabric, made.loopback):
        os.symlink(f"../nodes/{made.name}", directory / "at" / address)
    network.name_sockets(made)


def _docker(made: Node) -> None:
    os.makedirs(made.path("docker", "containers"))
    os.makedirs(made.path("docker", "images"))
    for reference in (one for one in images.IMAGES if one not in images.PULLED):
        image = images.inspect(reference)
        files.write_json(made.path("docker", "images", image["Id"].partition(":")[2] + ".json"), image)


def inventory(directory: Path, nodes: list[Node]) -> str:
    """An Ansible-shaped inventory; JSON strings are YAML strings, so any path is quoted right.

    `fabric setup` gives addresses that this machine has, and no lab.
    """
    lab = ".".join(nodes[0].address.split(".")[:2])
    key = json.dumps(str(directory / "keys" / "client"))
    hosts = "".join(f"    {made.name}: {{address: {made.address}}}\n" for made in nodes)
    return f"""\
all:
  vars:
    user: {USER}
    port: {SSH_PORT}
    key_file: {key}
    fabric_pool: {lab}.224.0/19
  hosts:
{hosts}"""
