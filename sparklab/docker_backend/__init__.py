"""The docker backend: nodes with real sshd, Docker, Ray, vLLM and LiteLLM, as privileged containers. Needs root.

The lab's record (`lab.json`) is written before anything is started, and every name derives from it, so `down`
also clears what a crashed `up` left.
"""

import os
from pathlib import Path
from typing import Any

from sparklab import files
from sparklab.docker_backend import engine, images, network, nodes, sweep, troubles
from sparklab.docker_backend.place import Place

FAULTS = troubles.FAULTS


def up(directory: Path, record: dict[str, Any]) -> None:
    """Engine, images, nodes, cables; a failure leaves nothing."""
    record |= {"engine": None}
    os.environ["SPARKLAB_LAB"] = record["id"]  # `down` finds by it what a killed `up` left running
    files.write_json(directory / "lab.json", record)
    place = Place(directory, record)
    try:
        record["engine"] = engine.start(place, images.node_store())
        files.write_json(directory / "lab.json", record)
        images.provide(place)
        with files.locked("/run"):  # until the route exists, another lab could choose this subnet
            record["subnet"] = network.free_subnet()
            files.write_json(directory / "lab.json", record)
            network.up(place)
        nodes.up(place)
    except BaseException:
        down(directory, record)
        raise


def running(record: dict[str, Any]) -> bool:
    """Whether the lab has a network and its engine answers; the next `up` removes one that was killed before that."""
    return "subnet" in record and bool(record.get("engine")) and engine.answers(record["engine"]["host"])


def down(directory: Path, record: dict[str, Any]) -> None:
    sweep.down(Place(directory, record))


def status(directory: Path, record: dict[str, Any], reset: bool) -> dict[str, Any]:
    return {"nodes": nodes.status(Place(directory, record), reset)}


def fault(directory: Path, record: dict[str, Any], node: str, kind: str, off: bool, after: int) -> None:
    del after
    troubles.switch(Place(directory, record), node, kind, off)
