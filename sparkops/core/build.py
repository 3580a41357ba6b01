"""How an image is built: a recipe's `build`, and the digest of everything that goes into it."""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError

LABEL = "sparkops.build"
"""The image label that holds the digest of what the image was made from."""

UPSTREAM = "https://github.com/eugr/spark-vllm-docker.git"
PINNED = "028b7cefba382c3d21f75913afb1dc510cb85c7e"
"""A commit of spark-vllm-docker of September 2026 that pins the dependencies of its mxfp4 build."""

KEYS = ("context", "dockerfile", "args", "git", "commit", "command")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Build:
    """The source is `context`, a directory of the control machine, or `git` at `commit`, fetched by the node.

    `command` runs in the source directory and must make `image`; without one, `docker build` runs.
    """

    image: str
    context: str | None = None
    dockerfile: str | None = None
    args: Mapping[str, str] = field(default_factory=dict)
    git: str | None = None
    commit: str | None = None
    command: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What the node runs in the source directory, without the label that docker build can put on."""
        if self.command:
            return tuple(word.replace("{image}", self.image) for word in self.command)
        named = ("-f", self.dockerfile) if self.dockerfile else ()
        args = (word for key, value in sorted(self.args.items()) for word in ("--build-arg", f"{key}={value}"))
        return ("docker", "build", "-t", self.image, *named, *args, ".")

    def digest(self, context: str) -> str:
        """Sixteen hex digits over everything that makes the image; `context` is the digest of the files sent."""
        shape = [self.image, self.git, self.commit, context, list(self.words)]
        return hashlib.sha256(json.dumps(shape, separators=(",", ":")).encode()).hexdigest()[:16]


def spark_vllm_docker(flags: Sequence[str]) -> dict[str, Any]:
    """The `build` of an image that spark-vllm-docker's own script makes with these flags."""
    return {"git": UPSTREAM, "commit": PINNED, "command": ["./build-and-copy.sh", "-t", "{image}", *flags]}


BENCHY = "llama-benchy:0.4.0"
"""The image that measures on a node."""

KNOWN = {
    "vllm-node": spark_vllm_docker(()),
    "vllm-node-tf5": spark_vllm_docker(("--tf5",)),
    "vllm-node-b12x": spark_vllm_docker(("--exp-b12x",)),
    "vllm-node-mxfp4": spark_vllm_docker(("--exp-mxfp4", "--full-log")),
    BENCHY: {"context": "data/benchy"},
}
"""How to build images that no registry has, if no recipe says how; a `context` is a directory of the package.

For all but the mxfp4 image, spark-vllm-docker's script pulls its author's newest build and gives it this name.
"""


def known(image: str) -> dict[str, Any] | None:
    """The `build` of an image that needs no recipe to say it; the tag `latest` may be left out."""
    return KNOWN.get(image.removesuffix(":latest"))


def read(image: str, given: Mapping[str, Any], where: str) -> Build:
    """A recipe's `build`; raises UsageError naming the key."""

    def wrong(key: str, problem: str) -> UsageError:
        return UsageError(one_line(f"{where}: build{'.' if key else ''}{key}: {problem}"))

    for key in given:
        if key not in KEYS:
            raise wrong(str(key), f"unknown key{did_you_mean(str(key), KEYS)}")
    texts = {key: _text(given, key, wrong) for key in ("context", "dockerfile", "git", "commit")}
    if texts["git"] and not _COMMIT.fullmatch(texts["commit"] or ""):
        raise wrong("commit", "must be a full commit (40 hex digits), so that every build uses the same files")
    if texts["git"] and texts["context"]:
        raise wrong("context", "cannot be used together with git: only one of them can be the source of the files")
    if not (texts["git"] or texts["context"]):
        raise wrong("", "needs the key context (a directory), or the keys git and commit")
    args = given.get("args") or {}
    if not isinstance(args, Mapping):
        raise wrong("args", "must be a mapping of build arguments, such as {VERSION: 1}")
    command = given.get("command") or ()
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise wrong("command", str(error)) from error
    if words and (args or texts["dockerfile"]):
        raise wrong("command", "replaces `docker build`, so dockerfile and args would have no effect; remove them")
    return Build(image, args={str(k): _plain(v) for k, v in args.items()}, command=tuple(words), **texts)


def _text(given: Mapping[str, Any], key: str, wrong: Any) -> str | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, str) or not value or value.startswith("-")):
        raise wrong(key, "must be text that does not begin with -")
    return value


def _plain(value: object) -> str:
    """A build argument as text; true and false in lower case, as in YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def job_id(kind: str, image: str, digest: str = "") -> str:
    """A job's name, equal for equal work, so that starting it again finds it."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", image.removeprefix("docker.io/")).strip(".-")
    return "-".join(filter(None, (kind, name, digest[:8])))
