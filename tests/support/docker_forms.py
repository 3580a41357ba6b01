"""Every docker command that sparkops sends, in the order of a container's life, and what must come back.

One table for two engines: the emulated one of the embedded lab and a real one. `play` runs it and tells what differs.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkops.commands import docker as builder
from sparkops.core.facts import containers, images
from sparkops.core.facts.raw import write_parts
from sparkops.core.plan import Script

NODE_SCRIPTS = Path(builder.__file__).parents[1] / "node"
ENTRY = (NODE_SCRIPTS / "entry.sh").read_text()
IMAGE = "vllm-node-mxfp4"
TRIED = ("run", "--rm", "--pull", "never", "--gpus", "all", "--network", "none", "--entrypoint", "echo")
REVISION = '{"args":{"a":[1,2]},"text":"x=y, z"}'
LABELS = {
    "sparkops.schema": "1",
    "sparkops.deployment": "forms",
    "sparkops.hash": "0" * 64,
    "sparkops.role": "server",
    "sparkops.spec": "1",
    "sparkops.revision": REVISION,
}
NAME, FAILING, MISSING = (
    "sparkops-forms-server-00000000",
    "sparkops-forms-server-11111111",
    "sparkops-forms-no-00000000",
)
STATE = ("inspect", "--format", "{{.State.Status}} {{.RestartCount}} {{.State.ExitCode}}")
SECONDS = 60.0


@dataclass(frozen=True)
class Said:
    """How one command ended on an engine."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Form:
    """One row. `read` makes of stdout what must equal `out`; `err` is a pattern; `waits` asks until it is so.

    In words, IMAGE-ID, ID and FAILED-ID stand for the IDs that this engine gave.
    """

    words: tuple[str, ...]
    out: Any = ""
    read: Callable[[str], Any] = str.strip
    code: int = 0
    err: str = ""
    waits: bool = False


def started(name: str, *words: str) -> tuple[str, ...]:
    """`docker run` as the tool's own builder words it."""
    made = builder.run(
        builder.Container(
            name,
            "IMAGE-ID",
            LABELS,
            env={"SPARKOPS_BACKOFF": "600", "TEXT": "a b=c"},
            mounts=("/var/tmp:/srv/data:ro",),
            words=("server", "--", *words),
            rdma=False,
        )
    )
    sent: list[str] = []
    for word in made.words[1:]:
        sent += ("sh", "-c", ENTRY, word.name) if isinstance(word, Script) else (str(word),)
    return tuple(sent)


def is_id(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{64}\n", text))


def is_image_id(text: str) -> bool:
    return bool(re.fullmatch(r"sha256:[0-9a-f]{64}", text))


def version_is_told(text: str) -> bool:
    found = containers.version(text)
    return bool(found.client and found.server)


def info_is_told(text: str) -> tuple[bool, bool]:
    found = containers.info(text)
    return found.root.startswith("/"), bool(found.storage and found.cgroup)


def image(text: str) -> tuple[bool, ...]:
    found = images.images(write_parts({IMAGE: (0, text)}))[IMAGE]
    assert isinstance(found, images.Image), found
    known = bool(found.architecture and found.created and found.env["PATH"])
    return bool(re.fullmatch("sha256:[0-9a-f]{64}", found.id)), known, found.size_bytes > 0


def own(labels: Mapping[str, str]) -> dict[str, str]:
    """Without those that the image brings."""
    return {key: value for key, value in labels.items() if key.startswith("sparkops.")}


def rows(text: str) -> dict[str, tuple[str, int | None, dict[str, str]]]:
    """What `ps` tells of our containers."""
    return {one.name: (one.state, one.exit_code, own(one.labels)) for one in containers.listed(text) if one.ours}


def details(text: str) -> tuple[Any, ...]:
    (one,) = containers.inspected(text)
    times = bool(one.started_at), bool(one.finished_at)
    return one.name, one.state, one.restarts, one.exit_code, one.oom_killed, one.gpu, own(one.labels), times


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
        "gpus": [(one["Count"], one["Capabilities"]) for one in asked["DeviceRequests"]],
        "ulimits": sorted((one["Name"], one["Soft"], one["Hard"]) for one in asked["Ulimits"]),
        "entrypoint": config["Entrypoint"],
        "command": [config["Cmd"][0], *config["Cmd"][3:]],
        "env": [one for one in config["Env"] if one.startswith(("SPARKOPS", "TEXT"))],
        "stop": config["StopTimeout"],
    }


def line_set(text: str) -> list[str]:
    return [line for line in text.splitlines() if "sparkops:" not in line]


ASKED = {
    "restart": {"Name": "unless-stopped", "MaximumRetryCount": 0},
    "network": "host",
    "ipc": "host",
    "log": {"Type": "json-file", "Config": {"max-file": "3", "max-size": "50m"}},
    "binds": ["/var/tmp:/srv/data:ro"],
    "gpus": [(-1, [["gpu"]])],
    "ulimits": [("memlock", -1, -1), ("nofile", 1048576, 1048576), ("stack", 67108864, 67108864)],
    "entrypoint": None,
    "command": ["sh", "entry", "server", "--", "sh", "-c", "echo one; echo two; echo bad >&2; exec sleep 600"],
    "env": ["SPARKOPS_BACKOFF=600", "TEXT=a b=c"],
    "stop": 30,
}
GPU_ASKED = [{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": {}}]
NO_CONTAINER = rf"No such container: {MISSING}"
BY_NAME = ("ps", "-aq", "--no-trunc", "--filter", f"name=^/?{NAME}$", "--filter")
UP = (NAME, "running", 0, None, False, True, LABELS, (True, False))
ENDED = (NAME, "exited", 0, 0, False, True, LABELS, (True, True))

FORMS = (
    Form(("version", "--format", "{{json .}}"), True, version_is_told),
    Form(("info", "--format", "{{json .}}"), (True, True), info_is_told),
    Form(("image", "inspect", IMAGE), (True, True, True), image),
    Form(("image", "inspect", "IMAGE-ID"), (True, True, True), image),
    Form(
        ("image", "inspect", "--format", "{{json .Config.Labels}}", IMAGE),
        True,
        lambda text: "null" in text or "{" in text,
    ),
    Form(("image", "ls", "-q", "--no-trunc"), True, lambda text: all(map(is_image_id, text.splitlines()))),
    Form(("tag", IMAGE, "sparkops-forms:a")),
    Form(("image", "rm", "sparkops-forms:a"), "Untagged: sparkops-forms:a"),
    Form(("image", "rm", "sparkops-forms:a"), code=1, err="No such image: sparkops-forms:a"),
    Form(("image", "inspect", "no-such-image"), [], json.loads, 1, "No such image: no-such-image"),
    Form(("inspect", MISSING), [], json.loads, 1, f"No such object: {MISSING}"),
    Form((*STATE, MISSING), code=1, err=f"No such object: {MISSING}"),
    Form(("logs", "--tail", "5", MISSING), code=1, err=NO_CONTAINER),
    Form(("start", MISSING), code=1, err=NO_CONTAINER),
    Form(("stop", "-t", "30", MISSING), code=1, err=NO_CONTAINER),
    Form(("exec", MISSING, "true"), code=1, err=NO_CONTAINER),
    Form(("ps", "-a", "--no-trunc", "--format", "{{json .}}"), {}, rows),
    Form(started(NAME, *ASKED["command"][4:]), True, is_id),
    Form(started(NAME, "true"), code=125, err=rf'The container name "/{NAME}" is already in use by container "ID"'),
    Form((*STATE, NAME), "running 0 0"),
    Form(("inspect", "ID"), UP, details),
    Form(("inspect", "ID", MISSING), UP, details, 1, f"No such object: {MISSING}"),
    Form(("inspect", NAME), ASKED, host),
    Form(("ps", "-a", "--no-trunc", "--format", "{{json .}}"), {NAME: ("running", None, LABELS)}, rows),
    Form((*BY_NAME, "label=sparkops.deployment=forms"), True, is_id),
    Form((*BY_NAME, "label=sparkops.deployment=other")),
    Form((*BY_NAME, "label=sparkops.deployment"), True, is_id),
    Form(("inspect", "--format", "{{.State.Running}}", NAME), "true"),
    Form(("inspect", "--format", "{{.State.Status}} {{.RestartCount}}", NAME), "running 0"),
    Form(("inspect", "--format", "{{.Id}}", NAME), True, is_id),
    Form(("inspect", "--format", "{{.Image}}", NAME), "IMAGE-ID"),
    Form(("ps", "-aq", "--no-trunc"), True, lambda text: bool(text) and all(map(is_id, text.splitlines(True)))),
    Form(("inspect", "--format", '{{index .Config.Labels "sparkops.hash"}}', NAME), "0" * 64),
    Form(
        ("inspect", "--format", "{{.Id}} {{json .HostConfig.DeviceRequests}}", "ID"),
        GPU_ASKED,
        lambda text: json.loads(text.partition(" ")[2]),
    ),
    Form(("logs", NAME), ["one", "two"], line_set, err="^bad$", waits=True),
    Form(("logs", "--tail", "1", "--since", "1h", NAME), 1, lambda text: text.count("\n") <= 1),
    Form(("exec", NAME, "sh", "-c", 'echo "$TEXT"'), "a b=c"),
    Form(
        ("exec", "-e", "MORE=d e", NAME, "sh", "-c", 'echo "$MORE"; echo bad >&2; exit 7'), "d e", code=7, err="^bad$"
    ),
    Form(("start", NAME), NAME),
    Form(("stop", "-t", "30", "ID"), "ID"),
    Form(("stop", "-t", "30", NAME), NAME),
    Form((*STATE, NAME), "exited 0 0"),
    Form(("inspect", "ID"), ENDED, details),
    Form(("exec", NAME, "true"), code=1, err=r"(?i)container \w{64} is not running"),
    Form(("ps", "-a", "--no-trunc", "--format", "{{json .}}"), {NAME: ("exited", 0, LABELS)}, rows),
    Form(("logs", "--tail", "20", NAME), ["one", "two"], line_set, err="^bad$"),
    Form(("logs", "-f", "-t", "--tail", "1", NAME), True, lambda text: text.count("\n") <= 1, err=r"^(\S+Z bad)?$"),
    Form(("rename", NAME, f"{NAME}.aside")),
    Form((*BY_NAME, "label=sparkops.deployment=forms")),
    Form(("rename", f"{NAME}.aside", NAME)),
    Form((*BY_NAME, "label=sparkops.deployment=forms"), True, is_id),
    Form(("start", NAME), NAME),
    Form((*STATE, NAME), "running 0 0"),
    Form(("logs", NAME), ["one", "two", "one", "two"], line_set, waits=True),
    Form(started(FAILING, "sh", "-c", "exit 3"), True, is_id),
    Form((*STATE, FAILING), "running 1 0", waits=True),
    Form(("logs", "--tail", "1", FAILING), "sparkops: start 2 of 5 in 600 seconds", waits=True),
    Form(("rm", "-f", FAILING), FAILING),
    Form(("rm", "-f", NAME), NAME),
    Form((*TRIED, IMAGE, "one", "two"), "one two"),
    Form(("ps", "-a", "--no-trunc", "--format", "{{json .}}"), {}, rows),
)


def play(docker: Callable[[Sequence[str]], Said]) -> list[str]:
    """Run the table on an engine that holds none of our containers; every difference, as a line."""
    ids = {"IMAGE-ID": json.loads(docker(("image", "inspect", IMAGE)).out)[0]["Id"]}
    differences = []
    try:
        for form in FORMS:
            words = [ids.get(word, word) for word in form.words]
            said, wrong = _asked(docker, form, words, ids)
            if form.words[:1] == ("run",) and said.code == 0:
                ids.setdefault("ID", said.out.strip())
            differences += [f"docker {' '.join(words)[:160]}: {line}" for line in wrong]
    finally:
        docker(("rm", "-f", NAME, FAILING))
    return differences


def _asked(
    docker: Callable[[Sequence[str]], Said], form: Form, words: Sequence[str], ids: dict[str, str]
) -> tuple[Said, list[str]]:
    until = time.monotonic() + (SECONDS if form.waits else 0)
    while True:
        said = docker(words)
        wrong = list(_wrong(form, said, ids))
        if not wrong or time.monotonic() > until:
            return said, wrong
        time.sleep(0.2)


def _wrong(form: Form, said: Said, ids: dict[str, str]) -> Sequence[str]:
    wanted = ids.get(form.out, form.out) if isinstance(form.out, str) else form.out
    pattern = form.err.replace('"ID"', f'"{ids.get("ID")}"')
    try:
        found = form.read(said.out)
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
    found = set()
    for script in NODE_SCRIPTS.glob("*.sh"):
        for line in script.read_text().splitlines():
            for verb, rest in re.findall(
                r"(?<![-\w'])(?:docker|engine|docked [a-z-]+) ((?:image )?[a-z]+)\b([^|>]*)", line
            ):
                if not line.lstrip().startswith("#") and verb.split()[0] in VERBS:
                    found.add((verb, *re.findall(r"(?<=\s)--?[a-z][-a-z]*|\{\{.*\}\}", rest)))
    return found


VERBS = {form.words[0] for form in FORMS}
