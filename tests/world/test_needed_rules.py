"""Every fixing rule is needed: with it the emulated engine serves, without it that fails, is diagnosed and is undone.

The engine is the lab's, booted in this process; it knows nothing of our rules.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops.testing import BootRule, EngineBoot, SimulatedContainer
from support.paths import RULE_RECIPES
from support.world import Lab

if not sys.platform.startswith("linux"):
    pytest.skip("the lab's engine needs Linux", allow_module_level=True)
emulated = pytest.importorskip("support.emulated", reason="it needs asyncssh")
from sparklab.engine import boot, failures  # noqa: E402
from sparklab.engine.flags import parse  # noqa: E402
from sparklab.engine.ranks import Ranks  # noqa: E402
from sparklab.engine.settings import Settings, StartError  # noqa: E402

ROWS = yaml.safe_load((RULE_RECIPES.parent / "fixing_rules.yml").read_text(encoding="utf-8"))
BEFORE = ("solo", "--limit", "node1", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
CACHE = "/root/.cache/huggingface"
octet, standing, nodes = emulated.octet, emulated.standing, emulated.nodes


def booted(nodes: Any, one: SimulatedContainer, image: str) -> EngineBoot:
    """How the lab's engine comes up from what a simulated container was started with; its other ranks are there."""
    log, refuses, crashes = io.StringIO(), "", False
    given = list(one.words[one.words.index("serve") + 1 :])
    if "--revision" in given:  # the simulated nodes' models have other commits than the lab's
        del given[given.index("--revision") : given.index("--revision") + 2]
    models = any(mount.split(":")[1] == CACHE for mount in one.mounts)
    with (
        nodes.inside(image, env=one.env, models=models),
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            settings = Settings(parse(given, os.environ["SPARKLAB_KIND"]))
            boot.Boot(settings, Ranks(settings)).run()
            refuses = failures.chat(settings)
        except StartError as error:
            crashes = boot.give_up(error) == 1
            log.write("sparkops: the engine ended with exit code 1\n")  # as the entry script has it
    return EngineBoot(crashes=crashes, refuses=refuses, log=tuple(log.getvalue().splitlines()))


def words(row: dict[str, Any]) -> tuple[object, ...]:
    own = RULE_RECIPES / row["recipe"]
    sets = [word for item in row.get("set", ()) for word in ("--set", item)]
    return (row["topology"], "--recipe", own if own.is_file() else row["recipe"], *sets)


def started(lab: Lab) -> Iterator[tuple[SimulatedContainer, str]]:
    """The engines that run, and their images' names."""
    for node in lab.world.nodes.values():
        names = {one["Id"]: one["RepoTags"][0].removesuffix(":latest") for one in node.engine.store.all()}
        yield from ((one, names[one.image]) for one in node.engine.listed() if one.running and "serve" in one.words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']}-{row['recipe'].removesuffix('.yml')}")
def test_without_the_rule_the_deploy_fails_is_diagnosed_and_is_undone_and_with_it_serves(
    tmp_path: Path, nodes: Any, row: dict[str, Any]
) -> None:
    tried = Lab(tmp_path / "tried")
    fixed = tried.deploy(*words(row))  # type: ignore[arg-type]
    assert row["rule"] in {rule["id"] for rule in fixed["rules"] if rule["changes"]}
    boots = [booted(nodes, *one) for one in started(tried)]
    assert [(boot.crashes, boot.refuses, boot.log[-3:]) for boot in boots if boot.crashes or boot.refuses] == []

    allowed = (*words(row), "--allow", row["rule"])
    tried.deploy(*allowed)  # type: ignore[arg-type]
    ((bad, image),) = started(tried)
    death = booted(nodes, bad, image)
    assert death.crashes or death.refuses, "nobody would need the rule"

    lab = Lab(tmp_path / "lab")
    lab.deploy(*BEFORE)
    before = lab.containers()
    lab.world.boot(BootRule(lambda _image, given: given == bad.words, death))
    ran = lab.cli("deploy", "--json", "--topology", *allowed, code=5)
    error = ran.document["error"]
    assert error["kind"] == "failed"
    assert re.search(row["failure"], ran.told), ran.told
    assert error["diagnosis"]["cause"], ran.told
    assert error["hint"]
    assert lab.running() == lab.containers() == before, "nothing of the failed revision is left"
    assert lab.serves(), "what served before serves again"
