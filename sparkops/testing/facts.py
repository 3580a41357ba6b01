"""The capture that `node/facts.sh` would print on a simulated node: a healthy GB10 with one cable in port 1."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sparkops.core.facts.raw import write, write_parts
from sparkops.core.plan import Word
from sparkops.testing.docker import docker
from sparkops.testing.hub import SIZES
from sparkops.testing.node import EPOCH, SimulatedNode
from sparkops.testing.store import DockerRefused
from sparkops.testing.upkeep import AVAILABLE_KIB, FREE_KIB, captured, locked

Probes = dict[str, tuple[int, str]]
_CX7 = (
    ("enp1s0f0np0", "rocep1s0f0", "p0", False),
    ("enp1s0f1np1", "rocep1s0f1", "p1", True),
    ("enP2p1s0f0np0", "roceP2p1s0f0", "p0", False),
    ("enP2p1s0f1np1", "roceP2p1s0f1", "p1", True),
)


def capture(node: SimulatedNode, words: Sequence[str]) -> str:
    """Every probe that plans and checks read; `--image`, `--model` and `--only` as in the script."""
    probes = {**_system(node), **_network(node), **_ours(node), **_docker(node, words)}
    probes["lock"] = (0, locked(node, int((_values(words, "--history") or ["20"])[0])))
    if models := _values(words, "--model"):
        probes["model"] = (0, _model(node, models[0]))
    if others := models[1:]:
        probes["models"] = (0, write_parts({one.partition("@")[0]: (0, _model(node, one)) for one in others}))
    only = set(",".join(_values(words, "--only")).split(",")) - {""}
    return write({name: told for name, told in (probes | node.probes).items() if not only or name in only})


def _values(words: Sequence[str], flag: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word == flag]


def _system(node: SimulatedNode) -> Probes:
    serial = hashlib.sha256(node.name.encode()).hexdigest()
    return {
        "clock": (0, f"{EPOCH + node.now:.9f}\nsynchronized=yes"),
        "uname": (0, f"Linux {node.name} 6.14.0-1013-nvidia #13-Ubuntu SMP PREEMPT_DYNAMIC aarch64 GNU/Linux"),
        "os-release": (0, 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"'),
        "markers": (0, ""),
        "id": (0, f"uid=1000(nvidia) gid=1000(nvidia) groups=1000(nvidia),27(sudo),988(docker)\nhome={node.home}"),
        "boot": (0, f"boot_id={node.boot}\nuptime={node.now - node.booted:.2f} 1000.00"),
        "machine-id": (0, serial[:32]),
        "hostkeys": (0, f"256 SHA256:{serial[:43]} root@{node.name} (ED25519)"),
        "meminfo": (0, meminfo(node)),
        "driver": (0, "module=580.95.05\nNVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05"),
        "nvidia-smi": (0, "NVIDIA GB10, 12.1, 580.95.05"),
        "gpu-processes": (0, _gpu_processes(node)),
        "reboot-required": (0, "no"),
        "sudo": (0, "true 0 "),
        "linger": (0, "yes" if node.lingers else "no"),
        "logind": (0, ""),
        "listeners": (0, "\n".join(f"LISTEN 0 4096 0.0.0.0:{port} 0.0.0.0:*" for port in (22, *node.shared_ports))),
        "firewall": (0, "ENABLED=no"),
        "disk": (0, _disk(node)),
    }


def meminfo(node: SimulatedNode) -> str:
    free = FREE_KIB - node.cached_kib
    sizes = {"MemTotal": node.total_kib, "MemFree": free, "MemAvailable": AVAILABLE_KIB, "Cached": node.cached_kib}
    sizes |= {"SwapTotal": 0, "SwapFree": 0, "CmaTotal": 131072}
    return "\n".join(f"{key}: {value:>12} kB" for key, value in sizes.items())


def _gpu_processes(node: SimulatedNode) -> str:
    """What nvidia-smi lists of engines that are up, with the control group of each."""
    holding = [one for one in node.engine.containers.values() if one.up and one.boot.gpu_mib is not None]
    rows = [f"{pid}, VLLM::EngineCore, {one.boot.gpu_mib} MiB" for pid, one in enumerate(holding, 5000)]
    groups = [f"cgroup {pid} 0::/system.slice/docker-{one.id}.scope" for pid, one in enumerate(holding, 5000)]
    return "\n".join(rows + groups)


def _disk(node: SimulatedNode) -> str:
    folders = {"home": node.home, "cache": f"{node.home}/.cache/huggingface", "docker": "/var/lib/docker"}
    row = f"/dev/nvme0n1p2 3844000000 {3_844_000_000 - node.free_kib} {node.free_kib} 27% /"
    rows = "\n".join(row for _ in folders)
    asked = "\n".join(f"{use} {path}" for use, path in folders.items())
    return f"{asked}\nFilesystem 1024-blocks Used Available Capacity Mounted on\n{rows}"


def _network(node: SimulatedNode) -> Probes:
    twin = _twin(node.fabric_address)
    cx7 = [(name, device, port, up and node.link) for name, device, port, up in _CX7]
    addresses = {"enp1s0f1np1": node.fabric_address, "enP2p1s0f1np1": twin}
    ip = [_link("lo", "127.0.0.1", 65536), _link("enP7s7", node.address, 1500)]
    ip += [_cx7(node, name, addresses.get(name) if up else None) for name, _, _, up in cx7]
    unit = int(node.address.rpartition(".")[2])
    ip = [{**link, "address": f"4c:bb:47:2f:{unit:02x}:{at:02x}"} for at, link in enumerate(ip)]
    net = [f"{name}/{file}:{value}" for name, _, port, up in cx7 for file, value in _sysfs(up, port).items()]
    devices = [f"./{device}/{file}:{value}" for name, device, _, up in cx7 for file, value in _rdma(name, up).items()]
    return {
        "ip-addr": (0, json.dumps(ip)),
        "routes": (0, '[{"dst":"default","gateway":"192.0.2.1","dev":"enP7s7"}]'),
        "ibdev2netdev": (
            0,
            "\n".join(f"{device} port 1 ==> {name} ({'Up' if up else 'Down'})" for name, device, _, up in cx7),
        ),
        "net": (0, "\n".join(net)),
        "infiniband": (0, "\n".join(devices)),
        "dev-infiniband": (0, "rdma_cm\nuverbs0\nuverbs1\nuverbs2\nuverbs3"),
    }


def _cx7(node: SimulatedNode, name: str, address: str | None) -> dict[str, Any]:
    link = _link(name, address, 9000 if address else 1500)
    six = {"family": "inet6", "local": link_local(node, name), "prefixlen": 64, "scope": "link"}
    return {**link, "addr_info": [*link["addr_info"], six]} if address else link


def link_local(node: SimulatedNode, interface: str) -> str:
    """The IPv6 address of a CX7 interface."""
    return f"fe80::{node.address.rpartition('.')[2]}:{sum(interface.encode()):x}"


def _twin(address: str) -> str:
    """The address of the port's other interface, in another network."""
    first, second, third, last = address.split(".")
    return f"{first}.{second}.{(int(third) + 128) % 256}.{last}"


def _link(name: str, address: str | None, mtu: int) -> dict[str, Any]:
    up = address is not None
    info = [{"family": "inet", "local": address, "prefixlen": 24, "scope": "global"}] if up else []
    return {
        "ifname": name,
        "flags": ["UP", "LOWER_UP"] if up else ["NO-CARRIER", "UP"],
        "mtu": mtu,
        "operstate": "UP" if up else "DOWN",
        "addr_info": info,
    }


def _sysfs(up: bool, port: str) -> dict[str, str]:
    state = {"operstate": "up", "carrier": "1", "mtu": "9000", "speed": "200000"}
    down = {"operstate": "down", "carrier": "0", "mtu": "1500", "speed": "-1"}
    return {**(state if up else down), "phys_port_name": port, "device/vendor": "0x15b3"}


def _rdma(interface: str, up: bool) -> dict[str, str]:
    return {
        f"device/net/{interface}": "",
        "ports/1/state": "4: ACTIVE" if up else "1: DOWN",
        "ports/1/phys_state": "5: LinkUp" if up else "3: Disabled",
        "ports/1/rate": "200 Gb/sec (4X HDR)" if up else "40 Gb/sec (4X QDR)",
        "ports/1/link_layer": "Ethernet",
        "fw_ver": "28.45.4028",
    }


def _ours(node: SimulatedNode) -> Probes:
    state = node.state_dir
    parts: Probes = {"folder": (0, state)}
    for path, text in sorted(node.files.items()):
        name = path.removeprefix(f"{state}/")
        if (
            name == "key"
            or name.startswith("keys/")
            or re.fullmatch("(gateways/[^/]+/keys/[^/]+|pages/[^/]+/key)", name)
        ):
            parts[name] = (0, f"{hashlib.sha256(text.strip().encode()).hexdigest()}  -")
        elif door := re.fullmatch("(ondemand/[^/]+)/containers", name):
            parts[door[1]] = (0, text)
        elif name == "manifest" or name.startswith("orphans/") or name.endswith(SHOWN):
            parts[name] = (0, text.rstrip("\n"))
        elif name.endswith(".graphs-hung"):
            parts[name] = (0, "yes")
    for name, job in sorted(node.jobs.items()):
        alive, code = ("yes", "") if job.code is None else ("no", str(job.code))
        parts[f"jobs/{name}"] = (0, f"pid=4242\nalive={alive}\nrc={code}\ncmd={_shown(job.words)}")
    return {"state": (0, write_parts(parts)), "schedule": (0, captured(node))}


SHOWN = ("/routes.json", "/keys.json", "/on-demand.json", "/ondemand/known", "/ondemand/key.pub")
"""The files of endpoints whose content is read."""


def _shown(words: tuple[Word, ...]) -> str:
    return " ".join(str(getattr(word, "name", word)) for word in words)


def _docker(node: SimulatedNode, words: Sequence[str]) -> Probes:
    def ask(*line: str) -> tuple[int, str]:
        result = docker(node.engine, ("docker", *line), node.now)
        return result.code, (result.stdout + result.stderr).rstrip("\n")

    names = [one.name for one in node.engine.listed(["label=sparkops.schema"])]
    found = {
        "docker-version": ask("version", "--format", "{{json .}}"),
        "docker-info": ask("info", "--format", "{{json .}}"),
        "docker-ps": ask("ps", "-a", "--no-trunc", "--format", "{{json .}}"),
    }
    if names:
        found["docker-ours"] = ask("inspect", *names)
        found["docker-logs"] = (0, write_parts({name: ask("logs", "--tail", "5", name) for name in names}))
    if images := _values(words, "--image"):
        asked = {image: ask("image", "inspect", image) for image in images}
        found["images"] = (0, write_parts(asked | _notes(node, images)))
    return found


def _notes(node: SimulatedNode, images: Sequence[str]) -> Probes:
    """What a node remembers of its images."""
    notes: Probes = {}
    for image in images:
        try:
            identity = node.engine.store.find(image)["Id"]
        except DockerRefused:
            continue
        if software := node.engine.software.get(identity):
            told = "\n".join(f"{name}={version}" for name, version in asdict(software).items())
            notes[f"software {image}"] = (0, told)
        if f"{node.state_dir}/images/{identity.removeprefix('sha256:')}.graphs-hung" in node.files:
            notes[f"graphs-hung {image}"] = (0, "yes")
    return notes


def _model(node: SimulatedNode, model: str) -> str:
    name, _, _revision = model.partition("@")
    folder = f"{node.home}/.cache/huggingface/hub/models--{name.replace('/', '--')}"
    commit = node.models.get(name)
    if commit is None:
        return f"folder {folder}\nabsent"
    listed = "\n".join(f"file {size} ./{file}" for file, size in SIZES.items())
    config = f"\nconfig {node.configs[name]}" if node.configs.get(name) else ""
    return f"folder {folder}\nref main {commit}\nsnapshot {commit}\nrevision {commit}\n{listed}{config}"
