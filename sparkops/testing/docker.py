"""The `docker` command lines that sparkops emits, answered by the simulated engine."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparkops.core.plan import Result, Script, Word
from sparkops.testing.boot import EngineBoot
from sparkops.testing.engine import KEY, Engine, SimulatedContainer
from sparkops.testing.image_flags import dumped
from sparkops.testing.store import DockerRefused

_VERSION = {
    "Client": {"Version": "29.1.3", "ApiVersion": "1.52"},
    "Server": {"Version": "29.1.3", "ApiVersion": "1.52", "Os": "linux", "Arch": "arm64"},
}
_INFO = {
    "DockerRootDir": "/var/lib/docker",
    "Driver": "overlay2",
    "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}},
    "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
    "CgroupVersion": "2",
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
}
_SWITCHES = {"-d", "--rm"}
_DENIED = "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock"


def docker(engine: Engine, words: Sequence[Word], now: float) -> Result:
    """One docker command; a refusal has docker's exit code and words."""
    verb, *rest = (word.name if isinstance(word, Script) else word for word in words[1:])
    if engine.denied:
        return Result("exited", 1, "", f"{_DENIED}\n")
    if verb not in _VERBS:
        return Result("exited", 125, "", f"docker: unknown command: docker {verb}\n")
    try:
        return Result("exited", 0, _VERBS[verb](engine, rest, now))
    except DockerRefused as refused:
        empty = "[]\n" if verb in ("inspect", "image") else ""
        return Result("exited", refused.code, empty, f"{refused}\n")


def _ps(engine: Engine, words: Sequence[str], _now: float) -> str:
    filters = [words[at + 1] for at, word in enumerate(words) if word == "--filter"]
    every = {"-a", "-aq", "--all"} & {*words}
    found = [one for one in engine.listed(filters) if every or one.state != "exited"]
    if {"-aq", "-q", "--quiet"} & {*words}:
        return "".join(f"{one.id}\n" for one in found)
    return "".join(f"{json.dumps(_row(one))}\n" for one in found)


def _row(one: SimulatedContainer) -> dict[str, str]:
    status = {
        "running": "Up 5 minutes",
        "created": "Created",
        "restarting": f"Restarting ({one.exit_code}) 3 seconds ago",
    }
    return {
        "ID": one.id,
        "Names": one.name,
        "Image": one.image,
        "State": one.state,
        "Status": status.get(one.state, f"Exited ({one.exit_code}) 5 minutes ago"),
        "Labels": ",".join(f"{key}={value}" for key, value in one.labels.items()),
    }


def _inspect(engine: Engine, words: Sequence[str], _now: float) -> str:
    if words and words[0] == "--format":
        return "".join(f"{render(words[1], engine.find(name).inspected())}\n" for name in words[2:])
    return f"{json.dumps([engine.find(name).inspected() for name in words], indent=4)}\n"


def _run(engine: Engine, words: Sequence[str], now: float) -> str:
    options, rest = _options(words)
    if "--rm" in options:
        return dumped(engine.store.find(rest[0]))
    wanted = SimulatedContainer(
        id="",
        name=options["--name"][0],
        image=rest[0],
        labels=dict(_pairs(options.get("--label", ()))),
        env=dict(_pairs(options.get("-e", ()))),
        mounts=tuple(options.get("-v", ())),
        words=tuple(rest[1:]),
        policy=options.get("--restart", ["no"])[0],
        boot=EngineBoot(),
        gpus="--gpus" in options,
    )
    return f"{engine.run(wanted, now).id}\n"


def _options(words: Sequence[str]) -> tuple[dict[str, list[str]], Sequence[str]]:
    options: dict[str, list[str]] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        if name in _SWITCHES or equals:
            options.setdefault(name, []).append(value)
            at += 1
        else:
            options.setdefault(name, []).append(words[at + 1])
            at += 2
    return options, words[at:]


def _pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(key, value) for key, _, value in (text.partition("=") for text in values)]


def _start(engine: Engine, words: Sequence[str], now: float) -> str:
    return _each(words, lambda name: engine.start(name, now))


def _stop(engine: Engine, words: Sequence[str], now: float) -> str:
    return _each(words[2:] if words[0] == "-t" else words, lambda name: engine.stop(name, now))


def _rm(engine: Engine, words: Sequence[str], _now: float) -> str:
    names = [word for word in words if word != "-f"]
    return _each(names, lambda name: engine.remove(name, force="-f" in words))


def _each(names: Sequence[str], do: Callable[[str], None]) -> str:
    for name in names:
        do(name)
    return "".join(f"{name}\n" for name in names)


def _logs(engine: Engine, words: Sequence[str], _now: float) -> str:
    options, rest = _options([word for word in words if word not in ("-f", "-t", "--timestamps")])
    one = engine.find(rest[0])
    lines = [f"{time} {line}" if "--timestamps" in words else line for time, line in one.timed()]
    tail = options.get("--tail", ["all"])[0]
    kept = lines if tail == "all" else lines[max(0, len(lines) - int(tail)) :]
    return "".join(f"{line}\n" for line in kept)


def _rename(engine: Engine, words: Sequence[str], _now: float) -> str:
    engine.rename(words[0], words[1])
    return ""


def _exec(engine: Engine, words: Sequence[str], _now: float) -> str:
    """Answers only the command that prints the key."""
    one = engine.find(words[0])
    if not one.running:
        raise DockerRefused(f"Error response from daemon: container {one.id} is not running")
    if KEY not in words[-1] or one.key is None:
        raise DockerRefused("cat: can't open file")
    return one.key


_VERBS: Mapping[str, Callable[[Engine, Sequence[str], float], str]] = {
    "version": lambda *_: f"{json.dumps(_VERSION)}\n",
    "info": lambda *_: f"{json.dumps(_INFO)}\n",
    "ps": _ps,
    "inspect": _inspect,
    "image": lambda engine, words, _: f"{json.dumps([engine.store.find(name) for name in words[1:]], indent=4)}\n",
    "run": _run,
    "start": _start,
    "stop": _stop,
    "rm": _rm,
    "logs": _logs,
    "rename": _rename,
    "exec": _exec,
}


def render(template: str, item: Mapping[str, Any]) -> str:
    """Fill in Docker's Go templates, as far as sparkops uses them."""
    return re.sub(r"\{\{(.+?)\}\}", lambda found: _field(found[1].strip(), item), template)


def _field(text: str, item: Mapping[str, Any]) -> str:
    if found := re.fullmatch(r'index (\S+) "([^"]*)"', text):
        return str(_path(found[1], item).get(found[2], ""))
    if text.startswith("json "):
        return json.dumps(_path(text.removeprefix("json ").strip(), item))
    value = _path(text, item)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(path: str, item: Mapping[str, Any]) -> Any:
    value: Any = item
    for name in filter(None, path.split(".")):
        if not isinstance(value, Mapping) or name not in value:
            raise DockerRefused(f'template parsing error: template: :1:2: executing "" at <{path}>: no such field')
        value = value[name]
    return value
