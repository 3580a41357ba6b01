"""The routes of a fleet's endpoint as the configuration on its node has them; that may be anybody's text."""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.facts.reading import mapping
from sparkops.core.fleet.routes import LOADED
from sparkops.core.stored import SHORT_HASH, Stored


@dataclass(frozen=True)
class WrittenRoute:
    """Where a model name leads: `servers` by address, each as `DEPLOYMENT on NODE`, and the digests of its `keys`.

    `loaded`: to whichever of them is loaded.
    """

    servers: Mapping[str, str]
    keys: frozenset[str]
    loaded: bool = False


def folder(one: Stored) -> str:
    """The name of the folder with the files of an endpoint on its node."""
    return f"{one.deployment}-{one.hash[:SHORT_HASH]}"


def written_routes(config: str) -> dict[str, WrittenRoute]:
    """The routes by the model name that clients use; none if the text cannot be read."""
    try:
        text: Mapping[str, Any] = mapping(json.loads(config))
    except (ValueError, RecursionError):
        return {}
    if "routes" not in text:
        return _of_litellm(text)
    routes = ((name, mapping(one)) for name, one in mapping(text["routes"]).items() if name.isprintable())
    return {name: _route(_entries(one.get("servers")), loaded=one.get("served") == "") for name, one in routes}


def _route(servers: Sequence[Mapping[str, Any]], *, loaded: bool) -> WrittenRoute:
    return WrittenRoute(dict(map(_place, servers)), frozenset(str(one.get("key")) for one in servers), loaded)


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [mapping(one) for one in value] if isinstance(value, list) else []


def _place(server: Mapping[str, Any]) -> tuple[str, str]:
    return f"{server.get('url')}/v1", f"{server.get('deployment')} on {server.get('node')}"


def _of_litellm(text: Mapping[str, Any]) -> dict[str, WrittenRoute]:
    """The routes of an endpoint of an earlier release, which were LiteLLM's configuration."""
    opened = mapping(mapping(text.get("sparkops")).get("models")).items()
    listed_names = ((key, name) for key, names in opened if isinstance(names, list) for name in names)
    keys = [(str(key), str(name)) for key, name in listed_names if str(name).isprintable()]
    entries = _entries(text.get("model_list"))
    return {
        name: WrittenRoute(
            dict(map(_server, (one for one in entries if one.get("model_name") == name))),
            frozenset(key for key, called in keys if called == name),
        )
        for name in dict.fromkeys(name for _, name in keys)
    }


def changed_routes(before: str, after: str) -> Iterator[str]:
    """How two configurations differ, one line for each model name."""
    old, new = written_routes(before), written_routes(after)
    for name in dict.fromkeys((*new, *old)):
        if name not in new:
            yield f"{name} ends"
        elif name not in old or (old[name].servers, old[name].loaded) != (new[name].servers, new[name].loaded):
            one_of = "whichever is loaded of " if new[name].loaded else ""
            yield f"{name} -> {one_of}{', '.join(new[name].servers.values())}"
        elif old[name].keys != new[name].keys:
            yield f"{name}: another API key"


def further_names(routes: Mapping[str, WrittenRoute], served: Container[str]) -> dict[str, str]:
    """The model names that are not `served` names, each with the deployment to which it leads, or `loaded`."""
    found = {name: one for name, one in routes.items() if name not in served}
    first = {name: next(iter(one.servers.values()), "").partition(" on ")[0] for name, one in found.items()}
    return {name: LOADED if one.loaded else first[name] for name, one in found.items()}


def _server(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Address and place of an entry, whose id is DEPLOYMENT/NODE/NAME."""
    deployment, node, *_ = (*str(mapping(entry.get("model_info")).get("id")).split("/"), "?")
    return str(mapping(entry.get("litellm_params")).get("api_base")), f"{deployment} on {node}"
