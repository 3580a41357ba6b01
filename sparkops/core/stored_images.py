"""The images of a node's whole store, as `image list` prints them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sparkops.core.facts.images import fingerprint
from sparkops.core.facts.reading import mapping, texts


@dataclass(frozen=True)
class StoredImage:
    """`tags` is empty if a newer image has the name now. `used`: a container was made from the image."""

    node: str
    id: str
    fingerprint: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    size_bytes: int
    created: str
    labels: Mapping[str, str]
    used: bool


def listed(node: str, text: str) -> tuple[StoredImage, ...]:
    """Newest first; raises ValueError for what no engine prints."""
    lines = text.splitlines()
    used = {line.removeprefix("used ") for line in lines if line.startswith("used ")}
    items = json.loads("\n".join(line for line in lines if not line.startswith("used ")) or "[]")
    found = [_read(node, mapping(item), used) for item in items]
    return tuple(sorted(found, key=lambda one: one.created, reverse=True))


def _read(node: str, item: Mapping[str, object], used: set[str]) -> StoredImage:
    labels = mapping(mapping(item.get("Config")).get("Labels"))
    identity, size = str(item["Id"]), item.get("Size")
    return StoredImage(
        node=node,
        id=identity,
        fingerprint=fingerprint(item),
        tags=texts(item.get("RepoTags")),
        digests=texts(item.get("RepoDigests")),
        size_bytes=size if isinstance(size, int) else 0,
        created=str(item.get("Created", "")),
        labels={str(key): str(value) for key, value in labels.items()},
        used=identity in used,
    )
