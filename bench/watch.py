"""What `sparkops watch` costs: CPU of its process and of a node, with several numbers of emulated nodes.

    python bench/watch.py --nodes 2 16 64

Runs the live screen on a terminal of 80 x 24 and reads CPU seconds from /proc. A node's are those of the loop and of
all that it ran; its `docker` and `nvidia-smi` are emulated, and the real ones take longer. All nodes run on this
machine, so wall times say nothing; CPU seconds do. Linux only.
"""

import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

SPARKOPS = (sys.executable, "-m", "sparkops")
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
        "| nodes | of one core: watch | a node's loop | bytes to the terminal a second |", "|---|---|---|---|", sep="\n"
    )
    for nodes in told.nodes:
        with tempfile.TemporaryDirectory(prefix="watch-") as scratch:
            os.environ |= {"SPARKOPS_LAB_DIR": f"{scratch}/lab", "XDG_STATE_HOME": f"{scratch}/state"}
            lab("up", "--nodes", str(nodes), "--ray", "emulated")
            try:
                viewer, node, drawn = measured(Path(scratch) / "lab", told.seconds)
            finally:
                lab("down")
        print(f"| {nodes} | {viewer:.1%} | {node:.1%} | {drawn:.0f} |", flush=True)


def lab(*words: str) -> None:
    subprocess.run([*SPARKOPS, "lab", *words], check=True, stdout=subprocess.DEVNULL)


def measured(directory: Path, seconds: float) -> tuple[float, float, float]:
    """Share of a core that the viewer and the first node's loop take, and bytes a second to the terminal."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    words = [*SPARKOPS, "-i", "lab", "watch"]
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True)
    os.close(inner)
    drawn: list[int] = []
    threading.Thread(target=read, args=(terminal, drawn), daemon=True).start()
    time.sleep(WARM)
    loops = on_node(directory / "nodes" / "node1")
    before, bytes_before, start = spent([process.pid]), sum(drawn), time.monotonic()
    nodes_before = spent(loops)
    time.sleep(seconds)
    lasted = time.monotonic() - start
    viewer, node = spent([process.pid]) - before, spent(loops) - nodes_before
    process.terminate()
    process.wait(30)
    return viewer / lasted, node / lasted, (sum(drawn) - bytes_before) / lasted


def read(terminal: int, drawn: list[int]) -> None:
    try:
        while data := os.read(terminal, 65536):
            drawn.append(len(data))
    except OSError:  # the other side was closed
        return


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
