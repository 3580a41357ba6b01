"""The images of a simulated engine: records by ID, and names that may move to other images."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

GB = 1_000_000_000


class DockerRefused(Exception):
    """The engine's error message, and docker's exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Store:
    """`used` says whether a container was made from an image ID."""

    def __init__(self, used: Callable[[str], bool]) -> None:
        self._used = used
        self._records: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}

    def add(self, reference: str, labels: Mapping[str, str], seed: str = "", size: int = 20 * GB) -> str:
        """Add an image that is built here; its ID depends only on the reference and `seed`."""
        image = f"sha256:{hashlib.sha256(f'{reference}{seed}'.encode()).hexdigest()}"
        record = {
            "Id": image,
            "RepoDigests": [],
            "Created": "2026-01-01T00:00:00Z",
            "Os": "linux",
            "Architecture": "arm64",
            "Size": size,
            "Config": {"Labels": dict(labels), "Env": [], "Entrypoint": None},
            "RootFS": {"Type": "layers", "Layers": [image]},
        }
        self.put(record, reference)
        return image

    def put(self, record: Mapping[str, Any], *names: str) -> None:
        """Add an image from elsewhere; its names move to it."""
        self._records[record["Id"]] = {key: value for key, value in record.items() if key != "RepoTags"}
        self._names |= {normal(name): record["Id"] for name in names}

    def tag(self, reference: str, name: str) -> None:
        self._names[normal(name)] = self.find(reference)["Id"]

    def find(self, reference: str) -> dict[str, Any]:
        """The record as `docker image inspect` shows it; raises DockerRefused."""
        image = self._names.get(normal(reference), reference)
        if image not in self._records:
            with_digest = (one["Id"] for one in self._records.values() if reference in one["RepoDigests"])
            image = next(with_digest, "")
        if not image:
            raise DockerRefused(f"Error response from daemon: No such image: {reference}")
        names = [name for name, identity in self._names.items() if identity == image]
        return {**self._records[image], "RepoTags": names}

    def all(self) -> list[dict[str, Any]]:
        return [self.find(image) for image in self._records]

    def clear(self) -> None:
        self._records.clear()
        self._names.clear()

    def remove(self, reference: str) -> str:
        """Remove one name, or the image with its last name; raises DockerRefused if a container uses it."""
        record = self.find(reference)
        if self._used(record["Id"]):
            told = f"unable to remove repository reference {reference!r} (must force)"
            raise DockerRefused(f"Error response from daemon: conflict: {told} - container is using its image")
        gone = record["RepoTags"] if reference == record["Id"] else [normal(reference)]
        for name in gone:
            self._names.pop(name, None)
        if set(gone) >= set(record["RepoTags"]):
            del self._records[record["Id"]]
            return f"Untagged: {reference}\nDeleted: {record['Id']}\n"
        return f"Untagged: {reference}\n"


def normal(name: str) -> str:
    """The name with a tag, as Docker prints it."""
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"
