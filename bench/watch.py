"""What `sparkops watch` costs: CPU of its process and of a node, with several numbers of emulated nodes.

    python bench/watch.py --nodes 2 16 64

Runs the live screen on a terminal of 80 x 24, then the page with one client, and reads CPU seconds from /proc.
A node's are those of the loop and of all that it ran; its `docker` and `nvidia-smi` are emulated, and the real ones
take longer. All nodes run on this machine, so wall times say nothing; CPU seconds do. Linux only.
"""

import argparse
import fcntl
import http.client
import itertools
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SPARKOPS = (sys.executable, "-m", "sparkops")
WATCH = (*SPARKOPS, "-i", "lab", "watch")
Shown = tuple[int, list[int]]
"""The process of a watch, and the sizes of what it has shown."""
TICK = os.sysconf("SC_CLK_TCK")
WARM = 15.0
"""Seconds in which all streams begin."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 16, 64])
    parser.add_argument("--seconds", type=float, default=60.0)
    told = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    print(
        "| nodes | shown | of one core: watch | a node's loop | bytes shown a second |",
        "|---|---|---|---|---|",
        sep="\n",
    )
    for nodes in told.nodes:
        with tempfile.TemporaryDirectory(prefix="watch-") as scratch:
            os.environ |= {"SPARKOPS_LAB_DIR": f"{scratch}/lab", "XDG_STATE_HOME": f"{scratch}/state"}
            lab("up", "--nodes", str(nodes), "--ray", "emulated")
            try:
                with varied(Path(scratch) / "lab"):
                    for shown in (screen, page):
                        viewer, node, size = measured(Path(scratch) / "lab", told.seconds, shown)
                        print(f"| {nodes} | {shown.__name__} | {viewer:.1%} | {node:.1%} | {size:.0f} |", flush=True)
            finally:
                lab("down")


def lab(*words: str) -> None:
    subprocess.run([*SPARKOPS, "lab", *words], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def varied(directory: Path) -> Iterator[None]:
    """Let the memory of each node change all the time, as a real one's does: what stays the same costs less to show."""
    over = threading.Event()

    def change() -> None:
        for count in itertools.count():
            for path in directory.glob("nodes/*/root/proc/meminfo"):
                told = re.sub(r"(?m)^(MemAvailable: +)\d+", rf"\g<1>{90_000_000 + count}", path.read_text())
                path.with_suffix(".new").write_text(told)
                path.with_suffix(".new").replace(path)
            if over.wait(1.0):
                return

    changing = threading.Thread(target=change)
    changing.start()
    try:
        yield
    finally:
        over.set()
        changing.join()


def measured(directory: Path, seconds: float, shown: Callable[[], AbstractContextManager[Shown]]) -> list[float]:
    """Share of a core that the viewer and the first node's loop take, and bytes a second that are shown."""
    with shown() as (process, sizes):
        time.sleep(WARM)
        loops = on_node(directory / "nodes" / "node1")
        start, before = time.monotonic(), (spent([process]), spent(loops), sum(sizes))
        time.sleep(seconds)
        lasted, after = time.monotonic() - start, (spent([process]), spent(loops), sum(sizes))
    return [(now - then) / lasted for then, now in zip(before, after, strict=True)]


@contextmanager
def screen() -> Iterator[Shown]:
    """A terminal of 80 x 24."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(WATCH, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True)
    os.close(inner)
    with ended(process):
        yield process.pid, sizes_of(lambda: os.read(terminal, 65536))


@contextmanager
def page() -> Iterator[Shown]:
    """A page, and a client that follows it as a browser does."""
    process = subprocess.Popen([*WATCH, "--web"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    with ended(process):
        link = urlsplit(next(word for line in process.stderr or () for word in line.split() if "token=" in word))
        client = http.client.HTTPConnection(link.netloc, timeout=60)
        client.request("GET", f"/?{link.query}")
        entered = client.getresponse()
        entered.read()
        client.request("GET", "/api/events", headers={"Cookie": (entered.getheader("Set-Cookie") or "").split(";")[0]})
        yield process.pid, sizes_of(client.getresponse().readline)


@contextmanager
def ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
        if process.poll() is not None:
            sys.exit(f"watch ended with exit code {process.returncode}, so its numbers say nothing")
    finally:
        process.terminate()
        process.wait(30)


def sizes_of(read: Callable[[], bytes]) -> list[int]:
    """The sizes of what a thread reads, until the other side ends."""
    sizes: list[int] = []

    def follow() -> None:
        with suppress(OSError, http.client.HTTPException):
            while data := read():
                sizes.append(len(data))

    threading.Thread(target=follow, daemon=True).start()
    return sizes


def on_node(directory: Path) -> list[int]:
    """The processes of a node."""
    mark = f"SPARKLAB_NODE={directory}\0".encode()
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if mark in content(path)]


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def spent(processes: list[int]) -> float:
    """CPU seconds of these processes and of their children that ended."""
    stats = (content(Path(f"/proc/{process}/stat")).rpartition(b") ")[2].split() for process in processes)
    return sum(sum(map(int, fields[11:15])) for fields in stats if fields) / TICK


if __name__ == "__main__":
    main()
