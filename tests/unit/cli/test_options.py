"""No option is offered that nothing reads."""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sparkops import verbs
from sparkops.core import target

PACKAGE = Path(next(iter(verbs.__path__)))


def options() -> Iterator[Any]:
    own = [import_module(f"sparkops.verbs.{path.parent.name}.options") for path in PACKAGE.glob("*/options.py")]
    for module in (target, *own):
        yield from (one for one in vars(module).values() if is_dataclass(one) and one.__module__ == module.__name__)


OPTIONS = list(options())


@cache
def read_somewhere() -> set[str]:
    """Attributes that the verbs read, not counting what reads the words."""
    files = [path for path in PACKAGE.rglob("*.py") if path.name not in ("command.py", "options.py")]
    files += (PACKAGE.parent / "session").glob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options.__name__)
def test_every_option_is_read_by_something(options: Any) -> None:
    assert {field.name for field in fields(options)} - read_somewhere() == set()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options.__name__)
def test_no_secret_is_shown_by_an_option(options: Any) -> None:
    secret = [field for field in fields(options) if "key" in field.name or "password" in field.name]
    assert [field.name for field in secret if field.repr and field.name not in ("key_file", "tls_key")] == []
