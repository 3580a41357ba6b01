"""No option is offered that nothing reads."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import sparkops
from sparkops import asks
from sparkops.asks.bench import BenchOptions

PACKAGE = Path(next(iter(sparkops.__path__)))
OPTIONS = [value for name, value in vars(asks).items() if name.endswith("Options") and is_dataclass(value)]


def read_somewhere() -> set[str]:
    """Attributes that workflows and the verbs without nodes read."""
    files = [*(PACKAGE / "workflows").glob("*.py"), *(PACKAGE / "cli").glob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("options", [*OPTIONS, asks.Where], ids=lambda options: options.__name__)
def test_every_option_is_read_by_something(options: Any) -> None:
    assert {field.name for field in fields(options)} - read_somewhere() == set()


@pytest.mark.parametrize("options", [*OPTIONS, BenchOptions, asks.Where], ids=lambda options: options.__name__)
def test_no_secret_is_shown_by_an_option(options: Any) -> None:
    secret = [field for field in fields(options) if "key" in field.name or "password" in field.name]
    assert [field.name for field in secret if field.repr and field.name != "key_file"] == []
