"""Recipes of other launchers, and what those launchers make of them, written again from how they are described."""

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from sparkops.core import formats
from sparkops.core.recipe import Recipe
from sparkops.files import recipes
from sparkops.files.yaml_positions import parse
from support.paths import CORPUS

LAUNCHERS = ("spark-vllm-docker", "sparkrun")
FILES = sorted(path for launcher in LAUNCHERS for path in (CORPUS / launcher).rglob("*.y*ml"))

Renderer = Callable[[str], list[str]]


def corpus() -> list[Any]:
    """Every recipe of others that is at hand; a checkout without them skips."""
    found = [pytest.param(path, id=path.stem) for path in FILES]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason=f"no recipes of others in {CORPUS}"))]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "theirs" in metafunc.fixturenames:
        metafunc.parametrize("theirs", corpus())


@pytest.fixture(scope="session")
def read() -> Callable[[str], Recipe]:
    """A recipe from its text."""
    return lambda text: formats.read("theirs", parse(text.encode(), "theirs.yaml"), recipes.flag_table())


@pytest.fixture(scope="session")
def launched() -> Renderer:
    """The words that reach the engine when the recipe's own launcher starts it, by a real shell."""
    return lambda text: by_shell(script(yaml.safe_load(text)))


@pytest.fixture(scope="session")
def launched_by() -> Renderer:
    """The words that reach the engine when a real shell runs this script."""
    return by_shell


def script(recipe: dict[str, Any]) -> str:
    """The command that run-recipe.py (schema 1) or sparkrun (schema 2) gives to the shell."""
    given = dict(recipe.get("defaults") or {})
    if str(recipe.get("recipe_version", "2")) == "1":
        return str(recipe["command"].format(**given))
    given = {"model": recipe["model"], **given}
    text, before = recipe["command"].strip(), None
    escaped = "{{" in text
    if escaped:
        text = re.sub(r"\{\{|\}\}", lambda brace: "\x01" if brace[0] == "{{" else "\x02", text)
    while text != before:
        before = text
        text = re.sub(r"\{([A-Za-z_]\w*)\}", lambda key: str(given.get(key[1], key[0])), text)
    return re.sub(r"\\[ \t]+\n", "\\\\\n", text.replace("\x01", "{").replace("\x02", "}"))


def by_shell(text: str) -> list[str]:
    """What a program called `vllm` would be given; nothing else can be run."""
    shell = f'vllm() {{ printf "%s\\\\0" vllm "$@"; }}\n{text}\n'
    done = subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-r", "-c", shell],
        env={"PATH": "/nonexistent"}, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr.decode()
    return done.stdout.decode().split("\0")[:-1]
