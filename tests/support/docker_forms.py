"""The table of docker commands beside this, for two engines: the emulated one of the embedded lab and a real one."""

import json
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sparkops.core.facts import containers, images
from sparkops.core.facts.raw import Probe, write_parts
from sparkops.core.plan import Script
from sparkops.core.watch import frame
from sparkops.node_commands import docker as builder
from sparkops.remote.frame import script_text
from support.person import Ran

NODE_SCRIPTS = Path(builder.__file__).parents[1] / "node"
IMAGE = "vllm-node-mxfp4"
SECONDS = 60.0
TABLE = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))

# What rows `hold` true of stdout.


def is_id(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{64}\n", text))


def ids(text: str) -> bool:
    return bool(text) and all(map(is_id, text.splitlines(True)))


def processes_are_told(text: str) -> bool:
    rows = [line.split(maxsplit=2) for line in text.splitlines()]
    return rows[0] == ["PID", "TIME", "COMMAND"] and ["0", "sleep 600"] in [row[1:] for row in rows]


def image_ids(text: str) -> bool:
    return all(re.fullmatch(r"sha256:[0-9a-f]{64}", line) for line in text.splitlines())


def container_is_seen(text: str) -> bool:
    (found,) = frame.seen(text.strip())
    return found.name == "sparkops-forms-server-00000000" and found.state == "running" and not found.oom_killed


def version_is_told(text: str) -> bool:
    found = containers.version(text)
    return bool(found.client and found.server)


def info_is_told(text: str) -> bool:
    found = containers.info(text)
    return bool(found.root.startswith("/") and found.storage and found.cgroup)


def image_is_told(text: str) -> bool:
    found = images.images(write_parts({IMAGE: (0, text)}))[IMAGE]
    assert isinstance(found, images.Image), found
    known = found.architecture and found.created and found.env["PATH"] and found.size_bytes > 0
    return bool(image_ids(found.id) and known)


def labels_are_told(text: str) -> bool:
    return "null" in text or "{" in text


def a_line_at_most(text: str) -> bool:
    return text.count("\n") <= 1


# What rows `read` from stdout.


def own(labels: dict[str, str]) -> dict[str, str]:
    """Without those that the image brings."""
    return {key: value for key, value in labels.items() if key.startswith("sparkops.")}


def rows(text: str) -> dict[str, list[Any]]:
    """What `ps` tells of our containers."""
    return {one.name: [one.state, one.exit_code, own(dict(one.labels))] for one in containers.listed(text) if one.ours}


def details(text: str) -> list[Any]:
    (one,) = containers.ours(Probe("docker-ours", 0, text))
    times = [bool(one.started_at), bool(one.finished_at)]
    return [one.name, one.state, one.restarts, one.exit_code, one.oom_killed, one.gpu, own(dict(one.labels)), times]


def host(text: str) -> dict[str, Any]:
    """Options of `run` as `inspect` gives them back."""
    (found,) = json.loads(text)
    asked, config = found["HostConfig"], found["Config"]
    return {
        "restart": asked["RestartPolicy"],
        "network": asked["NetworkMode"],
        "ipc": asked["IpcMode"],
        "log": asked["LogConfig"],
        "binds": asked["Binds"],
        "gpus": [[one["Count"], one["Capabilities"]] for one in asked["DeviceRequests"]],
        "ulimits": sorted([one["Name"], one["Soft"], one["Hard"]] for one in asked["Ulimits"]),
        "entrypoint": config["Entrypoint"],
        "command": [config["Cmd"][0], *config["Cmd"][3:]],
        # `docker run` sends them in the order of a Go map: about one time in eight the two change places.
        "env": sorted(one for one in config["Env"] if one.startswith(("SPARKOPS", "TEXT"))),
        "stop": config["StopTimeout"],
    }


def requests(text: str) -> Any:
    return json.loads(text.partition(" ")[2])


def line_set(text: str) -> list[str]:
    return [line for line in text.splitlines() if "sparkops:" not in line]


HOLDS = (
    is_id,
    ids,
    image_ids,
    processes_are_told,
    version_is_told,
    info_is_told,
    image_is_told,
    labels_are_told,
    container_is_seen,
    a_line_at_most,
)
READS = (rows, details, host, requests, line_set)
READERS: dict[str, Callable[[str], Any]] = {
    "text": str.strip,
    "json": json.loads,
    **{one.__name__: one for one in (*HOLDS, *READS)},
}


@dataclass(frozen=True)
class Form:
    """One row."""

    words: tuple[str, ...]
    read: str = "text"
    out: Any = ""
    code: int = 0
    err: str = ""
    waits: bool = False


def _form(row: dict[str, Any]) -> Form:
    words = _started(row.pop("start"), row.pop("words")) if "start" in row else tuple(shlex.split(row.pop("docker")))
    held = {"read": row.pop("holds"), "out": True} if "holds" in row else {}
    return Form(words, **row, **held)


def _started(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """`docker run` as the tool's own builder words it."""
    env = {"SPARKOPS_BACKOFF": "600", "TEXT": "a b=c"}
    first = ("server", "--", *words)
    made = builder.run(
        builder.ContainerCommand(
            name, "IMAGE-ID", TABLE["labels"], env=env, mounts=("/var/tmp:/srv/data:ro",), words=first, rdma=False
        )
    )
    sent: list[str] = []
    for word in made.words[1:]:
        sent += ("sh", "-c", script_text(word.name), word.name) if isinstance(word, Script) else (str(word),)
    return tuple(sent)


FORMS = tuple(map(_form, TABLE["forms"]))


def play(docker: Callable[..., Ran]) -> list[str]:
    """Run the table on an engine that holds none of our containers; every difference, as a line."""
    ids = {"IMAGE-ID": json.loads(docker("image", "inspect", IMAGE).out)[0]["Id"]}
    differences = []
    try:
        for form in FORMS:
            words = [ids.get(word, word) for word in form.words]
            said, wrong = _asked(docker, form, words, ids)
            if form.words[:1] == ("run",) and said.code == 0:
                ids.setdefault("ID", said.out.strip())
            differences += [f"docker {' '.join(words)[:160]}: {line}" for line in wrong]
    finally:
        left = docker("ps", "-aq", "--filter", "name=sparkops-forms").out.split()
        docker("rm", "-f", *left)
    return differences


def _asked(docker: Callable[..., Ran], form: Form, words: Sequence[str], ids: dict[str, str]) -> tuple[Ran, list[str]]:
    until = time.monotonic() + (SECONDS if form.waits else 0)
    while True:
        said = docker(*words)
        wrong = _wrong(form, said, ids)
        if not wrong or time.monotonic() > until:
            return said, wrong
        time.sleep(0.2)


def _wrong(form: Form, said: Ran, ids: dict[str, str]) -> list[str]:
    wanted = ids.get(form.out, form.out) if isinstance(form.out, str) else form.out
    pattern = form.err.replace('"ID"', f'"{ids.get("ID")}"')
    try:
        found = READERS[form.read](said.out)
    except Exception as error:
        found = error
    tests = (
        (said.code == form.code, f"exit {said.code}, not {form.code}: {said.err.strip()[:300]}"),
        (found == wanted, f"{found!r}, not {wanted!r}"),
        (re.search(pattern, said.err, re.MULTILINE), f"stderr {said.err.strip()[:300]!r} has no {pattern!r}"),
    )
    return [line for right, line in tests if not right]


def forms_of_the_scripts() -> set[tuple[str, ...]]:
    """Verb and options of every docker command in the node scripts, arguments left out."""
    pattern = r"(?<![-\w'])(?:docker|engine|docked [a-z-]+) ((?:image )?[a-z]+)\b([^|>]*)"
    verbs = {form.words[0] for form in FORMS}
    lines = (line for script in NODE_SCRIPTS.glob("*.sh") for line in script.read_text().splitlines())
    return {
        (verb, *re.findall(r"(?<=\s)--?[a-z][-a-z]*|\{\{.*\}\}", rest))
        for line in lines
        if not line.lstrip().startswith("#")
        for verb, rest in re.findall(pattern, line)
        if verb.split()[0] in verbs
    }
