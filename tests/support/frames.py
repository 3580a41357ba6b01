"""Frames of a node's stream, as `node/watch.sh` prints them."""

from collections.abc import Mapping

from sparkops.core.facts.raw import write, write_parts
from sparkops.core.stored import Stored
from sparkops.core.watch.frame import WatchFrame, frame
from sparkops.core.watch.node import WatchedNode, heard

HASH = "abcdef12" * 8
TOTAL = 127535056


def engine_text(health: str = "200 0", log: str = "", **counters: float) -> str:
    lines = [f'vllm:{name}{{engine="0",model_name="m"}} {value}' for name, value in counters.items()]
    return "\n".join([f"http {health}", *lines, *(["log", log] if log else [])])


def container_line(
    name: str, state: str = "running", restarts: int = 0, role: str = "server", deployment: str = "chat"
) -> str:
    ident = f"{sum(map(ord, name)):064x}"
    return f"{ident} {state} {restarts} 2026-11-28T10:00:00Z false /{name} {HASH} {role} {deployment}"


def frame_text(
    uptime: float = 100.0,
    available: int = 110_000_000,
    cached: int = 5_000_000,
    gpu: str = "2405, 42.10, 96, 58, P0, 0x0000000000000000",
    link: tuple[str, str, int, int] = ("4: ACTIVE", "200 Gb/sec (4X HDR)", 0, 0),
    engines: Mapping[str, str] | None = None,
    containers: list[str] | None = None,
    boot: str = "one",
    **more: str,
) -> str:
    """`link` is state, rate, and what was received and sent, in units of four bytes; `more` are further probes."""
    state, rate, received, sent = link
    device = "rocep1s0f0"
    memory = {"MemTotal": TOTAL, "MemFree": available - cached, "MemAvailable": available, "Cached": cached}
    probes = {
        "moment": str(uptime * 100).partition(".")[0],
        "boot": f"boot_id={boot}\nuptime={uptime} 1.0",
        "meminfo": "\n".join(f"{name}: {size} kB" for name, size in memory.items()),
        "gpu-load": gpu,
        "carried": "\n".join(
            (
                f"{device}/device/net/enp1s0f0np0:",
                f"./{device}/ports/1/state:{state}",
                f"./{device}/ports/1/rate:{rate}",
                f"./{device}/ports/1/counters/port_rcv_data:{received}",
                f"./{device}/ports/1/counters/port_xmit_data:{sent}",
            )
        ),
    }
    if engines is not None:
        probes["engines"] = write_parts({name: (0, text) for name, text in engines.items()})
    if containers is not None:
        probes["seen"] = "\n".join(containers)
    probes |= {name.replace("_", "-"): text for name, text in more.items()}
    return write({name: (0, text) for name, text in probes.items()})


def a_frame(**told: object) -> WatchFrame:
    return frame(frame_text(**told))  # type: ignore[arg-type]


def watched_node(*frames: WatchFrame, name: str = "spark1", every: float = 2.0) -> WatchedNode:
    """The node after these frames, which came one after the other."""
    node = WatchedNode(name)
    for number, one in enumerate(frames):
        node = heard(node, one, every * number)
    return node


def a_deployment(nodes: int = 2, roles: tuple[str, ...] = ("head", "worker"), **data: object) -> Stored:
    """A cluster by default: the head has the API."""
    members = [
        {"name": f"spark{number + 1}", "address": f"10.0.0.{number + 1}", "role": roles[min(number, len(roles) - 1)],
         "port": 8000 if number == 0 or "server" in roles else None, "link": {"address": f"192.168.0.{number + 1}"}}
        for number in range(nodes)
    ]  # fmt: skip
    told = {"topology": "cluster", "recipe": "openai-gpt-oss-120b", "served": "openai/gpt-oss-120b", "members": members}
    return Stored("chat", HASH, {**told, **data})
