"""A model in a directory of its own: the hub has no hashes of it, so the node that has it computes them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from sparkops.node.modelcache import AT_ONCE, NOTES, CacheFile, CacheTrouble, Repo, digest
from sparkops.node.modelmeter import size


class Folder(Repo):
    """A model directory with the methods of a cache folder. Its revision is a hash over the hashes of its files."""

    local = True

    def __init__(self, path: str) -> None:
        super().__init__("", path.rstrip("/"))
        self.folder, self.hub = self.model, os.path.dirname(self.model)
        self.parts = ("",)
        self._load()
        self.names: dict[str, str] = {}

    def blob(self, name: str) -> str:
        return self.path(self.names.get(name, name))

    def file(self, revision: str, path: str) -> str:
        return self.path(path)

    def learn(self, files: Iterable[CacheFile]) -> None:
        for file in files:
            self.names.setdefault(file.blob, file.path)

    def revision(self, wanted: str) -> str:
        """The revision of the present files; unchanged files are not hashed again."""
        if not os.path.isdir(self.folder):
            return ""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            paths = sorted(self._paths())
            found = dict(zip(paths, pool.map(self._hash, paths), strict=True))
        self.learn(CacheFile(path, blob, 0) for path, blob in found.items())
        text = json.dumps(found, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:40] if found else ""

    def entries(self, revision: str) -> Iterator[tuple[str, str]]:
        for path in sorted(self._paths()):
            yield path, self._hash(path)

    def link(self, revision: str, files: Iterable[CacheFile]) -> None:
        """Copy each received file to every path with the same content."""
        for file in files:
            path, there = self.path(file.path), self.blob(file.blob)
            if path != there and not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copyfile(there, path)

    def refs(self, revision: str | None = None) -> dict[str, str]:
        return {}

    def problem(self, path: str, blob: str, length: int | None) -> str:
        """There is no hash to compare with, but the header of a safetensors file gives its length."""
        found = os.stat(path).st_size
        if not path.endswith(".safetensors"):
            return super().problem(path, "", length)
        with open(path, "rb") as stream:
            head = int.from_bytes(stream.read(8), "little")
            try:
                about = json.loads(stream.read(min(head, found)))
                wanted = 8 + head + max([0, *(t["data_offsets"][1] for k, t in about.items() if k != "__metadata__")])
            except (ValueError, KeyError, TypeError, AttributeError):
                return "corrupt: no safetensors header" if found else "empty"
        return "" if found == wanted else f"truncated: {size(found)} of {size(wanted)}"

    def lock_folder(self) -> str:
        return os.path.expanduser("~/.local/state/sparkops/locks")

    def _paths(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith("incoming.")]
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.folder)
                if not path.startswith(NOTES) and not path.endswith(".incomplete"):
                    yield path

    def _hash(self, path: str) -> str:
        about = os.stat(self.path(path))
        stamp = [about.st_size, about.st_mtime_ns]
        known = self.notes.setdefault("hashes", {}).get(path)
        if known and known[1:] == stamp:
            return str(known[0])
        found = digest(self.path(path), "0" * 64)
        self.notes["hashes"][path] = [found, *stamp]
        return found


def repo_of(cache: str, model: str) -> Repo:
    if model.startswith("/"):
        if os.path.realpath(model) == "/":
            raise CacheTrouble("/ is not a model directory")
        return Folder(model)
    return Repo(cache, model)
