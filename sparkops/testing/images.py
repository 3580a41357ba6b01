"""Images of a simulated node: what `image.sh` lists, builds, pulls, saves, loads and removes there."""

import base64
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping

from sparkops.core.plan import Result, Word
from sparkops.core.proxy_image import DEFAULT, called
from sparkops.testing.jobs import Timed
from sparkops.testing.node import SimulatedNode, said
from sparkops.testing.store import GB, DockerRefused, normal

BUILD_SECONDS, PULL_SECONDS = 600.0, 120.0
OPEN_WEBUI = (
    "ghcr.io/open-webui/open-webui:v0.11.4@sha256:9591b13f13843c7721c2b8eaf7382846c81b3ffe126526d1888d1fed50c6a33f"
)
PINNED = {called(one): one.partition("@")[2] for one in (DEFAULT, OPEN_WEBUI)}
"""The real digests of images that programs and recipes name."""

PUBLISHED = (
    *("ghcr.io/berriai/litellm:main-stable", *PINNED, "nvcr.io/nvidia/vllm:26.04-py3"),
    "vllm/vllm-openai:latest",
)
CLOSED = {"nvcr.io": "nvapi-lab"}
"""Hosts that ask for a login, and the password that opens them."""


def image(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    verb, *given = (str(word) for word in words)
    try:
        return _VERBS[verb](node, given, stdin)
    except DockerRefused as refused:
        return said(code=1, errors=f"{refused}\n")


def _list(node: SimulatedNode, _given: list[str], _stdin: str) -> Result:
    used = "".join(f"used {one.image}\n" for one in node.engine.listed())
    return said(f"{used}{json.dumps(node.engine.store.all())}\n")


def _context(node: SimulatedNode, given: list[str], stdin: str) -> Result:
    node.files[f"{_folder(given)}Dockerfile"] = _dockerfile(stdin)
    return said()


def _save(node: SimulatedNode, given: list[str], _stdin: str) -> Result:
    record = node.engine.store.find(given[0])
    return said(json.dumps(record), errors=f"progress: {record['Size']}\n")


def work(node: SimulatedNode, _job: str, words: tuple[str, ...]) -> Timed:
    """`build STATE_DIR ID TAG LABEL URL COMMIT WORDS…` or `pull STATE_DIR ID REFERENCE TAG [USER]`, as a job."""
    verb, *given = words
    folder = _folder(given)

    def tidy() -> None:
        for path in [path for path in node.files if path.startswith(folder)]:
            del node.files[path]

    if verb == "build":
        said = (f"Building image with command: {' '.join(given[6:])}", "progress: step 1 of 3: FROM")
        return Timed(node.now + BUILD_SECONDS, lambda log: _built(node, given, log), tidy, said)
    pulled = ("progress: 0 of 1 layers",)
    return Timed(node.now + PULL_SECONDS, lambda log: _pulled(node, folder, given[2], given[3], log), tidy, pulled)


def _folder(given: list[str]) -> str:
    return f"{given[0]}/work/{given[1]}/"


def _dockerfile(stdin: str) -> str:
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(stdin))) as packed:
        file = packed.extractfile("Dockerfile")
        return file.read().decode() if file else ""


def _built(node: SimulatedNode, given: list[str], log: list[str]) -> int:
    """Add the image without executing anything; a `RUN no-…` line of the Dockerfile fails."""
    steps = node.files.get(f"{_folder(given)}Dockerfile", "").splitlines()
    if wrong := next((line.split()[1] for line in steps if line.startswith("RUN no-")), ""):
        log.append(f"#7 0.214 /bin/sh: 1: {wrong}: not found")
        return 127
    key, _, value = given[3].partition("=")
    node.engine.store.add(given[2], {key: value}, seed=f"{node.name} {node.now}")
    return 0


def digest(reference: str) -> str:
    """The registry's digest for this name."""
    return PINNED.get(reference) or f"sha256:{hashlib.sha256(normal(reference).encode()).hexdigest()}"


def _pulled(node: SimulatedNode, folder: str, asked: str, tag: str, log: list[str]) -> int:
    name, _, wanted = asked.partition("@")
    fit = [one for one in PUBLISHED if normal(name) == one or (wanted and one.startswith(f"{name}:"))]
    found = next((one for one in fit if digest(one) == wanted), next(iter(fit), None))
    host = asked.partition("/")[0]
    if found is None:
        lookup = f"dial tcp: lookup {host}: Temporary failure in name resolution"
        log.append(f'Error response from daemon: Get "https://{host}/v2/": {lookup}')
    elif host in CLOSED and node.files.get(f"{folder}config.json") != CLOSED[host]:
        log.append("Error response from daemon: unauthorized: authentication required")
    elif wanted and wanted != digest(found):
        log.append(f"Error response from daemon: manifest for {asked} not found: manifest unknown: manifest unknown")
    else:
        identity = node.engine.store.add(found, {}, seed="published", size=2 * GB)
        record = node.engine.store.find(identity)
        by_digest = f"{found.rpartition(':')[0]}@{digest(found)}"
        node.engine.store.put({**record, "RepoDigests": [by_digest]}, *filter(None, (tag,)))
        return 0
    return 1


def _login(node: SimulatedNode, given: list[str], stdin: str) -> Result:
    host, password = given[2], stdin.strip()
    if CLOSED.get(host, password) != password:
        told = f'Error response from daemon: Get "https://{host}/v2/": unauthorized: authentication required\n'
        return said(told, code=1)
    node.files[f"{_folder(given)}config.json"] = password
    return said("Login Succeeded\n")


def _load(node: SimulatedNode, _given: list[str], stdin: str) -> Result:
    if re.search(r"}\s*$", stdin) is None:
        return said(code=1, errors=f"progress: {len(stdin)}\nunexpected EOF\n")
    record = json.loads(stdin)
    node.engine.store.put(record, *record["RepoTags"])
    return said(f"Loaded image: {record['RepoTags'][0]}\n", errors=f"progress: {len(stdin)}\n")


_VERBS: Mapping[str, Callable[[SimulatedNode, list[str], str], Result]] = {
    "context": _context,
    "list": _list,
    "load": _load,
    "login": _login,
    "remove": lambda node, given, _: said("".join(map(node.engine.store.remove, given))),
    "save": _save,
}
