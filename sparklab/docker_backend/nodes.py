"""Nodes: their files, containers, inventory and counters."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparklab import files
from sparklab.docker_backend import engine, images, network
from sparklab.docker_backend.engine import docker
from sparklab.docker_backend.place import MANAGEMENT, PORTS, NodePlace, Place
from sparklab.docker_backend.shell import run
from sparklab.errors import LabError
from sparklab.layout import USER
from sparklab.tree import keys, models

DISK_BYTES = 512 << 30
FORMAT = ("-q", "-F", "-m", "0", "-N", "131072", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard")
ON_DISK = {
    "home": "/home",
    "tmp": "/tmp",
    "vartmp": "/var/tmp",
    "log": "/var/log",
    "containers": "/var/lib/docker/containers",
}
SECONDS = 300.0
SSH_PORT = 22


def up(place: Place) -> None:
    """Write every node, start all, then wait for all."""
    (place.directory / "keys").mkdir(mode=0o700)
    public = keys.make(place.directory / "keys" / "client", "sparkops-lab")
    for node in place.nodes:
        _write(node, public)
    _inventory(place)
    for node in place.nodes:
        _run(node)
    for node in place.nodes:
        network.plug(node)
    for node in place.nodes:
        await_ready(node)
        speeds = (f"/sys/class/net/{interface}/speed" for interface in node.cabled)
        _await(node, f"! grep -q -- -1 {' '.join(speeds)}")


def _write(node: NodePlace, public: str) -> None:
    engine.copy_store(images.seed(), node.directory / "docker")
    own = node.directory / "lab"
    node.state.mkdir(parents=True)
    (own / "host_keys").mkdir()
    _models(own / "huggingface" / "hub")
    keys.make(own / "host_keys" / "ssh_host_ed25519_key", f"root@{node.name}")
    files.write(own / "authorized_keys", public + " lab\n", 0o600)
    ports = [
        {"interface": name, "rdma": rdma, "cage": cage, "address": node.cabled.get(name)} for name, rdma, cage in PORTS
    ]
    about = {"name": node.name, "hostname": node.hostname, "machine_id": node.identity[:32], "ports": ports}
    files.write_json(
        own / "node.json", about | {"management": {"interface": MANAGEMENT, "address": f"{node.address}/24"}}
    )
    _disk(node)


def _models(hub: Path) -> None:
    """The models that the embedded lab has cached, with weights of 512 bytes and the tokenizer of the tiny model."""
    tokens = images.tokenizer().read_bytes()
    tokenizer = models.File("tokenizer.json", tokens, len(tokens))
    for name, model in models.MODELS.items():
        if model.cached:
            found = models.files(name, replace(model, gib=512 * model.shards / models.GIB))
            snapshot = (tokenizer if file.path == tokenizer.path else file for file in found)
            models.write(hub / f"models--{name.replace('/', '--')}", model.revision, snapshot)


def _disk(node: NodePlace) -> None:
    """A sparse file with a file system, mounted."""
    image = node.directory / "disk.img"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    run("mkfs.ext4", *FORMAT, str(image))
    node.disk.mkdir()
    run("mount", "-o", "loop,noinit_itable", str(image), str(node.disk))
    for folder in ON_DISK:
        (node.disk / folder).mkdir()


def _run(node: NodePlace) -> None:
    # fmt: off
    words = [
        "run", "-d", "--name", node.container, "--hostname", node.hostname,
        "--label", f"sparkops.lab={node.lab.record['id']}", "--privileged", "--network", "none",
        "--shm-size", "4g", "--tmpfs", "/run:exec,mode=755", "--stop-timeout", "30",
    ]
    # fmt: on
    words += ["-v", f"{node.directory / 'docker'}:/var/lib/docker", "-v", f"{node.directory / 'lab'}:/lab"]
    for folder, target in ON_DISK.items():
        words += ["-v", f"{node.disk / folder}:{target}"]
    docker(node.lab, *words, images.node_image())


def await_ready(node: NodePlace) -> None:
    """Wait until sshd listens at the node's address and its engine answers."""
    _await(node, f"read -r -t 2 line </dev/tcp/{node.address}/{SSH_PORT} && docker version >/dev/null")


def _await(node: NodePlace, script: str) -> None:
    """Wait until this script succeeds on the node."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            docker(node.lab, "exec", node.container, "bash", "-c", script)
            return
        except LabError as error:
            if time.monotonic() > until:
                tail = files.read(node.state / "dockerd.log").strip().splitlines()[-3:]
                raise LabError(
                    f"{node.name} did not come up: {error.message} {' '.join(tail)}",
                    "`sparkops lab down`, then try again",
                ) from error
        time.sleep(0.3)


def _inventory(place: Place) -> None:
    lines = [
        "all:",
        "  vars:",
        f"    user: {USER}",
        f"    key_file: {json.dumps(str(place.directory / 'keys' / 'client'))}",
    ]
    lines += ["  hosts:", *(f"    {node.name}: {{address: {node.address}}}" for node in place.nodes)]
    files.write(place.directory / "inventory.yml", "\n".join(lines) + "\n")
    known = [f"{node.address} {_public(node.directory / 'lab')}\n" for node in place.nodes]
    files.write(place.directory / "inventory.yml.known_hosts", "".join(known))


def _public(own: Path) -> str:
    return " ".join((own / "host_keys" / "ssh_host_ed25519_key.pub").read_text().split()[:2])


def status(place: Place, reset: bool) -> list[dict[str, Any]]:
    """Counts come from what each node's sshd wrote."""
    found = []
    for node in place.nodes:
        log = node.state / "sshd.log"
        lines = files.read(log).splitlines()
        faults = sorted(path.name for path in (node.directory / "faults").glob("*"))
        counts = {
            "connections": sum("Accepted " in line for line in lines),
            "commands": sum("Starting session: command" in line for line in lines),
        }
        found.append({"name": node.name, "address": node.address, "port": SSH_PORT, **counts, "faults": faults})
        if reset and log.exists():
            log.write_text("")
    return found
