"""Deployments on demand: let a fleet's endpoint start and stop containers (`switch.sh`), and ask it to."""

import re
from collections.abc import Iterable, Mapping

from sparkops.core.plan import Command, Script, Secret, Word

SWITCH = Script("switch")


def open_to(
    state_dir: str, gateway: str, origins: Iterable[str], public: str | Secret, containers: Mapping[str, str],
    cache_dir: str | None,
) -> Command:  # fmt: skip
    """Let the endpoint's key in from these addresses, for these containers, each with its deployment."""
    named = (word for pair in containers.items() for word in pair)
    scripts: tuple[Word, ...] = (Script("answer"), Script("cache"))
    words = SWITCH, "open", state_dir, gateway, ",".join(origins), cache_dir or "", *scripts, *named
    return Command(words, stdin=public)


def line(gateway: str, origins: Iterable[str], public: str) -> str:
    """What is in authorized_keys then."""
    command = f"exec sh .local/state/sparkops/ondemand/{gateway}/answer"
    return f'restrict,command="{command}",from="{",".join(origins)}" {public.strip()} sparkops-ondemand:{gateway}'


def parsed(found: str) -> tuple[tuple[str, ...], str] | None:
    """The addresses and the key of such a line."""
    parts = re.search(r'from="([^"]*)" (\S+ \S+) sparkops-ondemand:', found)
    return (tuple(parts[1].split(",")), parts[2]) if parts else None


def by_hand(verb: str, url: str, key: str | None) -> Command:
    """Ask the endpoint to `activate` a deployment or to let it `sleep`, as `ondemand.sh` says; `key` is a file."""
    words: tuple[Word, ...] = (Script("ondemand"), verb, "--url", url)
    return Command((*words, *(("--key", key) if key else ())), reads=True, timeout=30.0)


def close(state_dir: str, gateway: str) -> Command:
    return Command((SWITCH, "close", state_dir, gateway))
