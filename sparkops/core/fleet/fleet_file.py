"""`fleet.yml`: the deployments that a fleet is to have, as their owner wrote them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkops.core import schedule, schema, topology
from sparkops.core.fleet.on_demand import OnDemand, OnDemandEntry, on_demand
from sparkops.core.fleet.routes import LOADED, USUAL_PORT, gateway_name
from sparkops.core.page import PageRecipe
from sparkops.core.recipe import PORTS
from sparkops.core.revision import deployment_name
from sparkops.core.schedule import Schedule
from sparkops.core.schema import Located, Opaque, fail
from sparkops.core.topology import Topology
from sparkops.errors import UsageError


@dataclass(frozen=True)
class DeploymentEntry:
    """What the file says of one deployment: the options of `deploy`, under their names."""

    recipe: Located
    topology: Located | None = None
    replicas: int | None = None
    nodes: tuple[Located, ...] = ()
    alongside: bool = False
    executor: Literal["ray", "mp"] | None = None
    port: Located | None = None
    set: Mapping[str, Located] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    api_key: bool = True
    proxy: Literal["first", "all"] = "first"


@dataclass(frozen=True)
class CachesEntry:
    """When each node drops its page cache: the options of `cache schedule`."""

    every: Located
    when: Located | None = None


@dataclass(frozen=True)
class EndpointEntry:
    """One address for all deployments. `names` are further model names, each for a deployment of the file or LOADED."""

    node: Located
    port: Located | None = None
    names: Mapping[str, Located] = field(default_factory=dict)


@dataclass(frozen=True)
class FleetFile:
    """The content of a fleet's file."""

    deployments: Mapping[str, DeploymentEntry]
    name: Located | None = None
    endpoint: EndpointEntry | None = None
    on_demand: OnDemandEntry | None = None
    caches: CachesEntry | None = None


@dataclass(frozen=True)
class WantedEndpoint:
    """Where one proxy listens for all deployments. `where` is its place in the file.

    `names` are further model names, each with the name of a deployment, or LOADED.
    """

    where: str
    node: str
    port: int
    names: Mapping[str, str]


@dataclass(frozen=True)
class FleetDeployment:
    """One deployment of a fleet. `where` is its place in the file.

    `nodes` are the names, groups and patterns of the nodes that it may take; none: all. `sets` are as for `--set`,
    `extra` as the words after `--`. One `on_demand` starts when somebody asks for it.
    """

    name: str
    where: str
    recipe: str
    topology: Topology
    nodes: tuple[str, ...] = ()
    alongside: bool = False
    executor: Literal["ray", "mp"] | None = None
    sets: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()
    open_access: bool = False
    proxy: Literal["first", "all"] = "first"
    on_demand: bool = False

    @property
    def has_port(self) -> bool:
        """Whether the file names its port."""
        return any(one.startswith("port=") for one in self.sets)


@dataclass(frozen=True)
class WantedPage:
    """A page for people, on the node of the endpoint. `where` is its place in the file, `env` its further variables."""

    name: str
    where: str
    recipe: PageRecipe
    port: int
    env: Mapping[str, str]

    @property
    def user(self) -> str | None:
        """Who signs in first."""
        return self.env.get(self.recipe.program.variables.user or "", self.recipe.program.user)


@dataclass(frozen=True)
class WantedFleet:
    """The deployments of one file, in its order; `pages` are those whose recipe has no model.

    `name` tells fleets on the same nodes apart; by default it is that of the file. Without an `endpoint`, each
    deployment has only its own address. Without `on_demand`, all serve at once. `caches` is when each node drops its
    page cache; None leaves that as it is.
    """

    source: str
    deployments: tuple[FleetDeployment, ...]
    name: str
    endpoint: WantedEndpoint | None = None
    on_demand: OnDemand | None = None
    caches: Schedule | None = None
    pages: tuple[WantedPage, ...] = ()


def read(document: Located) -> WantedFleet:
    """A fleet's file as its deployments; raises UsageError with file and line."""
    written = schema.build(FleetFile, document)
    found = written.deployments
    lines = schema.mapping(schema.mapping(document)["deployments"])
    if not found:
        fail(
            document,
            "deployments",
            "has no deployment",
            hint="write one: NAME: {recipe: RECIPE}; to end all of it: `sparkops stop`",
        )
    deployments = tuple(_deployment(name, lines[name], one) for name, one in found.items())
    name = (
        deployment_name(document.file.rpartition("/")[2].partition(".")[0])
        if written.name is None
        else _name(written.name)
    )
    endpoint = None if written.endpoint is None else _endpoint(written.endpoint, list(found), name)
    asked = None if written.on_demand is None else on_demand(written.on_demand, list(found))
    if asked and endpoint is None:
        fail(
            schema.mapping(document)["on-demand"],
            "on-demand",
            "needs an `endpoint`, which starts a deployment when a request for it comes",
            hint="endpoint: {node: NODE}",
        )
    if asked:
        deployments = tuple(replace(one, on_demand=one.name not in asked.keeps) for one in deployments)
    caches = _caches(written.caches) if written.caches else None
    return WantedFleet(document.file, deployments, name, endpoint, asked, caches)


def _name(written: Located) -> str:
    return _usable(written, "name", schema.text(written, "name") or fail(written, "name", "needs a value"))


def _endpoint(entry: EndpointEntry, deployments: Sequence[str], fleet: str) -> WantedEndpoint:
    node = schema.text(entry.node, "endpoint.node") or fail(entry.node, "endpoint.node", "needs a value")
    port = schema.integer(entry.port, "endpoint.port", *PORTS) if entry.port else USUAL_PORT
    names: dict[str, str] = {}
    for name, written in entry.names.items():
        path = f"endpoint.names.{name}"
        names[name] = schema.text(written, path)
        if names[name] not in (*deployments, LOADED):
            hint = f"the deployments of this file are {', '.join(deployments)}; `{LOADED}` is whichever is loaded"
            fail(written, path, f"there is no deployment {names[name]}", hint=hint)
        if names[name] == LOADED and LOADED in deployments:
            fail(written, path, f"{LOADED} means whichever is loaded; call that deployment differently")
    if gateway_name(fleet) in deployments:
        fail(entry.node, "endpoint", f"the endpoint is called {gateway_name(fleet)}, as a deployment of this file")
    return WantedEndpoint(entry.node.where, node, port, names)


def _caches(entry: CachesEntry) -> Schedule:
    every, when = schema.text(entry.every, "caches.every"), entry.when and schema.text(entry.when, "caches.when")
    try:
        seconds = schedule.duration(every)
        schedule.times(seconds)
    except UsageError as error:
        fail(entry.every, "caches.every", error.message, hint=error.hint)
    try:
        return Schedule(round(seconds), schedule.when(when) if when else None)
    except UsageError as error:
        fail(entry.when or entry.every, "caches.when", error.message, hint=error.hint)


def _deployment(name: str, place: Located, entry: DeploymentEntry) -> FleetDeployment:
    path = f"deployments.{name}"
    _usable(place, path, name)
    port = entry.port and schema.integer(entry.port, f"{path}.port", *PORTS)
    single = {key: value for key, value in entry.set.items() if not isinstance(value.value, tuple)}
    sets = tuple(f"{key}={_text(key, value)}" for key, value in single.items())
    return FleetDeployment(
        name,
        place.where,
        schema.text(entry.recipe, f"{path}.recipe") or fail(entry.recipe, f"{path}.recipe", "needs a value"),
        _topology(path, place, entry),
        tuple(schema.text(one, f"{path}.nodes") for one in entry.nodes),
        entry.alongside,
        entry.executor,
        (*sets, f"port={port}") if port else sets,
        (*_lists(path, entry.set), *entry.extra),
        frozenset(entry.allow),
        not entry.api_key,
        entry.proxy,
    )


def _lists(path: str, written: Mapping[str, Located]) -> Iterator[str]:
    """The flags with several values, as words for vLLM."""
    for key, value in written.items():
        if isinstance(value.value, tuple):
            section, _, name = key.partition(".")
            if section != "args":
                fail(value, f"{path}.set.{key}", "takes no list")
            yield from (f"--{name}", *(schema.text(one, f"{path}.set.{key}") for one in value.value))


def _usable(place: Located, path: str, name: str) -> str:
    if (usable := deployment_name(name)) != name:
        fail(place, path, "Docker does not accept this name", hint=f"use {usable}")
    return name


def _topology(path: str, place: Located, entry: DeploymentEntry) -> Topology:
    written = entry.topology
    try:
        wanted = topology.parse(schema.text(written, f"{path}.topology") if written else "solo")
    except UsageError as error:
        fail(written or place, f"{path}.topology", error.message)
    if entry.replicas is None:
        return wanted
    if entry.replicas < 1:
        fail(place, f"{path}.replicas", f"must be 1 or more, not {entry.replicas}")
    if wanted.copies not in (1, entry.replicas):
        fail(place, f"{path}.replicas", f"is {entry.replicas}, but {wanted} has {wanted.copies} copies")
    return replace(wanted, copies=entry.replicas)


def _text(key: str, value: Located) -> str:
    """A value as `--set` takes it; an empty one removes the flag or variable."""
    _refuse_tags(key, value)
    plain = schema.plain(value)
    if plain is None:
        return "" if key.startswith("env.") else "null"
    if isinstance(plain, str):
        return plain
    return value.text if value.text is not None and not isinstance(plain, bool) else json.dumps(plain)


def _refuse_tags(key: str, value: Located) -> None:
    """Refuse a value with a tag of another tool, such as `!vault`."""
    if isinstance(value.value, Opaque):
        fail(value, key, f"a {value.value.tag} value cannot be used here")
    inner = value.value.values() if isinstance(value.value, dict) else value.value
    for one in inner if isinstance(value.value, dict | tuple) else ():
        _refuse_tags(key, one)
