"""Images without a registry: Debian by debootstrap, the node's image, and a seed with the images that nodes hold.

What is kept in the cache, under a hash of what went into it, are image stores of Docker engines in which `docker build`
has run. The lab's engine and its nodes' start on copies whose layer files are hard links: no load, no second copy on
the disk, and one page cache for all.
"""

import hashlib
import shutil
from functools import cache
from pathlib import Path

from sparklab import files
from sparklab.docker_backend import engine, machine
from sparklab.docker_backend.place import IMAGE, Place, cache_directory
from sparklab.docker_backend.shell import logged, run, tried

SUITE = "bookworm"
BASE = f"sparkops-lab-base:{SUITE}"
HELD = {
    # what nodes hold, in the order of building
    "vllm-node-mxfp4": "vllm",
    "ghcr.io/berriai/litellm:v1.100.0": "litellm",
    "llama-benchy:0.4.0": "benchy",
}
PACKAGE = IMAGE.parents[1]
ENGINE = (
    *("__init__.py", "cables.py", "errors.py", "files.py", "layout.py", "data", "engine"),
    *("tree/__init__.py", "tree/memory.py"),
)
"""The parts of this package that the engine's image holds."""
BUILD = """
set -eu
export PATH=/usr/local/lib/sparkops-lab/bin:$PATH DOCKER_BUILDKIT=0
dockerd --bridge none --iptables=false --ip-forward=false --ip-masq=false --log-level warn >/var/log/dockerd.log 2>&1 &
engine=$!
tries=0
until docker version >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] && kill -0 "$engine" || { tail -3 /var/log/dockerd.log >&2; exit 1; }
  sleep 0.2
done
docker image inspect "$BASE" >/dev/null 2>&1 || docker import - "$BASE" </base.tar
while [ $# -gt 0 ]; do docker build --network host $PROXIES -t "$1" "/contexts/$2"; shift 2; done
docker image prune -f >/dev/null
kill "$engine"
wait "$engine" || true
"""


def provide(place: Place) -> None:
    """The node image in the engine, the seed in the cache, the contexts beside the lab; at most one process builds."""
    contexts(place.contexts)
    cache_directory().mkdir(parents=True, exist_ok=True)
    with files.locked(cache_directory()):
        _node_image(place)
        _seed(place)


def digest(*roots: Path) -> str:
    """A hash of every file below these paths and of the Debian suite: a cached image depends on it."""
    made = hashlib.sha256(SUITE.encode())
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            if path.is_file() and "__pycache__" not in path.parts:
                made.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return made.hexdigest()[:16]


@cache
def node_image() -> str:
    return f"sparkops-lab-node:{digest(IMAGE / 'node')}"


@cache
def seed() -> Path:
    parts = (*(IMAGE / name for name in HELD.values()), *(PACKAGE / name for name in ENGINE))
    return cache_directory() / f"seed-{digest(*parts)}"


def tokenizer() -> Path:
    """The tiny model's tokenizer; the nodes' model caches have it for every model."""
    found = seed().glob("overlay2/*/diff/opt/lab/model/tokenizer.json")
    return max(found, key=lambda path: path.stat().st_mtime)


def contexts(folder: Path) -> None:
    """Write the build contexts, with the settings and wheels of this machine."""
    for name in HELD.values():
        target = folder / name
        _copy(IMAGE / name, target)
        copied = (target / "Dockerfile").read_text()
        if "COPY sparklab" in copied:
            for part in ENGINE:
                _copy(PACKAGE / part, target / "sparklab" / part)
        if "COPY machine" in copied:
            machine.write(target / "machine")
        if "COPY wheels" in copied:
            machine.write_wheels(target / "wheels")


def _copy(source: Path, target: Path) -> None:
    """A file or a tree without what Python has compiled of it."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _base() -> Path:
    """Debian as a tar file."""
    made = cache_directory() / f"base-{SUITE}.tar"
    if made.exists():
        return made
    tree = cache_directory() / "base.part"
    shutil.rmtree(tree, ignore_errors=True)
    logged(cache_directory() / "base.log", "debootstrap", "--variant=minbase", SUITE, str(tree))
    shutil.rmtree(tree / "var/cache/apt/archives", ignore_errors=True)
    part = cache_directory() / "base.tar.part"
    run("tar", "-C", str(tree), "-cf", str(part), ".")
    shutil.rmtree(tree)
    part.rename(made)
    return made


def _node_image(place: Place) -> None:
    name, env = node_image(), engine.environment(place)
    if not tried("docker", "image", "inspect", name, env=env):
        if not tried("docker", "image", "inspect", BASE, env=env):
            with _base().open("rb") as stream:
                run("docker", "import", "-", BASE, env=env, stdin=stream)
        words = ["docker", "build", "--network", "host", *machine.proxies(), "-t", name, str(IMAGE / "node")]
        logged(cache_directory() / "node.log", *words, env=env)
    kept = node_store()
    if place.record["engine"]["ours"] and not kept.exists():
        part = cache_directory() / "node.part"
        shutil.rmtree(part, ignore_errors=True)
        engine.copy_store(place.engine_data, part)
        _forget("node-*")
        part.rename(kept)


def node_store() -> Path:
    """An image store for a lab's engine that holds the node's image; exists once that was built."""
    return cache_directory() / f"node-{node_image().partition(':')[2]}"


def _seed(place: Place) -> None:
    """Build what nodes hold in an engine like theirs, on the layers of an older seed or of an interrupted build."""
    made = seed()
    if made.exists():
        return
    part = cache_directory() / "seed.part"
    older = next(iter(cache_directory().glob("seed-*")), None)
    if not part.exists() and older:
        copy = cache_directory() / "seed.copy"  # a copy that was cut off is no store
        shutil.rmtree(copy, ignore_errors=True)
        engine.copy_store(older, copy)
        copy.rename(part)
    part.mkdir(exist_ok=True)
    base, name = _base(), f"sparkops-lab-{place.id}-seed"
    # fmt: off
    words = [
        "docker", "run", "--rm", "--name", name, "--label", f"sparkops.lab={place.record['id']}",
        "--privileged", "--network", "host", "--tmpfs", "/run:exec,mode=755",
        "-v", f"{part}:/var/lib/docker", "-v", f"{place.contexts}:/contexts:ro", "-v", f"{base}:/base.tar:ro",
        "-e", f"BASE={BASE}", "-e", f"PROXIES={' '.join(machine.proxies())}",
        "--entrypoint", "sh", node_image(), "-c", BUILD, "build",
    ]
    # fmt: on
    for reference, context in HELD.items():
        words += [reference, context]
    logged(cache_directory() / "seed.log", *words, env=engine.environment(place))
    _forget("seed-*")
    part.rename(made)


def _forget(pattern: str) -> None:
    """Remove older images of a kind; a running lab keeps its hard links to them."""
    for old in cache_directory().glob(pattern):
        files.clear(old)
