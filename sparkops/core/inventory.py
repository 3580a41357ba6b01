"""Nodes and groups, and which of them are selected."""

import fnmatch
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkops.core.facts.reading import grouped
from sparkops.core.schema import did_you_mean
from sparkops.errors import UsageError

SSH_PORT = 22


@dataclass(frozen=True)
class Node:
    """One GB10 machine, with its address and login."""

    name: str
    address: str
    user: str | None = None
    port: int = SSH_PORT
    key_file: str | None = None
    become: Literal["none", "sudo"] = "none"
    cache_dir: str | None = None
    api_port: int = 8000
    fabric_address: str | None = None
    fabric_pool: str | None = None
    proxy_image: str | None = None
    proxy_metrics: bool = False

    @property
    def ssh(self) -> str:
        """The command that logs in as sparkops does; a name in the inventory is no name for SSH."""
        port = ["-p", str(self.port)] if self.port != SSH_PORT else []
        key = ["-i", self.key_file] if self.key_file else []
        return shlex.join(["ssh", *port, *key, f"{self.user}@{self.address}" if self.user else self.address])


@dataclass(frozen=True)
class Inventory:
    """Nodes in the order of the file; `recipes` maps each node with a `recipe` to it."""

    source: str
    nodes: tuple[Node, ...]
    groups: Mapping[str, tuple[str, ...]]
    recipe: str | None = None
    warnings: tuple[str, ...] = ()
    recipes: Mapping[str, str] = field(default_factory=dict)

    def select(self, limit: str | None = None) -> tuple[Node, ...]:
        """The nodes that `--limit` names: names, groups, globs, `!not`, by commas; the first is the head."""
        terms = [term.strip() for term in ("all" if limit is None else limit).split(",") if term.strip()]
        if not terms:
            raise UsageError("--limit is empty", hint="name nodes, or leave out --limit for all of them")
        wanted = [self._names(term, limit) for term in terms if not term.startswith("!")]
        unwanted = {name for term in terms if term.startswith("!") for name in self._names(term[1:], limit)}
        chosen = {name for names in wanted for name in names} if wanted else {node.name for node in self.nodes}
        selected = tuple(node for node in self.nodes if node.name in chosen - unwanted)
        if not selected:
            raise UsageError(f"--limit {limit} selects no node of {self.source}")
        return selected

    def node(self, name: str) -> Node:
        """The node of this name; raises `UsageError` if there is none."""
        there = {node.name: node for node in self.nodes}
        if name not in there:
            raise UsageError(f"no node {name} in the inventory{did_you_mean(name, there)}")
        return there[name]

    def recipe_for(self, nodes: Iterable[Node]) -> str | None:
        """The recipe that the inventory gives these nodes, if they agree."""
        where = grouped((self.recipes.get(node.name, self.recipe), node.name) for node in nodes)
        if len(where) > 1:
            each = (f"{recipe or 'none'} ({', '.join(names)})" for recipe, names in where.items())
            raise UsageError(
                f"{self.source}: the selected nodes have different recipes: {'; '.join(each)}",
                hint="use --limit to select nodes with one recipe, or --recipe to choose a recipe",
            )
        return next(iter(where), self.recipe)

    def _names(self, term: str, limit: str | None) -> tuple[str, ...]:
        names = {node.name for node in self.nodes}
        if term in self.groups or term in names:
            return self.groups.get(term, (term,))
        found = [name for name in names if fnmatch.fnmatchcase(name, term)]
        groups = [members for group, members in self.groups.items() if fnmatch.fnmatchcase(group, term)]
        found += [name for members in groups for name in members]
        if not found:
            known = did_you_mean(term, {*names, *self.groups})
            raise UsageError(f"--limit {limit}: no node or group {term!r} in {self.source}{known}")
        return tuple(found)
