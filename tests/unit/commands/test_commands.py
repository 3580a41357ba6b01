"""Every command that is sent to nodes, to the letter: each line of `commands.txt` is a call of its builder.

LiteLLM's configuration among them: every server shares the served name, and is a way out when the others do not answer.
"""

import inspect
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkops.core.bench.suites import Point, Suite
from sparkops.core.copying import Hop
from sparkops.core.fleet.routes import ModelRoute, RoutedServer
from sparkops.core.model_name import model_name
from sparkops.core.plan import Command, Script, Secret, Upload
from sparkops.core.revision import FabricLink, Member, Revision, RevisionImage
from sparkops.core.schedule import Schedule, When
from sparkops.node_commands import (
    benchy,
    caches,
    copies,
    docker,
    gateway,
    images,
    models,
    proxy,
    rights,
    scripts,
    vllm,
    watch,
)
from support import golden

FILE = Path(__file__).with_name("commands.txt")
MODULES = (benchy, caches, copies, docker, gateway, images, models, proxy, rights, scripts, vllm, watch)
NAMES: dict[str, Any] = {
    **{module.__name__.rpartition(".")[2]: module for module in MODULES},
    **{kind.__name__: kind for kind in (Hop, Point, Secret, Script, Suite, Upload, When, Schedule)},
    "TWO": Suite("two", "", "", (256,), (16,), (1, 2), runs=2),
    "MODEL": model_name("org/model@" + "a" * 40),
    "ModelRoute": ModelRoute,
    "RoutedServer": RoutedServer,
    "replace": replace,
}


def revision(topology: str, executor: str | None) -> Revision:
    links = [FabricLink(f"192.0.2.{n}", f"enp{n}", f"enP{n}", (f"roce{n}", f"roceP{n}")) for n in (1, 2, 3)]
    roles = ("head", "worker", "worker") if topology == "cluster" else ("server",) * 3
    engines = [
        Member(f"spark{n}", f"10.0.0.{n}", role, n - 1, 8000 if role != "worker" else None, link)
        for n, (role, link) in enumerate(zip(roles, links, strict=True), 1)
    ]
    front = () if topology == "cluster" else (Member("spark1", "10.0.0.1", "proxy", 0, 4000),)
    image = RevisionImage("vllm-node", "0")
    names = ("d", "r", "org/model", "org/model", "chat", topology, executor, image)
    return Revision(*names, {"seed": 1}, {"A": "1"}, ("vllm",), (*engines, *front))


NAMES |= {
    "SOLO": revision("3x-solo", None), "RAY": revision("cluster", "ray"), "MP": revision("cluster", "mp"),
    "BARE": Member("spark9", "10.0.0.9", "server", 0, None, FabricLink("192.0.2.9", "eth0")),
    "ALONE": Member("spark9", "10.0.0.9", "server", 0, 9000),
}  # fmt: skip


def called(line: str) -> str:
    found = eval(line, dict(NAMES))  # noqa: S307 - a call in a file of ours
    if not isinstance(found, Command):
        return words(found) if isinstance(found, tuple) and found and isinstance(found[0], str | Script) else str(found)
    usual = vars(Command(()))
    said = [f"{name}={value!r}" for name, value in vars(found).items() if name != "words" and value != usual[name]]
    return f"{words(found.words)}\n  {' '.join(said)}".rstrip()


def words(found: tuple[Any, ...]) -> str:
    return " ".join(f"@{word.name}" if isinstance(word, Script) else shlex.quote(str(word)) for word in found)


def test_each_call_makes_the_command_that_the_file_says() -> None:
    golden.hold_lines(FILE, called)


def test_every_builder_is_called() -> None:
    text = FILE.read_text(encoding="utf-8")
    builders = [
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in MODULES
        for name, one in inspect.getmembers(module, inspect.isfunction)
        if one.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert [name for name in builders if f"| {name}(" not in text] == []


def test_clients_see_the_served_name_only() -> None:
    assert "models=[SERVED]" in proxy.AUTH, "the first entry of the configuration's list of models"


def test_the_proxy_counts_for_prometheus_only_where_it_is_asked_to() -> None:
    without, counts = (
        json.loads(proxy.config(replace(NAMES["SOLO"], proxy_metrics=told)))["litellm_settings"]
        for told in (None, True)
    )
    assert "callbacks" not in without
    assert (counts["callbacks"], counts["require_auth_for_metrics_endpoint"]) == (["prometheus"], False)
