"""A model's folder in the Hugging Face cache, laid out as by huggingface_hub, and the output of work on it.

Runs on nodes (Python 3.9), as part of the scripts that import it. Lines on stdout: `progress: ...`, `error: ...` with
`next: ...`, `result JSON`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from sparkops.node.modelmeter import say, size

NOTES = ".sparkops.json"
AT_ONCE = 4
WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")


class CacheTrouble(Exception):
    """An error that ends the work, with a message for people and a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


MAKE_ROOM = "`sparkops model prune` and `sparkops image prune` show what no deployment needs, and remove it"


def digest(path: str, name: str) -> str:
    """The hash that the hub uses in `name`: SHA-256 of an LFS file (64 digits), else git's. Several may run at once."""
    if len(name) == 64:
        done = subprocess.run(["sha256sum", "--", path], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(5, done.stderr.strip() or "sha256sum failed", path)
        return done.stdout.lstrip("\\").split()[0]
    with open(path, "rb") as stream:
        content = stream.read()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def free(path: str) -> int:
    """Free bytes for this user on the disk of `path`."""
    rows = subprocess.run(["df", "-Pk", "--", path], capture_output=True, text=True, check=False).stdout.splitlines()
    return int(rows[-1].split()[3]) * 1024 if len(rows) > 1 else 0


def no_room(what: str, folder: str, need: int) -> CacheTrouble:
    """The error with the bytes needed and the bytes free on the disk of `folder`."""
    return CacheTrouble(f"{what}: need {size(need)}, have {size(free(folder))} in {folder}", MAKE_ROOM)


def forget(path: str) -> None:
    """Drop the file from the page cache: CUDA could not use that memory."""
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def length_of(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0


class CacheFile:
    """One file of a snapshot; `blob` is the hash of its content."""

    def __init__(self, path: str, blob: str, length: int) -> None:
        if path.startswith("/") or ".." in path.split("/") or not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", blob):
            raise CacheTrouble(f"the hub lists a file with an invalid path or hash: path {path!r}, hash {blob!r}")
        self.path, self.blob, self.length = path, blob, length


class Repo:
    """One model's folder in the cache, laid out as the hub's own library does it."""

    local = False

    def __init__(self, cache: str, model: str) -> None:
        self.model, self.hub = model, os.path.join(cache, "hub")
        self.folder = os.path.join(self.hub, "models--" + model.replace("/", "--"))
        self.parts: tuple[str, ...] = ("", "blobs", "refs", "snapshots")
        self._load()

    def _load(self) -> None:
        self.notes: dict[str, Any] = {"schema": 1, "verified": {}, "revisions": {}}
        with contextlib.suppress(OSError, ValueError), open(self.path(NOTES), encoding="utf-8") as stream:
            self.notes |= json.load(stream)

    def path(self, *parts: str) -> str:
        return os.path.join(self.folder, *parts)

    def blob(self, name: str) -> str:
        return self.path("blobs", name)

    def part(self, name: str) -> str:
        return f"{self.blob(name)}.incomplete"

    def file(self, revision: str, path: str) -> str:
        return self.path("snapshots", revision, path)

    def member(self, name: str) -> str:
        """The path of a blob relative to the model's folder."""
        return os.path.relpath(self.blob(name), self.folder)

    def learn(self, files: Iterable[CacheFile]) -> None:
        """Note the paths of blobs, for a `Folder`; a cache names blobs by their hash and needs no note."""

    def prepare(self) -> None:
        for part in self.parts:
            try:
                os.makedirs(self.path(part), exist_ok=True)
                with tempfile.TemporaryFile(dir=self.path(part)):
                    pass
            except PermissionError:
                raise CacheTrouble(
                    f"{self.path(part).rstrip('/')} cannot be written: a container created it as root",
                    f"run on the node: sudo chown -R $USER {os.path.dirname(self.hub)}",
                ) from None

    def lock_folder(self) -> str:
        return os.path.join(self.hub, ".locks", os.path.basename(self.folder))

    @contextlib.contextmanager
    def lock(self, name: str = "sparkops", wait: bool = True) -> Iterator[None]:
        """Hold the lock file that huggingface_hub uses for this blob; without `wait` raises BlockingIOError."""
        home = self.lock_folder()
        os.makedirs(home, exist_ok=True)
        with open(os.path.join(home, f"{name}.lock"), "a", encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    raise
                say("progress:", f"waiting for another process that uses {self.model}")
                fcntl.flock(stream, fcntl.LOCK_EX)
                self._load()
            yield

    def keep_notes(self) -> None:
        """Save the notes; on a full disk go on without them, and hashes are computed again."""
        new = self.path(f"{NOTES}.new")
        try:
            with open(new, "w", encoding="utf-8") as stream:
                json.dump(self.notes, stream)
            os.replace(new, self.path(NOTES))
        except OSError as error:
            remove(new)
            if error.errno != errno.ENOSPC:
                raise

    def accept(self, path: str, name: str) -> None:
        """Move a file with a checked hash to the blob of this name."""
        os.replace(path, self.blob(name))
        self.notes["verified"][name] = self.stamp(name)
        forget(self.blob(name))

    def stamp(self, name: str) -> list[int]:
        found = os.stat(self.blob(name))
        return [found.st_size, found.st_mtime_ns]

    def revision(self, wanted: str) -> str:
        """The cached snapshot of a branch, tag or commit; empty if there is none."""
        found = wanted
        with contextlib.suppress(OSError), open(self.path("refs", wanted), encoding="utf-8") as stream:
            found = stream.read().strip()
        return found if os.path.isdir(self.path("snapshots", found)) else ""

    def proven(self, name: str) -> bool:
        """Whether a note has the hash of this blob, for its size and time."""
        with contextlib.suppress(OSError):
            return bool(self.notes["verified"].get(name) == self.stamp(name))
        return False

    def holds(self, file: CacheFile) -> bool:
        """Whether the blob is complete; its hash is computed unless it is proven."""
        try:
            stamp = self.stamp(file.blob)
        except FileNotFoundError:
            return False
        if stamp[0] == file.length and self.proven(file.blob):
            return True
        if stamp[0] == file.length and digest(self.blob(file.blob), file.blob) == file.blob:
            self.notes["verified"][file.blob] = stamp
            forget(self.blob(file.blob))
            return True
        if stamp[0] < file.length:
            os.replace(self.blob(file.blob), self.part(file.blob))  # cut off: the rest is enough
        else:
            remove(self.blob(file.blob))
        return False

    def link(self, revision: str, files: Iterable[CacheFile]) -> None:
        for file in files:
            link = self.path("snapshots", revision, file.path)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            target = os.path.relpath(self.blob(file.blob), os.path.dirname(link))
            if not os.path.islink(link) or os.readlink(link) != target:
                remove(link)
                os.symlink(target, link)

    def entries(self, revision: str) -> Iterator[tuple[str, str]]:
        """Path and blob of every file in a snapshot; the blob is empty if the file is not a link."""
        top = self.path("snapshots", revision)
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                blob = os.path.basename(os.readlink(path)) if os.path.islink(path) else ""
                yield os.path.relpath(path, top), blob

    def halves(self) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(name for name in os.listdir(self.path("blobs")) if name.endswith(".incomplete"))
        return []

    def needs(self, revision: str, entries: Iterable[str]) -> set[str]:
        """Files that an engine needs: a configuration, and every shard by an index or by another shard's name."""
        here = set(entries)
        other = here & {"adapter_config.json", "params.json"} or any(path.endswith(".gguf") for path in here)
        wanted = set() if other else {"config.json"}
        for path in here:
            if path.endswith((".safetensors.index.json", ".bin.index.json")):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    with open(self.path("snapshots", revision, path), encoding="utf-8") as stream:
                        named = json.load(stream)["weight_map"].values()
                    wanted |= {os.path.join(os.path.dirname(path), name) for name in named}
            if shard := re.fullmatch(r"(.*-)(\d{5})-of-(\d{5})(\.\w+)", path):
                wanted |= {f"{shard[1]}{number:05d}-of-{shard[3]}{shard[4]}" for number in range(1, int(shard[3]) + 1)}
        return wanted if revision else set()

    def lacks(self, revision: str, entries: Iterable[str]) -> set[str]:
        """Files of a snapshot that do not exist: those that were noted, else those that an engine needs."""
        here = {path for path in entries if os.path.exists(self.file(revision, path))}
        return (set(self.notes["revisions"].get(revision, ())) or self.needs(revision, entries)) - here

    def problem(self, path: str, blob: str, length: int | None) -> str:
        """What is wrong with a file of a snapshot, empty when nothing is."""
        if not os.path.exists(path):
            return "broken link"
        found = os.stat(path).st_size
        if length is not None and found < length:
            return f"truncated: {size(found)} of {size(length)}" if found else "empty"
        if len(blob) in (40, 64) and digest(path, blob) != blob:
            return "corrupt: its content does not match its hash" if found else "empty"
        return "empty" if not found and path.endswith(WEIGHTS) else ""

    def refs(self, revision: str | None = None) -> dict[str, str]:
        """The commit of each branch or tag, by name: of one commit or of all."""
        found = {}
        for folder, _, names in os.walk(self.path("refs")):
            for path in (os.path.join(folder, name) for name in names):
                with open(path, encoding="utf-8") as stream:
                    found[os.path.relpath(path, self.path("refs"))] = stream.read().strip()
        return {name: meant for name, meant in found.items() if revision in (None, meant)}

    def name(self, name: str, revision: str) -> None:
        path = self.path("refs", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.new", "w", encoding="utf-8") as stream:
            stream.write(revision)
        os.replace(f"{path}.new", path)

    def pin(self, revision: str) -> None:
        """Note that the user fetched it by its commit, so pruning keeps it although no name refers to it."""
        pinned = self.notes.setdefault("pinned", [])
        if revision not in pinned:
            pinned.append(revision)

    def pinned(self, revision: str) -> bool:
        return revision in self.notes.get("pinned", [])

    def drop(self, revision: str) -> None:
        """Remove a snapshot and its names; `sweep` then removes its blobs."""
        shutil.rmtree(self.path("snapshots", revision), ignore_errors=True)
        for name in self.refs(revision):
            remove(self.path("refs", name))

    def sweep(self) -> int:
        """Remove blobs that no snapshot needs, or the folder without snapshots; returns the bytes freed."""
        snapshots = os.listdir(self.path("snapshots")) if os.path.isdir(self.path("snapshots")) else []
        needed = {blob for revision in snapshots for _, blob in self.entries(revision)}
        freed = 0
        for name in os.listdir(self.path("blobs")) if os.path.isdir(self.path("blobs")) else []:
            if name not in needed:
                freed += length_of(self.blob(name))
                remove(self.blob(name))
        if snapshots:
            known = self.notes["revisions"]
            self.notes["revisions"] = {revision: known[revision] for revision in snapshots if revision in known}
            self.keep_notes()
        else:
            shutil.rmtree(self.folder)
        return freed
