"""Remove a lab, however it was left: containers, processes, mounts, cables, control groups, files. Only ours."""

import os
from pathlib import Path

from sparklab import files, processes
from sparklab.docker_backend import engine, network
from sparklab.docker_backend.place import Place
from sparklab.docker_backend.shell import tried
from sparklab.errors import LabError

OURS = ("keys", "inventory.yml", "inventory.yml.known_hosts")


def down(place: Place) -> None:
    """Each step works whether or not the one before found anything."""
    containers = _containers(place)
    _processes(place)
    network.down(place)
    _mounts(place)
    _groups(containers)
    for path in (place.inside, *(place.directory / name for name in OURS)):
        files.clear(path)
    if place.inside.exists():
        raise LabError(
            f"{place.inside} could not be removed", "`sparkops lab down` again; what it names is still in use"
        )


def _containers(place: Place) -> list[str]:
    """Remove the containers if the engine still answers; return their ids, which also name their control groups."""
    data = place.engine_data / "containers"
    ids = [path.name for path in data.iterdir()] if data.is_dir() else []
    if place.record.get("engine") and engine.answers(place.record["engine"]["host"]):
        label = f"label=sparkops.lab={place.record['id']}"
        listed = engine.docker(place, "ps", "-aq", "--no-trunc", "--filter", label).split()
        if listed:
            engine.docker(place, "rm", "-f", "-v", *listed, timeout=300)
        ids += listed
    return ids


def _processes(place: Place) -> None:
    """End the lab's engine, other processes of `up`, and their descendants; the machine's own engine keeps running."""
    ours = (place.record.get("engine") or {}).get("ours")
    processes.end([f"SPARKLAB_LAB={place.record['id']}"], [tuple(ours)] if ours else [], patience=20.0)


def _mounts(place: Place) -> None:
    """Everything mounted below the lab, innermost first."""
    prefix = str(place.inside) + "/"
    lines = Path("/proc/self/mounts").read_text().splitlines()
    points = [line.split()[1].encode().decode("unicode_escape") for line in lines]
    for point in sorted((point for point in points if point.startswith(prefix)), reverse=True):
        if not tried("umount", point):
            tried("umount", "-l", point)


def _groups(containers: list[str]) -> None:
    """Control groups that a killed engine could not remove: named by container, empty by now."""
    root = Path("/sys/fs/cgroup")
    for controller in [root, *(path for path in root.iterdir() if path.is_dir())]:
        for name in [*containers, ""]:
            folders = os.walk(controller / "docker" / name) if name else [(str(controller / "docker"),)]
            for folder in sorted((found[0] for found in folders), reverse=True):
                try:
                    os.rmdir(folder)
                except OSError:
                    continue
