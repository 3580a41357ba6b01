"""Which nodes a command line means, and its secrets: passwords, the API key, the token of the model hub."""

import getpass
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from sparkops.cli.shape import duration, line
from sparkops.core.hub_access import Access
from sparkops.core.target import Target
from sparkops.errors import UsageError

LAB = "lab"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def _wait(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        line(context).flags["wait"] = duration(context, parameter, value)


WAIT = click.option(
    "--wait",
    is_flag=False,
    flag_value="24h",
    callback=_wait,
    expose_value=False,
    metavar="[TIME]",
    help="If another run holds the lock of a node, wait for it, at most TIME (default 24h).",
)
"""For every command that takes locks."""

Function = Callable[..., Any]


def target() -> Target:
    """Return the nodes that the command line means; asks for the sudo password if that is wanted."""
    context = click.get_current_context()
    named, flags = inventory(context), line(context).flags
    wanted = flags.get("ask_become_pass")
    password = secret("sudo password on the nodes", "SPARKOPS_BECOME_PASSWORD") if wanted else None
    return Target(named, flags.get("limit"), password, flags.get("wait", 0.0))


def on_nodes(function: Function) -> Function:
    """Call a command's function with `where`. A command that first checks its other options calls `target` itself."""

    @wraps(function)
    def called(**given: Any) -> Any:
        if click.get_current_context().invoked_subcommand:
            return None
        return function(where=target(), **given)

    return called


def inventory(context: click.Context) -> str | None:
    """Return the file that `-i` names (`lab`: that of the emulated nodes); None without `-i`."""
    if _names_lab(context):
        return str(_lab().inventory())
    named: str | None = line(context).flags.get("inventory")
    return named


def _lab() -> Any:
    from sparkops.verbs.lab import run  # noqa: PLC0415  only `-i lab` needs it

    return run


def _names_lab(context: click.Context) -> bool:
    named = line(context).flags.get("inventory")
    return bool((os.environ.get("SPARKOPS_INVENTORY") if named is None else named) == LAB)


def api_key() -> str | None:
    """Return $SPARKOPS_API_KEY; it must fit an HTTP header, a file and curl's configuration."""
    value = os.environ.get("SPARKOPS_API_KEY") or None
    if value and not _plain(value):
        raise UsageError(
            "$SPARKOPS_API_KEY may contain only printable ASCII, no space, double quote or backslash",
            hint="correct it, or unset it: sparkops then uses the key on the nodes, or makes a random one",
        )
    return value


def access(token_stdin: bool = False) -> Access:
    """Return the hub's token, endpoint and proxies, from stdin and the environment; `-i lab` means the lab's hub."""
    token = piped("Hugging Face token", "SPARKOPS_HF_TOKEN") if token_stdin else os.environ.get("HF_TOKEN")
    if token and not _plain(token):
        raise UsageError("the Hugging Face token may contain only printable ASCII, no space, double quote or backslash")
    found = {name: os.environ.get(name) or os.environ.get(name.upper()) for name in PROXIES}
    proxies = {name: value for name, value in found.items() if value}
    endpoint = os.environ.get("HF_ENDPOINT") or (_lab().hub() if _names_lab(click.get_current_context()) else None)
    return Access(token or None, endpoint, proxies, os.environ.get("SPARKOPS_ENCODINGS"))


def _plain(value: str) -> bool:
    """Whether a secret is one word that a header and a line of configuration can carry."""
    return value.isascii() and value.isprintable() and not set(value) & set(' "\\')


def secret(prompt: str, variable: str) -> str:
    """Return a secret from the environment, else ask for it; raises `UsageError` without a terminal."""
    if value := os.environ.get(variable):
        return value
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"sparkops cannot ask for the {prompt}: there is no terminal", hint=f"set ${variable}")
    return getpass.getpass(f"{prompt}: ", stream=sys.stderr)


def piped(prompt: str, variable: str) -> str:
    """Return the first line of stdin if it is no terminal, else as `secret`; never empty."""
    if not os.environ.get(variable) and not sys.stdin.isatty():
        if value := sys.stdin.readline().rstrip("\r\n"):
            return value
        raise UsageError(f"there is no {prompt} on stdin", hint=f"send it: `... < FILE`, or set ${variable}")
    return secret(prompt, variable)
