"""Mods: patches that recipes of spark-vllm-docker and sparkrun run inside a container before its engine.

Here they are built into an image once, whose name says which: `sparkops-mods/<image>:<tag>-with-<mods>-<hash>`.
A mod is a directory with a `run.sh`; it is looked for below `image build --mods DIR`, or comes from a pinned source.
"""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PREFIX = "sparkops-mods/"
OURS = {"drop-caches": "sparkops drops the page caches itself, before the engine starts and while weights load"}
"""Mods that are not built in, because sparkops does on the node what they try from inside a container."""

PLACE = "/workspace/mods"
_LONGEST_TAG = 100
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_SOURCE = re.compile(r"(?P<git>(?:https|ssh|git)://\S+)@(?P<commit>[0-9a-f]{40})(?::(?P<path>[^\s:]+))?")


@dataclass(frozen=True)
class Source:
    """A mod in a repository at a commit; `path` is its directory there."""

    git: str
    commit: str
    path: str

    @property
    def url(self) -> str:
        """As Docker's `ADD` takes it."""
        git = self.git if self.git.endswith(".git") else f"{self.git}.git"
        return f"{git}#{self.commit}:{self.path}" if self.path else f"{git}#{self.commit}"


def short(mod: str) -> str:
    """A mod's own name: `mods/fix-x`, `@registry/fix-x` and `fix-x.zip` are `fix-x`."""
    return mod.rstrip("/").rpartition("/")[2].removesuffix(".zip") or mod


def strange(mods: Sequence[str]) -> tuple[str, ...]:
    """The mods whose names are not plain directory names: they could name any path, and enter a shell command."""
    return tuple(mod for mod in mods if not _NAME.fullmatch(short(mod)) or ".." in mod.split("/"))


def needed(mods: Sequence[str]) -> tuple[str, ...]:
    """The mods that must be in the image."""
    return tuple(mod for mod in mods if short(mod) not in OURS)


def derived(container: str, mods: Sequence[str]) -> str:
    """The reference of an image with these mods in it; the image itself if none is needed."""
    wanted = needed(mods)
    if not wanted:
        return container
    name, at, digest = container.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, digest.partition(":")[2][:12] if at else "latest"
    names = "-".join(_plain(short(mod)) for mod in wanted)
    unique = f"{zlib.crc32(chr(10).join((container, *wanted)).encode()):08x}"
    full = f"{_plain(tag)}-with-{names}"[:_LONGEST_TAG].rstrip("-.")
    return f"{PREFIX}{_plain(repository.lower(), '/')}:{full}-{unique}"


def _plain(text: str, also: str = "") -> str:
    return re.sub(rf"[^A-Za-z0-9_.{also}-]+", "-", text).strip("-.") or "x"


def source(text: str) -> Source | None:
    """`https://…/repo.git@COMMIT:path/of/mod`, the commit with all its 40 digits; None is a directory."""
    found = _SOURCE.fullmatch(text)
    return Source(found["git"], found["commit"], found["path"] or "") if found else None


def candidates(mod: str) -> tuple[str, ...]:
    """The places below `--mods DIR` to look for a mod."""
    return tuple(dict.fromkeys((mod.lstrip("@/"), f"mods/{short(mod)}", short(mod))))


def dockerfile(container: str, mods: Sequence[str], sources: Mapping[str, Source]) -> str:
    """The image with the mods run in order, each from its source or from `mods/<name>/` of the build context."""
    lines = [f"FROM {container}"]
    for mod in needed(mods):
        name, place = short(mod), f"{PLACE}/{short(mod)}"
        if mod in sources:
            lines.append(f"ADD {json.dumps([sources[mod].url, f'{place}/'])}")
        else:
            lines.append(f"COPY {json.dumps([f'mods/{name}/', f'{place}/'])}")
        lines.append(f'RUN export WORKSPACE_DIR="$PWD" && cd "{place}" && chmod +x run.sh && ./run.sh')
    return "\n".join(lines) + "\n"
