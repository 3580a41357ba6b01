"""Every fixing rule is needed: with it the emulated engine serves, without it that fails, is diagnosed and is undone.

The engine is the lab's, booted in this process; it knows nothing of our rules.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml

from sparkops.lab import files
from sparkops.lab.engine import failures
from sparkops.lab.engine.boot import Boot as Booting
from sparkops.lab.engine.boot import give_up
from sparkops.lab.engine.flags import parse
from sparkops.lab.engine.ranks import Ranks
from sparkops.lab.engine.settings import Settings, StartError
from sparkops.lab.layout import Node
from sparkops.lab.tree import build, memory
from sparkops.testing import Boot, BootRule, Container
from support.paths import RULE_RECIPES
from support.world import Lab

ROWS = yaml.safe_load((RULE_RECIPES.parent / "fixing_rules.yml").read_text(encoding="utf-8"))
BEFORE = ("solo", "--limit", "node1", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
CACHE = "/root/.cache/huggingface"
Engine = Callable[[Container, str], Boot]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """How the lab's engine comes up from what a simulated container was started with, in this image."""
    place = tmp_path_factory.mktemp("a lab")
    record = {"id": "a lab", "octet": 9, "speed": 1000.0, "ray": "emulated", "count": 1, "short": str(place)}
    files.write_json(place / "lab.json", record)
    (place / "at").mkdir()
    build.programs(place)
    build.node(place, record, 1, "ssh-ed25519 AAAA")
    node = Node(place / "nodes" / "node1")

    def boots(one: Container, image: str) -> Boot:
        root = tmp_path_factory.mktemp("a container")
        (root / CACHE[1:]).parent.mkdir(parents=True)
        if any(mount.split(":")[1] == CACHE for mount in one.mounts):
            (root / CACHE[1:]).symlink_to(Path(node.home, ".cache", "huggingface"))
        kind = "vllm-mxfp4" if "mxfp4" in image else "vllm"
        own = {"SPARKLAB_NODE": node.directory, "SPARKLAB_KIND": kind, "SPARKOPS_ROOT": str(root)}
        memory.reset(node)
        memory.change(node, cached=memory.CACHE_DROPPED)
        with patch.dict(os.environ, one.env | own, clear=True):
            return _boot(list(one.words[one.words.index("serve") + 1 :]), kind)

    return boots


def _boot(words: list[str], kind: str) -> Boot:
    """The other ranks of a cluster are taken to be there."""
    log, refuses, crashes = io.StringIO(), "", False
    if "--revision" in words:  # the simulated nodes' models have other commits than the lab's
        del words[words.index("--revision") : words.index("--revision") + 2]
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            settings = Settings(parse(words, kind))
            Booting(settings, Ranks(settings)).run()
            refuses = failures.chat(settings)
        except StartError as error:
            crashes = give_up(error) == 1
            log.write("sparkops: the engine ended with exit code 1\n")  # as the entry script has it
    return Boot(crashes=crashes, refuses=refuses, log=tuple(log.getvalue().splitlines()))


def words(row: dict[str, Any]) -> tuple[object, ...]:
    own = RULE_RECIPES / row["recipe"]
    sets = [word for item in row.get("set", ()) for word in ("--set", item)]
    return (row["topology"], "--recipe", own if own.is_file() else row["recipe"], *sets)


def started(lab: Lab) -> Iterator[tuple[Container, str]]:
    """The engines that run, and their images' names."""
    for node in lab.world.nodes.values():
        names = {found["Id"]: name for name, found in node.engine.images.items()}
        yield from ((one, names[one.image]) for one in node.engine.listed() if one.running and "serve" in one.words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']}-{row['recipe'].removesuffix('.yml')}")
def test_without_the_rule_the_deploy_fails_is_diagnosed_and_is_undone_and_with_it_serves(
    tmp_path: Path, engine: Engine, row: dict[str, Any]
) -> None:
    tried = Lab(tmp_path / "tried")
    fixed = tried.deploy(*words(row))  # type: ignore[arg-type]
    assert row["rule"] in {rule["id"] for rule in fixed["rules"] if rule["action"] == "fix"}
    boots = [engine(*one) for one in started(tried)]
    assert [(boot.crashes, boot.refuses, boot.log[-3:]) for boot in boots if boot.crashes or boot.refuses] == []

    allowed = (*words(row), "--allow", row["rule"])
    tried.deploy(*allowed)  # type: ignore[arg-type]
    ((bad, image),) = started(tried)
    boot = engine(bad, image)
    assert boot.crashes or boot.refuses, "nobody would need the rule"

    lab = Lab(tmp_path / "lab")
    lab.deploy(*BEFORE)
    before = lab.containers()
    lab.world.boot(BootRule(lambda _image, given: given == bad.words, boot))
    ran = lab.cli("deploy", "--json", "--topology", *allowed, code=5)
    error = ran.document["error"]
    assert error["kind"] == "failed"
    assert re.search(row["failure"], ran.told), ran.told
    assert error["diagnosis"]["cause"], ran.told
    assert error["hint"]
    assert lab.running() == lab.containers() == before, "nothing of the failed revision is left"
    assert lab.serves(), "what served before serves again"
