"""Copy a model from node to node: what one has, what another lacks, the stream between them, and the final check.

The stream is tar's of the missing blobs. It is kept apart until each file has the hash that it must have, so that a
sender or a link that dies in the middle leaves no file that looks whole; what came whole is not sent again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sparkops.node.modelcache import AT_ONCE, CacheFile, CacheTrouble, Repo, digest, free, length_of, no_room
from sparkops.node.modelmeter import Meter, size
from sparkops.node.modelvocabulary import VOCABULARY, vocabulary_file

INCOMING = "incoming.sparkops"
NO_ROOM_TO_UNPACK = "the disk is full"
TAR_SAYS_FULL = ("No space left on device", "Wrote only ")
"""GNU tar 1.34 on a full disk: the first message if it cannot create a file, the second if it cannot complete one."""

Manifest = dict[str, Any]


def manifest(repo: Repo, revision: str, words: str) -> Manifest:
    """What a copy of this snapshot must hold; for a model directory the hashes are computed here."""
    files = {}
    for path, blob in repo.entries(revision):
        if len(blob) not in (40, 64) and not repo.local:
            raise CacheTrouble(
                f"{repo.model}: {path} is not a link to a blob, so its hash is unknown", "run `sparkops model fetch`"
            )
        files[path] = [blob, length_of(repo.file(revision, path))]
    return {
        "model": repo.model,
        "revision": revision,
        "refs": list(repo.refs(revision)),
        "pinned": repo.pinned(revision),
        "files": files,
        "words": [name for name in VOCABULARY if words and vocabulary_file(words, name)],
    }


def lacks(repo: Repo, wanted: Manifest, words: str) -> dict[str, Any]:
    """The files that this node lacks, after using those of an interrupted copy; `words` is the vocabulary's folder."""
    repo.prepare()
    with repo.lock():
        files = named(wanted)
        repo.learn(files)
        _take_in(repo, files)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            missing = [file for file, there in zip(files, pool.map(repo.holds, files), strict=True) if not there]
        without = [name for name in wanted["words"] if not vocabulary_file(words, name)]
        if not missing:
            _finish(repo, wanted)
        repo.keep_notes()
        need = sum(file.length for file in missing)
        return {"missing": [*(file.blob for file in missing), *without], "need": need, "free": free(repo.folder)}


def send(repo: Repo, blobs: Iterable[str], words: str, names: Iterable[str]) -> int:
    """Write a tar stream to stdout, with holes; `relay.sh` reads the progress from this process's counters."""
    line = ["tar", "-C", repo.folder, "-cSf", "-", *(f"./{repo.member(blob)}" for blob in blobs)]
    files = list(names)
    line += ["-C", os.path.abspath(words), *files] if files else []  # tar fails at a -C without a file after it
    with subprocess.Popen(line, stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        try:
            _pump(tar.stdout.fileno(), 1)
        except BrokenPipeError:  # the receiver is gone
            tar.kill()
    return 1 if tar.returncode else 0


def take(repo: Repo, wanted: Manifest, words: str) -> dict[str, Any]:
    """Read a tar stream from stdin; keep the files that arrived completely, also if the stream breaks."""
    repo.prepare()
    with repo.lock():
        files = named(wanted)
        repo.learn(files)
        said = _unpack(repo.path(INCOMING))
        if words:
            _take_words(repo.path(INCOMING), words)
        came = _take_in(repo, files)
        missing = [file for file in files if not repo.holds(file)]
        repo.keep_notes()
        if missing:
            lost = sum(file.length for file in missing)
            if said == NO_ROOM_TO_UNPACK:
                raise no_room("the disk became full during the copy, and partial files were removed", repo.folder, lost)
            raise CacheTrouble(
                f"{len(missing)} files ({size(lost)}) of {repo.model} did not arrive: {said}", "run the command again"
            )
        _finish(repo, wanted)
        repo.keep_notes()
        return {"model": repo.model, "revision": wanted["revision"], "copied": came, "files": len(wanted["files"])}


def _unpack(incoming: str) -> str:
    """Unpack stdin and return tar's error, if any; the hash of a partial file shows later that it is partial."""
    shutil.rmtree(incoming, ignore_errors=True)
    os.makedirs(incoming)
    line = ["tar", "-C", incoming, "-xSf", "-", "--no-same-owner", "--no-same-permissions"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=False) as tar:
        assert tar.stdin is not None
        assert tar.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            _pump(0, tar.stdin.fileno())
        tar.stdin.close()
        said = tar.stderr.read().decode(errors="replace").strip().splitlines()
    if any(words in line for line in said for words in TAR_SAYS_FULL):
        return NO_ROOM_TO_UNPACK
    return said[-1] if said else "the stream ended early"


def _pump(source: int, target: int) -> None:
    while block := os.read(source, 1 << 20):
        left = memoryview(block)
        while left:
            left = left[os.write(target, left) :]


def _take_words(incoming: str, folder: str) -> None:
    for name, blob in VOCABULARY.items():
        path = os.path.join(incoming, name)
        if os.path.isfile(path) and digest(path, blob) == blob:
            os.makedirs(folder, exist_ok=True)
            os.replace(path, os.path.join(folder, name))
            vocabulary_file(folder, name)


def named(wanted: Manifest) -> list[CacheFile]:
    """One file for each blob, the first of its paths."""
    found: dict[str, CacheFile] = {}
    for path, (blob, length) in sorted(wanted["files"].items()):
        found.setdefault(blob, CacheFile(path, blob, length))
    return list(found.values())


def _take_in(repo: Repo, files: list[CacheFile]) -> int:
    """Move received blobs with the right hash to their place, remove the others; returns the bytes moved."""
    incoming = repo.path(INCOMING)
    if not os.path.isdir(incoming):
        return 0
    here = [file for file in files if length_of(os.path.join(incoming, repo.member(file.blob))) == file.length]
    done: list[int] = []

    def look(file: CacheFile) -> int:
        path = os.path.join(incoming, repo.member(file.blob))
        done.append(file.length)
        if digest(path, file.blob) != file.blob:
            return 0
        os.makedirs(os.path.dirname(repo.blob(file.blob)), exist_ok=True)
        repo.accept(path, file.blob)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(repo.part(file.blob))
        return file.length

    with Meter("verifying", sum(f.length for f in here), lambda: sum(done)), ThreadPoolExecutor(AT_ONCE) as pool:
        came = sum(pool.map(look, here))
    shutil.rmtree(incoming, ignore_errors=True)
    return came


def _finish(repo: Repo, wanted: Manifest) -> None:
    """Create the snapshot and its names; called when all blobs are complete."""
    repo.link(wanted["revision"], [CacheFile(path, blob, length) for path, (blob, length) in wanted["files"].items()])
    for name in wanted["refs"]:
        repo.name(name, wanted["revision"])
    if wanted["pinned"]:
        repo.pin(wanted["revision"])
    repo.notes["revisions"][wanted["revision"]] = wanted["files"]


def read_manifest(path: str) -> Manifest:
    with open(path, encoding="utf-8") as stream:
        found: Manifest = json.load(stream)
    return found
