"""Download missing files, four at a time; a file counts if its hash is right."""

from __future__ import annotations

import errno
import fnmatch
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from sparkops.node.modelcache import AT_ONCE, CacheFile, CacheTrouble, Repo, digest, free, length_of, no_room, remove
from sparkops.node.modelhub import Hub
from sparkops.node.modelmeter import Meter

LEFT_OUT = ("original/*", "metal/*")


def fetch(repo: Repo, wanted: str, ask: dict[str, Any], exclude: list[str]) -> dict[str, Any]:
    """Download the missing files of a revision; the snapshot and its name are created last."""
    revision, listed = (hub := Hub(ask)).listing(repo.model, wanted)
    repo.prepare()
    with repo.lock():
        files = [f for f in listed if not any(fnmatch.fnmatch(f.path, glob) for glob in (*LEFT_OUT, *exclude))]
        if not files:
            raise CacheTrouble(f"{repo.model}@{wanted} has no files")
        missing = _missing(repo, files)
        _room(repo, missing)
        _download(repo, hub, revision, missing)
        repo.link(revision, files)
        if wanted != revision:
            repo.name(wanted, revision)
        if wanted == revision:
            repo.pin(revision)
        repo.notes["revisions"][revision] = {file.path: [file.blob, file.length] for file in files}
        repo.keep_notes()
    got = sum(file.length for file in missing)
    return {"model": repo.model, "revision": revision, "files": len(files), "bytes": _total(files), "fetched": got}


def _missing(repo: Repo, files: list[CacheFile]) -> list[CacheFile]:
    """One file for each blob that is not complete; files without a note of their hash are hashed."""
    unique = list({file.blob: file for file in files}.values())
    done: list[int] = []

    def look(file: CacheFile) -> bool:
        whole = repo.holds(file)
        done.append(file.length)
        return whole

    with Meter("checking", _total(unique), lambda: sum(done)), ThreadPoolExecutor(AT_ONCE) as pool:
        whole = list(pool.map(look, unique))
    repo.keep_notes()
    return [file for file, there in zip(unique, whole, strict=False) if not there]


def _room(repo: Repo, missing: list[CacheFile]) -> None:
    need = sum(file.length - min(length_of(repo.part(file.blob)), file.length) for file in missing)
    if need > free(repo.folder):
        raise no_room(f"the disk is too full for {repo.model}", repo.hub, need)


def _download(repo: Repo, hub: Hub, revision: str, missing: list[CacheFile]) -> None:
    def so_far() -> int:
        return sum(max(length_of(repo.part(f.blob)), length_of(repo.blob(f.blob))) for f in missing)

    def get(file: CacheFile) -> None:
        with repo.lock(file.blob):
            _get(repo, hub, hub.url(repo.model, revision, file.path), file)

    with Meter("downloading", _total(missing), so_far), ThreadPoolExecutor(AT_ONCE) as pool:
        work = [pool.submit(get, file) for file in sorted(missing, key=lambda file: (file.length > 1 << 20, file.path))]
        try:
            for one in as_completed(work):
                one.result()
        except OSError as error:
            pool.shutdown(wait=True, cancel_futures=True)
            raise _out_of_room(repo, missing, error) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            repo.keep_notes()


def _get(repo: Repo, hub: Hub, url: str, file: CacheFile) -> None:
    """Download a file, once more from the start if its hash is wrong (a proxy's page, a partial file of another)."""
    part = repo.part(file.blob)
    for _ in range(2):
        hub.download(url, part, file.length, repo.model)
        if (found := digest(part, file.blob)) == file.blob:
            repo.accept(part, file.blob)
            return
        remove(part)
    raise CacheTrouble(
        f"{file.path} was downloaded twice with the hash {found[:12]}, but the hub lists {file.blob[:12]}",
        "check the proxy or the mirror between this node and the hub: it changes files",
    )


def _out_of_room(repo: Repo, missing: list[CacheFile], error: OSError) -> Exception:
    """On a full disk, remove the partial downloads; returns the error to raise."""
    if error.errno != errno.ENOSPC:
        return error
    for file in missing:
        remove(repo.part(file.blob))
    need = sum(file.length for file in missing if not os.path.exists(repo.blob(file.blob)))
    return no_room("the disk became full during the download, and partial downloads were removed", repo.hub, need)


def _total(files: list[CacheFile]) -> int:
    return sum(file.length for file in files)
