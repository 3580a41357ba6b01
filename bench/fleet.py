"""How fast sparkops reads many nodes, beside other clients on the same work: `python bench/fleet.py --nodes 64`.

Starts real OpenSSH servers on loopback (or takes an inventory with -i), then asks every client in turn, round by round,
so that what else the machine does falls on all of them. The servers run here too and stand in every wall time: compare
the columns `x`, which are ratios to tuned Paramiko with one script, of the same round.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clients import CLIENTS
from sshds import Servers, running

YARDSTICK = ("paramiko-tuned", "script")
WORKS = ("script", "ten")
FINE = (0, 3)
"""Exit 3 is a verdict: this machine is no GB10."""

ROW = "{:<26}{:>8}{:>8}{:>8}{:>8}{:>9}{:>13}"


@dataclass(frozen=True)
class Taken:
    """One run: seconds by the clock and of the client's CPU (its children included), MiB of its largest process."""

    wall: float
    cpu: float
    rss: float
    connections: int


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("-i", dest="inventory", help="an inventory of Linux machines; without it servers are started")
    parser.add_argument("--nodes", type=int, default=64, help="how many servers (default 64)")
    parser.add_argument("--runs", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--only", help="clients, comma separated: " + ", ".join(CLIENTS))
    parser.add_argument("--work", choices=WORKS, action="append", help="one of the works alone (default both)")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else [name for name in CLIENTS if there(name)]
    cases = [(name, work) for name in names for work in (asked.work or WORKS if name != "sparkops" else ("script",))]
    if YARDSTICK not in cases:
        cases.insert(0, YARDSTICK)
    with fleet(asked.inventory, asked.nodes) as (path, servers):
        for case in cases:  # the first of each writes its bytecode and warms the disk's cache
            once(case, path, servers)
        rounds = [{case: once(case, path, servers) for case in cases} for _ in range(asked.runs)]
    show(rounds, len(servers.all) if servers else 0)
    return 0


def show(rounds: list[dict[tuple[str, str], Taken]], nodes: int) -> None:
    load = os.getloadavg()[0]
    print(f"{nodes or 'your'} nodes, {len(rounds)} rounds, load {load:.1f} on {os.cpu_count()} CPUs; medians")
    print(ROW.format("client, work", "wall s", "x", "CPU s", "x", "MiB", "connections"))
    for name, work in rounds[0]:
        runs = [(taken[name, work], taken[YARDSTICK]) for taken in rounds]
        wall, cpu = (median(getattr(one, what) for one, _ in runs) for what in ("wall", "cpu"))
        walls = median(one.wall / yard.wall for one, yard in runs)
        cpus = median(one.cpu / yard.cpu for one, yard in runs)
        rss, opened = max(one.rss for one, _ in runs), max(one.connections for one, _ in runs)
        told = f"{opened / nodes:.2f} a node" if nodes else "-"
        numbers = (f"{wall:.2f}", f"{walls:.2f}", f"{cpu:.2f}", f"{cpus:.2f}", f"{rss:.0f}", told)
        print(ROW.format(f"{name}, {work}", *numbers))


def median(values: Iterator[float]) -> float:
    return statistics.median(list(values))


def once(case: tuple[str, str], path: str, servers: Servers | None) -> Taken:
    words = [sys.executable, str(Path(__file__).with_name("clients.py")), case[0], path, case[1]]
    before = servers.connections() if servers else 0
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(words, stdout=said, stderr=said, env=environment())
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in FINE:
            said.seek(0)
            raise SystemExit(f"{case}: exit {process.returncode}\n{said.read().decode(errors='replace')[-2000:]}")
    opened = servers.connections() - before if servers else 0
    return Taken(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, opened)


def environment() -> dict[str, str]:
    """The checkout's sparkops unless one is installed; no settings of the person's own; bytecode as pip leaves it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SPARKOPS_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    root = str(Path(__file__).resolve().parents[1])
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, (kept.get("PYTHONPATH"), root)))}


@contextmanager
def fleet(named: str | None, nodes: int) -> Iterator[tuple[str, Servers | None]]:
    if named:
        yield named, None
        return
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch, running(Path(scratch), nodes) as servers:
        yield str(servers.inventory), servers


def there(client: str) -> bool:
    package = CLIENTS[client][0]
    return not package or package == "sparkops" or importlib.util.find_spec(package) is not None


if __name__ == "__main__":
    sys.exit(main())
