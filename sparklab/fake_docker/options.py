"""Docker's commands: the function behind each, its arguments, its options.

An option `env,e*` is `--env` or `-e` and may repeat, `name=` takes one value, others are flags.
"""

import getopt
from collections.abc import Iterator
from typing import Any

from sparklab.fake_docker.errors import DockerError

CONTAINER = "CONTAINER [CONTAINER...]"
IMAGE_COMMAND = "IMAGE [COMMAND] [ARG...]"
CREATE = (
    "add-host* cap-add* cap-drop* cgroupns= cidfile= cpus= device* device-cgroup-rule* dns* entrypoint= env,e* "
    "env-file* gpus= group-add* health-cmd= hostname,h= init interactive,i ipc= label,l* log-driver= log-opt* "
    "memory,m= mount* name= net= network= oom-kill-disable oom-score-adj= pid= pids-limit= platform= privileged "
    "publish,p* pull= read-only restart= rm runtime= security-opt* shm-size= stop-signal= stop-timeout= sysctl* "
    "tmpfs* tty,t ulimit* user,u= uts= volume,v* workdir,w="
)
LISTING = "all,a filter,f* format= no-trunc quiet,q"

COMMANDS: dict[str, tuple[str, str, str]] = {
    "build": (
        "building.build",
        "PATH",
        "build-arg* file,f= label* network= platform= progress= quiet,q tag,t* target=",
    ),
    "create": ("run.create", IMAGE_COMMAND, CREATE),
    "exec": (
        "lifecycle.execute",
        "CONTAINER COMMAND [ARG...]",
        "detach,d env,e* interactive,i tty,t user,u= workdir,w=",
    ),
    "image inspect": ("images.inspect", "IMAGE [IMAGE...]", "format,f="),
    "images": ("images.listing", "", LISTING),
    "info": ("about.info", "", "format,f="),
    "inspect": ("listing.inspect", "NAME|ID [NAME|ID...]", "format,f="),
    "kill": ("lifecycle.kill", CONTAINER, "signal,s="),
    "load": ("images.load", "", "quiet,q"),
    "login": ("registry.login", "", "password-stdin username,u="),
    "logs": ("logs.logs", "CONTAINER", "follow,f since= tail,n= timestamps,t until="),
    "ps": ("listing.ps", "", LISTING),
    "pull": ("registry.pull", "NAME[:TAG|@DIGEST]", "platform= quiet,q"),
    "rename": ("lifecycle.rename", "CONTAINER NEW_NAME", ""),
    "restart": ("lifecycle.restart", CONTAINER, "time= timeout,t="),
    "rm": ("lifecycle.remove", CONTAINER, "force,f volumes,v"),
    "rmi": ("images.remove", "IMAGE [IMAGE...]", "force,f"),
    "run": ("run.run", IMAGE_COMMAND, f"{CREATE} detach,d"),
    "save": ("images.save", "IMAGE [IMAGE...]", ""),
    "start": ("lifecycle.start", CONTAINER, ""),
    "stop": ("lifecycle.stop", CONTAINER, "signal,s= time= timeout,t="),
    "tag": ("images.tag", "SOURCE_IMAGE[:TAG] TARGET_IMAGE[:TAG]", ""),
    "top": ("listing.top", "CONTAINER [ps OPTIONS]", ""),
    "version": ("about.version", "", "format,f="),
    "wait": ("lifecycle.wait", CONTAINER, ""),
}


def parse(command: str, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return options by their long names (True, a value or a list of values) and the other words.

    The options of a command that starts a program end before its first other word.
    """
    _, arguments, options = COMMANDS[command]
    named = {word: (name, kind) for option in options.split() for word, name, kind in _spellings(option)}
    letters = "".join(word[1] + ":" * len(kind) for word, (_, kind) in named.items() if len(word) == 2)
    longs = [name + "=" * len(kind) for name, kind in named.values()]
    split = getopt.getopt if arguments.endswith(("[ARG...]", "[ps OPTIONS]")) else getopt.gnu_getopt
    try:
        given, rest = split(words, letters, longs)
    except getopt.GetoptError as error:
        raise DockerError(f"{_problem(error)}{usage(command)}", 125) from None
    if arguments and not rest:
        code = 125 if command == "run" else 1
        raise DockerError(f"docker: 'docker {command}' requires at least 1 argument{usage(command)}", code)
    found: dict[str, Any] = {}
    for word, value in given:
        name, kind = named[word]
        if kind == "*":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value if kind else True
    return found, rest


def _spellings(option: str) -> Iterator[tuple[str, str, str]]:
    """Yield how an option is written, its long name and its kind: `*`, `=` or empty for a flag."""
    name, _, letter = option.rstrip("=*").partition(",")
    kind = option[-1] if option[-1] in "=*" else ""
    yield f"--{name}", name, kind
    if letter:
        yield f"-{letter}", name, kind


def _problem(error: getopt.GetoptError) -> str:
    if "requires" in error.msg:
        return f"flag needs an argument: --{error.opt}"
    return f"unknown flag: --{error.opt}" if len(error.opt) > 1 else f"unknown shorthand flag: {error.opt!r}"


def usage(command: str) -> str:
    arguments = COMMANDS[command][1]
    line = " ".join(filter(None, ["Usage:  docker", command, "[OPTIONS]", arguments]))
    return f"\n\n{line}\n\nRun 'docker {command} --help' for more information"
