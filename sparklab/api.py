"""The lab as the CLI uses it; a backend is imported when it is used."""

import importlib
import importlib.util
import os
import secrets
from pathlib import Path
from typing import Any, Protocol, cast

from sparklab import cables, files
from sparklab.cables import SWITCH
from sparklab.errors import LabError
from sparklab.faults import FAULTS

SCHEMA = 1
MOST_NODES = 1000
BACKENDS = {"embedded": "sparklab.embedded", "docker": "sparklab.docker_backend"}
RAY = ("auto", "real", "emulated")

__all__ = ["BACKENDS", "FAULTS", "LabError", "down", "fault", "hub_url", "inventory_path", "kinds", "status", "up"]


def lab_dir() -> Path:
    """`$SPARKOPS_LAB_DIR`, else the user's state directory."""
    if given := os.environ.get("SPARKOPS_LAB_DIR"):
        return Path(os.path.abspath(given))
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(os.path.abspath(state)) / "sparkops" / "lab"


class Backend(Protocol):
    """What a backend module offers; the record is what `lab.json` holds and a backend may add to it in `up`."""

    FAULTS: dict[str, str]

    def up(self, directory: Path, record: dict[str, Any]) -> None: ...
    def down(self, directory: Path, record: dict[str, Any]) -> None: ...
    def running(self, record: dict[str, Any]) -> bool: ...
    def status(self, directory: Path, record: dict[str, Any], reset: bool) -> dict[str, Any]: ...
    def fault(self, directory: Path, record: dict[str, Any], node: str, kind: str, off: bool, after: int) -> None: ...


def up(
    nodes: int = 2,
    *,
    directory: Path | None = None,
    speed: float | None = None,
    ray: str = "auto",
    backend: str = "embedded",
    fabric: str = SWITCH,
) -> dict[str, Any]:
    """Start `nodes` nodes, or say that as many run already (`started` is then false)."""
    _check(nodes, ray, backend)
    cables.check(fabric, nodes)
    directory = directory or lab_dir()
    if ":" in str(directory):
        raise LabError(f"a lab cannot be in {directory}", "set SPARKOPS_LAB_DIR to a path without `:`")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with files.locked(directory.parent):
        record = _record(directory)
        if record and _backend(record).running(record):
            if (record["count"], record.get("fabric", SWITCH)) != (nodes, fabric):
                beside = "" if record["count"] != nodes else f" on a {record.get('fabric', SWITCH)}"
                raise LabError(f"a lab with {record['count']} nodes{beside} is up", "run `sparkops lab down` first")
            return _up(directory, record, started=False)
        if record:
            _remove(directory, record)
        if directory.exists() and any(directory.iterdir()):
            raise LabError(f"{directory} is not empty and is not a lab", "set SPARKOPS_LAB_DIR to another directory")
        directory.mkdir(exist_ok=True)
        record = {
            "schema": SCHEMA,
            "id": secrets.token_hex(8),
            "backend": backend,
            "count": nodes,
            "fabric": fabric,
            "speed": speed or float(os.environ.get("SPARKLAB_SPEED", "1")),
            "ray": ray_for(nodes, ray, os.cpu_count() or 1),
        }
        try:
            _backend(record).up(directory, record)
        except BaseException:
            _forget(directory)
            raise
    return _up(directory, _record(directory), started=True)


def down(*, directory: Path | None = None) -> dict[str, Any]:
    """Stop and remove the lab, however it was left; nothing to do is fine."""
    directory = directory or lab_dir()
    if not directory.exists():
        return {"stopped": False, "directory": str(directory)}
    with files.locked(directory.parent):
        record = _record(directory)
        if record:
            _remove(directory, record)
    return {"stopped": bool(record), "directory": str(directory)}


def status(reset: bool = False, *, directory: Path | None = None) -> dict[str, Any]:
    """`{nodes: [{name, address, port, connections, commands, faults}]}`; `reset` sets the counts to zero."""
    directory, record = _running(directory)
    return _backend(record).status(directory, record, reset)


def fault(node: str, kind: str, off: bool = False, *, after: int = 0, directory: Path | None = None) -> None:
    """Switch a fault. `after` lets so many changing commands pass before `lost-after-send` strikes."""
    directory, record = _running(directory)
    names = [f"node{number}" for number in range(1, record["count"] + 1)]
    if node not in names:
        raise LabError(f"the lab has no {node}", f"its nodes are {names[0]} to {names[-1]}")
    _backend(record).fault(directory, record, node, kind, off, after)


def kinds(backend: str | None = None, *, directory: Path | None = None) -> dict[str, str]:
    """Every fault of a backend with the line that explains it; without a name, of the lab that is up."""
    chosen = backend or _record(directory or lab_dir()).get("backend", "embedded")
    return _backend({"backend": chosen}).FAULTS


def inventory_path(directory: Path | None = None) -> Path:
    """The inventory file that `-i lab` means; it exists only while a lab is up."""
    return (directory or lab_dir()) / "inventory.yml"


def hub_url(directory: Path | None = None) -> str | None:
    """The address of the lab's model hub; None if its backend has none, or if no lab is up."""
    return _record(directory or lab_dir()).get("hub")


def _check(nodes: int, ray: str, backend: str) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise LabError(f"a lab has 1 to {MOST_NODES} nodes, not {nodes}")
    if ray not in RAY:
        raise LabError(f"ray must be one of {', '.join(RAY)}, not {ray}")
    if backend not in BACKENDS:
        raise LabError(f"no backend is called {backend}", "one of: " + ", ".join(BACKENDS))


def ray_for(nodes: int, wish: str, cores: int) -> str:
    """`real` or `emulated`; `auto` takes the real one if it can start in time, which needs a core for each node."""
    installed = importlib.util.find_spec("ray") is not None
    if wish == "real" and not installed:
        raise LabError("ray is not installed here", "run `pip install 'sparkops[lab]'`, or use --ray emulated")
    return "real" if wish == "real" or (wish == "auto" and installed and nodes <= cores) else "emulated"


def _record(directory: Path) -> dict[str, Any]:
    return files.read_json(directory / "lab.json") or {}


def _running(directory: Path | None) -> tuple[Path, dict[str, Any]]:
    directory = directory or lab_dir()
    record = _record(directory)
    if not record:
        raise LabError("no lab is running", "start one: `sparkops lab up --nodes 2`")
    if not _backend(record).running(record):
        raise LabError("the lab's daemon is gone", "run `sparkops lab down`, then `sparkops lab up`")
    return directory, record


def _up(directory: Path, record: dict[str, Any], started: bool) -> dict[str, Any]:
    found = _backend(record).status(directory, record, False)
    places = {"directory": str(directory), "inventory": str(inventory_path(directory))}
    return {"started": started, **places, "ray": record["ray"] if record["backend"] == "embedded" else "real", **found}


def _remove(directory: Path, record: dict[str, Any]) -> None:
    _backend(record).down(directory, record)
    _forget(directory)


def _forget(directory: Path) -> None:
    """The record goes last, so that an interrupted `down` can be repeated."""
    (directory / "lab.json").unlink(missing_ok=True)
    if directory.exists() and not any(directory.iterdir()):
        directory.rmdir()


def _backend(record: dict[str, Any]) -> Backend:
    try:
        return cast(Backend, importlib.import_module(BACKENDS[record["backend"]]))
    except ModuleNotFoundError as error:
        raise LabError(
            f"the lab needs {error.name}, which is not installed here", "run `pip install 'sparkops[lab]'`"
        ) from error
