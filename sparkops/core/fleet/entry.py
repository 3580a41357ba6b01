"""What serves on some nodes as entries of a fleet's file: the options with which it would be deployed again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sparkops.core.facts.reading import mapping
from sparkops.core.fleet.ports import first_ports
from sparkops.core.page import PageRecipe
from sparkops.core.revision import Revision
from sparkops.core.stored import Stored
from sparkops.core.yaml_text import flow


@dataclass(frozen=True)
class WrittenEntry:
    """A deployment of the file. `settings` are its `set`, with None for what is removed; `recipe` may be a path."""

    name: str
    recipe: str
    topology: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sets(self) -> tuple[str, ...]:
        """The settings as `--set` takes them."""
        return tuple(f"{key}={_typed(key, value)}" for key, value in self.settings.items())

    def lines(self) -> Iterable[str]:
        yield f"  {flow(self.name)}:"
        yield f"    recipe: {flow(self.recipe)}"
        yield from ([] if self.topology == "solo" else [f"    topology: {self.topology}"])
        yield from (f"    {key}: {flow(value)}" for key, value in self.keys.items())
        yield from ["    set:"] if self.settings else []
        yield from (f"      {flow(key)}: {flow(value)}" for key, value in self.settings.items())


def corrected(entry: WrittenEntry, stored: Stored, made: Revision) -> WrittenEntry:
    """The entry with what makes the revision of a deploy by it (`made`) the one that serves."""
    settings, keys, extra = dict(entry.settings), dict(entry.keys), [*entry.keys.get("extra", ())]
    for kind in ("args", "env"):
        has, gets = mapping(stored.data.get(kind)), mapping(made.data.get(kind))
        for key in (key for key in sorted({*has, *gets}) if has.get(key) != gets.get(key)):
            if isinstance(has.get(key), list):
                extra += [f"--{key}", *map(str, has[key])]
            else:
                settings[f"{kind}.{key}"] = has.get(key)
    keys |= {"extra": extra} if extra else {}
    if stored.executor and stored.executor != made.executor:
        keys["executor"] = stored.executor
    ports = {*first_ports(stored.places).values()}
    if len(ports) == 1 and stored.places != tuple((one.name, one.role, one.port) for one in made.members):
        keys |= {"port": ports.pop()}
    return replace(entry, settings=settings, keys=keys)


def page_entry(stored: Stored, recipe: PageRecipe) -> WrittenEntry:
    """A page as an entry, with the port and the variables that its recipe does not give."""
    port, told, has = stored.members[0].port, recipe.program.variables, mapping(stored.data.get("env"))
    names = sorted({*has, *recipe.given} - {told.port, told.endpoint})
    settings = {f"env.{key}": has.get(key) for key in names if has.get(key) != recipe.given.get(key)}
    keys = {} if recipe.port == port else {"port": port}
    return WrittenEntry(stored.deployment, stored.recipe, "solo", settings, keys)


def file_text(entries: Iterable[WrittenEntry], further: Mapping[str, Any]) -> str:
    """The whole file; `further` are its other keys."""
    head = ("# What the fleet serves. After a change here: `sparkops diff`, then `sparkops apply`.", "deployments:")
    lines = (line for one in entries for line in one.lines())
    return "\n".join([*head, *lines, *(f"{key}: {flow(value)}" for key, value in further.items()), ""])


def _typed(key: str, value: Any) -> str:
    if value is None:
        return "" if key.startswith("env.") else "null"
    return value if isinstance(value, str) else json.dumps(value)
