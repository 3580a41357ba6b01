"""`docker run`'s options: which take a value, which repeat, what the engine keeps of them."""

from typing import Any

from sparklab.fake_docker.errors import DockerError

SHORT = {
    "-d": "--detach",
    "-e": "--env",
    "-v": "--volume",
    "-l": "--label",
    "-p": "--publish",
    "-u": "--user",
    "-w": "--workdir",
    "-i": "--interactive",
    "-t": "--tty",
    "-m": "--memory",
}
BARE = frozenset(
    {"--detach", "--rm", "--privileged", "--interactive", "--tty", "--init", "--read-only", "--oom-kill-disable"}
)
ONCE = frozenset(
    [
        "--name",
        "--restart",
        "--network",
        "--net",
        "--ipc",
        "--pid",
        "--gpus",
        "--log-driver",
        "--stop-timeout",
        "--entrypoint",
        "--shm-size",
        "--user",
        "--workdir",
        "--hostname",
        "--memory",
        "--runtime",
        "--pull",
        "--cgroupns",
        "--uts",
        "--platform",
        "--stop-signal",
        "--oom-score-adj",
        "--pids-limit",
        "--cpus",
        "--cidfile",
        "--health-cmd",
    ]
)
MANY = frozenset(
    [
        "--label",
        "--env",
        "--volume",
        "--ulimit",
        "--cap-add",
        "--cap-drop",
        "--device",
        "--device-cgroup-rule",
        "--log-opt",
        "--publish",
        "--mount",
        "--security-opt",
        "--add-host",
        "--env-file",
        "--group-add",
        "--tmpfs",
        "--dns",
        "--sysctl",
    ]
)
USAGE = "\n\nUsage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]\n\nRun 'docker run --help' for more information"


def parse(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Options by their long name (a list where they repeat), then image and command."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if not name.startswith("--") and len(name) > 2:
            name, equals, value = _together(name, equals, value, rest)
        name = SHORT.get(name, name)
        if name in BARE:
            found[name] = value != "false" if equals else True
            continue
        if name not in ONCE and name not in MANY:
            kind = "flag" if name.startswith("--") else "shorthand flag"
            raise DockerError(f"unknown {kind}: {name if kind == 'flag' else repr(name[1:])}{USAGE}", 125)
        if not equals:
            if not rest:
                raise DockerError(f"flag needs an argument: {name}{USAGE}", 125)
            value = rest.pop(0)
        if name in MANY:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found, rest


def _together(name: str, equals: str, value: str, rest: list[str]) -> tuple[str, str, str]:
    """`-it` is two flags, `-eA=b` one with its value."""
    first = SHORT.get(name[:2], name[:2])
    if first in BARE:
        rest.insert(0, "-" + name[2:] + equals + value)
        return name[:2], "", ""
    return name[:2], "=", name[2:] + equals + value
