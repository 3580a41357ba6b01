"""Everything that this backend can make go wrong on a node, and how."""

import time
from collections.abc import Callable

from sparklab import files
from sparklab.cables import PORTS
from sparklab.docker_backend import network, nodes
from sparklab.docker_backend.engine import docker
from sparklab.docker_backend.place import MANAGEMENT, NodePlace, Place
from sparklab.errors import LabError

Trouble = Callable[[NodePlace, bool], None]


def switch(place: Place, name: str, kind: str, off: bool) -> None:
    """Switch a fault, and record for `lab status` whether it is on."""
    if kind not in TROUBLES:
        raise LabError(f"the docker lab has no fault called {kind}", "one of: " + ", ".join(FAULTS))
    node = place.node(name)
    act, _ = TROUBLES[kind]
    act(node, off)
    mark = node.directory / "faults" / kind
    mark.parent.mkdir(exist_ok=True)
    if off:
        mark.unlink(missing_ok=True)
    elif kind not in ONE_SHOT:
        files.write(mark, "")


def _in_node(*words: str, undo: tuple[str, ...] = ()) -> Trouble:
    """Done by act.sh on the node."""

    def act(node: NodePlace, off: bool) -> None:
        chosen = undo if off else words
        if chosen:
            docker(node.lab, "exec", node.container, "sh", "/usr/local/lib/sparkops-lab/act.sh", *chosen)

    return act


def _at_boot(name: str) -> Trouble:
    """A file that the node's process 1 looks for."""

    def mark(node: NodePlace, off: bool) -> None:
        if off:
            (node.state / name).unlink(missing_ok=True)
        else:
            files.write(node.state / name, "")

    return mark


def _at_once(name: str) -> Trouble:
    """The same for a file that process 1 looks for each second."""

    def mark(node: NodePlace, off: bool) -> None:
        _at_boot(name)(node, off)
        time.sleep(2)

    return mark


def _unreachable(node: NodePlace, off: bool) -> None:
    network.cables(node, [MANAGEMENT], plugged=off)


def _cx7_down(node: NodePlace, off: bool) -> None:
    network.cables(node, node.cabled, plugged=off)


def _cable_pulled(node: NodePlace, off: bool) -> None:
    network.cables(node, PORTS[max(node.ports)], plugged=off)


def _packet_loss(node: NodePlace, off: bool) -> None:
    _in_node("drop", *node.cabled, undo=("pass", *node.cabled))(node, off)


SHOWN = (
    "until ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null"
    " | grep -qF \"$(cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub)\"; do sleep 0.2; done"
)


def _host_key(node: NodePlace, off: bool) -> None:
    """Change the host key and wait until sshd shows it: sshd restarts itself and shows the old key until then."""
    _in_node("hostkey", "other", undo=("hostkey", "own"))(node, off)
    docker(node.lab, "exec", node.container, "timeout", "100", "sh", "-c", SHOWN)


def _start(node: NodePlace) -> None:
    docker(node.lab, "start", node.container)
    network.plug(node)
    nodes.await_ready(node)


def _cut(node: NodePlace) -> None:
    network.unplug(node)
    docker(node.lab, "kill", node.container)
    docker(node.lab, "wait", node.container)


def _power(node: NodePlace, off: bool) -> None:
    _start(node) if off else _cut(node)


def _power_loss(node: NodePlace, off: bool) -> None:
    if not off:
        _cut(node)
        _start(node)


def _reboot(node: NodePlace, off: bool) -> None:
    if not off:
        docker(node.lab, "stop", "-t", "40", node.container)
        network.unplug(node)
        _start(node)


TROUBLES: dict[str, tuple[Trouble, str]] = {
    "node-off": (_power, "the node loses its power; it boots when you switch this fault off"),
    "reboot": (_reboot, "once: an orderly reboot; then containers restart by their policy"),
    "power-loss": (_power_loss, "once: the power is cut and comes back"),
    "unreachable": (_unreachable, "the management cable is unplugged; processes on the node continue"),
    "cx7-down": (_cx7_down, "the node's CX7 cables are unplugged; the nodes at their other ends lose the link too"),
    "cable-pulled": (
        _cable_pulled,
        "the cable of the last port that has one is pulled; the other end has no link either",
    ),
    "packet-loss": (_packet_loss, "the CX7 links drop all packets, but show that they are up"),
    "disk-full": (_in_node("fill", undo=("empty",)), "the disk with homes, /tmp and container logs is full"),
    "engine-killed": (_in_node("signal", "KILL", "VLLM::"), "once: vLLM's engine processes get SIGKILL"),
    "ray-worker-killed": (_in_node("signal", "KILL", "raylet"), "once: the node's raylet gets SIGKILL"),
    "engine-frozen": (
        _in_node("signal", "STOP", "VLLM::", undo=("signal", "CONT", "VLLM::")),
        "vLLM's engine processes are stopped (SIGSTOP) until --off",
    ),
    "docker-restart": (_in_node("signal", "TERM", "dockerd"), "once: the Docker daemon restarts"),
    "not-set-up": (
        _at_once("not-set-up"),
        "the CX7 interfaces have no IPv4 addresses and MTU 1500, as on a new node, but for what netplan says",
    ),
    "late-fabric": (
        _at_boot("late-fabric"),
        "from the next boot on, the CX7 addresses appear 60 s after the Docker daemon",
    ),
    "late-device": (
        _at_boot("late-device"),
        "from the next boot on, /dev/infiniband appears 60 s after the Docker daemon",
    ),
    "no-docker-group": (
        _in_node("group", "without", undo=("group", "with")),
        "the user may not use Docker, as on a stock Spark (from the next login on)",
    ),
    "sudo-password": (
        _in_node("sudo", "password", undo=("sudo", "free")),
        "sudo asks for the password (`spark`), as on a stock Spark",
    ),
    "bad-host-key": (_host_key, "sshd shows another host key, as a reinstalled or foreign machine does"),
}
ONE_SHOT = frozenset({"reboot", "power-loss", "engine-killed", "ray-worker-killed", "docker-restart"})
FAULTS = {kind: text for kind, (_, text) in TROUBLES.items()}
