"""What is known of a container image: from the flags that were read from it, else from its name.

Nothing is assumed about an unknown image.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Literal

from sparkops.core import mods

Kind = Literal["mxfp4", "vllm-node", "vllm-openai", "ngc", "unknown"]


@dataclass(frozen=True)
class Software:
    """Versions of what an image runs by; empty is "the image has none"."""

    vllm: str = ""
    nccl: str = ""
    flashinfer: str = ""
    ray: str = ""
    torch: str = ""


@dataclass(frozen=True)
class KnownImage:
    """None is "not known"."""

    kind: Kind
    ray: bool | None = None
    mxfp4_flags: bool | None = None
    current: bool = False
    """Follows upstream closely enough to be judged by the newest flag table."""
    nccl: str = ""
    """The version of NCCL; empty if it was not read."""

    @property
    def graphs_hang(self) -> bool | None:
        """Whether CUDA graphs hang over nodes: NCCL 2.28 does, 2.30.4 and later do not (vllm #52504)."""
        version = tuple(int(number) for number in re.findall(r"[0-9]+", self.nccl)[:3])
        if version >= (2, 30, 4):
            return False
        return True if version[:2] == (2, 28) else None

    @property
    def stock(self) -> bool:
        """Upstream's MXFP4 kernels, which on GB10 fall back to Marlin."""
        return self.kind in ("vllm-node", "vllm-openai", "ngc") or (
            self.kind == "unknown" and self.mxfp4_flags is False
        )


KINDS: dict[Kind, KnownImage] = {
    "mxfp4": KnownImage("mxfp4", ray=True, mxfp4_flags=True),
    "vllm-node": KnownImage("vllm-node", ray=True, mxfp4_flags=False, current=True),
    "vllm-openai": KnownImage("vllm-openai", ray=False, mxfp4_flags=False, current=True),
    "ngc": KnownImage("ngc", ray=False, mxfp4_flags=False),
    "unknown": KnownImage("unknown"),
}

_NODE = ("vllm-node", "eugr/spark-vllm", "spark-arena/dgx-vllm-eugr-nightly")


def known(reference: str) -> KnownImage:
    """What is known from repository and tag; the registry does not matter."""
    name = reference.removeprefix(mods.PREFIX).lower().partition("@")[0]
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    return KINDS[_kind(repository, tag)]


def with_flags(image: KnownImage, flags: Container[str]) -> KnownImage:
    """What the image's own table of flags says, which is more certain than its name."""
    if "mxfp4-layers" in flags:
        return replace(KINDS["mxfp4"], ray=image.ray if image.kind != "unknown" else None)
    return replace(KINDS["unknown"] if image.kind == "mxfp4" else image, mxfp4_flags=False)


def with_software(image: KnownImage, software: Software) -> KnownImage:
    """What the packages of the image say, which is more certain than its name."""
    return replace(image, ray=bool(software.ray), nccl=software.nccl)


def _kind(repository: str, tag: str) -> Kind:
    last = repository.rpartition("/")[2]
    if "vllm" in last and ("mxfp4" in last or tag.startswith("mxfp4")):
        return "mxfp4"
    if repository == "nvcr.io/nvidia/vllm":
        return "ngc"
    if last == "vllm-openai":
        return "vllm-openai"
    path = f"/{repository}"
    if any(path.endswith(f"/{name}") or f"/{name}-" in path for name in _NODE):
        return "vllm-node"
    return "unknown"
