"""Images on a node, and the fingerprint by which equal images are recognised on nodes that store them differently."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sparkops.core.facts.raw import Probe, Unread, parts
from sparkops.core.facts.reading import document, mapping, pairs, texts
from sparkops.core.images import Software

CONFIG = (
    "User",
    "ExposedPorts",
    "Env",
    "Entrypoint",
    "Cmd",
    "Volumes",
    "WorkingDir",
    "Labels",
    "StopSignal",
    "Healthcheck",
    "Shell",
    "OnBuild",
)
"""Fields of a configuration that belong to the image; others are left over from its build container."""

NORMAL_VARIANTS = {"arm64": "v8"}

VERSION = re.compile(r"([0-9][0-9A-Za-z.+!_-]{0,79})?")
"""What an image says of itself, as it is shown and compared."""


@dataclass(frozen=True)
class Image:
    """`id` is how this node's store names it, `fingerprint` is equal wherever the image is.

    `software` is None if it could not be read. `graphs_hung`: the first replay of CUDA graphs hung on this node.
    """

    reference: str
    id: str
    fingerprint: str
    size_bytes: int
    created: str
    architecture: str
    env: Mapping[str, str]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    digests: tuple[str, ...]
    software: Software | None = None
    graphs_hung: bool = False


def images(text: str) -> Mapping[str, Image | Unread | None]:
    """Images by reference; None if the engine has no such image. A part `NOTE REFERENCE` is about the image."""
    found = {part.name: part for part in parts(text)}
    return {name: _noted(_image(part), found) for name, part in found.items() if " " not in name}


def fingerprint(item: Mapping[str, Any]) -> str:
    """SHA-256 over platform, layers and configuration without empty fields.

    The image ID will not do: overlay2 names the configuration, containerd's store the manifest or index.
    """
    architecture, variant = str(item.get("Architecture", "")), str(item.get("Variant", ""))
    config = mapping(item.get("Config"))
    identity = {
        "os": item.get("Os", ""),
        "architecture": architecture,
        "variant": "" if NORMAL_VARIANTS.get(architecture) == variant else variant,
        "layers": texts(mapping(item.get("RootFS")).get("Layers")),
        "config": {key: config[key] for key in CONFIG if config.get(key)},
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _noted(image: Image | Unread | None, found: Mapping[str, Probe]) -> Image | Unread | None:
    if not isinstance(image, Image):
        return image
    told, hung = found.get(f"software {image.reference}"), f"graphs-hung {image.reference}" in found
    return replace(image, software=_software(told.text) if told else None, graphs_hung=hung)


def _software(text: str) -> Software | None:
    told = pairs(text)
    versions = [told.get(field.name, "missing") for field in fields(Software)]
    return Software(*versions) if all(map(VERSION.fullmatch, versions)) else None


def _image(part: Probe) -> Image | Unread | None:
    if part.exit:
        line = next((line for line in part.text.splitlines() if line.strip() not in ("", "[]")), "")
        return None if "no such image" in line.lower() else Unread(f"{line.strip()} (exit {part.exit})")
    try:
        found = document(part.text)
        return _read(part.name, mapping(found[0] if isinstance(found, list) and found else found))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Unread(f"unexpected output of docker image inspect: {error}")


def _read(reference: str, item: Mapping[str, Any]) -> Image:
    config = mapping(item.get("Config"))
    env = (entry.partition("=") for entry in texts(config.get("Env")))
    return Image(
        reference=reference,
        id=str(item["Id"]),
        fingerprint=fingerprint(item),
        size_bytes=int(item.get("Size") or 0),
        created=str(item.get("Created", "")),
        architecture=str(item.get("Architecture", "")),
        env={key: value for key, _, value in env},
        labels={str(key): str(value) for key, value in mapping(config.get("Labels")).items()},
        entrypoint=texts(config.get("Entrypoint")),
        digests=texts(item.get("RepoDigests")),
    )
