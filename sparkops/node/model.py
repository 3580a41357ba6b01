"""Models in this node's Hugging Face cache, with what DGX OS has: Python 3, curl, sha256sum.

    model fetch MODEL[@REVISION] [--ask FILE] [--exclude GLOB]... [--vocabulary DIR] [--offline]
    model verify MODEL[@REVISION]
    model list
    model prune [MODEL@REVISION]...      `MODEL@` for half downloads alone
    model has MODEL[@REVISION]           what a copy must hold, as JSON
    model lacks MODEL MANIFEST           what of it is not here; MANIFEST goes when nothing is missing
    model send MODEL [--only BLOB,...]   those as a stream of tar on stdout
    model take MODEL MANIFEST            from such a stream on stdin; `--vocabulary DIR` for all three
    model words --vocabulary DIR         exit 0 when the tokenizer's files are there

MODEL may be a directory. `--cache DIR` names the cache. FILE is JSON of mode 0600, removed once it is read: token,
endpoint, proxies. A file counts when its content has the hash that is its blob's name; a snapshot appears when all of
its files count.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from typing import Any

from sparkops.node.modelcache import MAKE_ROOM, CacheTrouble, Repo, free, length_of
from sparkops.node.modelcopy import lacks, manifest, named, read_manifest, send, take
from sparkops.node.modelfetch import fetch
from sparkops.node.modelfolder import repo_of
from sparkops.node.modelmeter import say
from sparkops.node.modelproof import offline, verify
from sparkops.node.modelvocabulary import VOCABULARY, fetch_vocabulary, vocabulary_file

VERBS = ("fetch", "verify", "list", "prune", "has", "lacks", "send", "take", "words")


def listed(cache: str) -> dict[str, Any]:
    """Every model in the cache: its revisions with their bytes, and the bytes of partial downloads."""
    hub, models = os.path.join(cache, "hub"), []
    names = sorted(os.listdir(hub)) if os.path.isdir(hub) else []
    for name in names:
        if name.startswith("models--"):
            models.append(_about(Repo(cache, name[len("models--") :].replace("--", "/", 1))))
    return {"cache": cache, "free": free(hub if names else "/"), "models": models}


def _about(repo: Repo) -> dict[str, Any]:
    snapshots = sorted(os.listdir(repo.path("snapshots"))) if os.path.isdir(repo.path("snapshots")) else []
    revisions = []
    for revision in snapshots:
        entries = dict(repo.entries(revision))
        paths = [repo.file(revision, path) for path in entries]
        missing = sorted(repo.lacks(revision, entries))
        taken = sum({os.path.realpath(path): length_of(path) for path in paths}.values())
        verified = not missing and all(map(repo.proven, entries.values()))
        about = {"revision": revision, "refs": list(repo.refs(revision)), "pinned": repo.pinned(revision)}
        revisions.append({**about, "files": len(paths), "bytes": taken, "verified": verified, "missing": missing})
    half = sum(length_of(repo.path("blobs", name)) for name in repo.halves())
    return {"model": repo.model, "revisions": revisions, "half": half}


def prune(cache: str, targets: list[str]) -> dict[str, Any]:
    """Remove these snapshots, and the blobs that no snapshot needs any more; returns the bytes freed."""
    freed, removed = 0, []
    for target in targets:
        model, _, revision = target.partition("@")
        repo = Repo(cache, model)
        if not os.path.isdir(repo.folder):
            continue
        with repo.lock():
            if revision:
                repo.drop(revision)
            freed += repo.sweep()
            removed.append(target)
    return {"removed": removed, "freed": freed}


def _read_once(path: str) -> dict[str, Any]:
    """The JSON object of a file, which is removed; {} if there is no such file or no path."""
    with contextlib.suppress(FileNotFoundError):
        with open(path, encoding="utf-8") as stream:
            found: dict[str, Any] = json.load(stream)
        os.unlink(path)
        return found
    return {}


def _cache(words: argparse.Namespace) -> str:
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return os.path.join(os.path.expanduser("~"), os.path.expanduser(words.cache or home))


def _send(words: argparse.Namespace) -> int:
    """Write the stream of a copy to stdout, and nothing else; returns the exit code."""
    model, _, revision = words.models[0].partition("@")
    repo = repo_of(_cache(words), model)
    have = manifest(repo, _here(repo, revision or "main"), words.vocabulary)
    only = tuple(filter(None, words.only.split(",")))
    blobs = [file.blob for file in named(have) if not only or file.blob.startswith(only)]
    return send(repo, blobs, words.vocabulary, [name for name in have["words"] if not only or name in only])


def _run(words: argparse.Namespace) -> dict[str, Any]:
    cache = _cache(words)
    if words.verb in ("list", "prune"):
        return listed(cache) if words.verb == "list" else prune(cache, words.models)
    model, _, revision = words.models[0].partition("@")
    repo, revision = repo_of(cache, model), revision or "main"
    match words.verb:
        case "verify":
            return verify(repo, revision)
        case "has":
            return manifest(repo, _here(repo, revision), words.vocabulary)
        case "lacks" | "take":
            wanted = read_manifest(words.models[1])
            found = (lacks if words.verb == "lacks" else take)(repo, wanted, words.vocabulary)
            if not found.get("missing"):
                os.unlink(words.models[1])
            return found
    return _fetch(repo, revision, words)


def _fetch(repo: Repo, revision: str, words: argparse.Namespace) -> dict[str, Any]:
    ask = _read_once(words.ask)
    if words.offline or repo.local:
        answer = offline(repo, revision, words.vocabulary if words.offline else "")
    else:
        answer = fetch(repo, revision, ask, words.exclude)
    if words.vocabulary and not words.offline:
        fetch_vocabulary(ask, words.vocabulary)
    return answer


def _here(repo: Repo, wanted: str) -> str:
    if revision := repo.revision(wanted):
        return revision
    raise CacheTrouble(f"{repo.model}@{wanted} is not on this node", "`sparkops model fetch` gets it")


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="model")
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("models", nargs="*")
    for name in ("--cache", "--ask", "--vocabulary", "--only"):
        parser.add_argument(name, default="")
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--offline", action="store_true")
    return parser.parse_args()


def main() -> int:
    words = _words()
    os.umask(0o022)  # the engine's user reads it, whatever the umask of who started this
    try:
        words.vocabulary = os.path.expanduser(words.vocabulary)
        if words.verb == "send":
            return _send(words)
        if words.verb == "words":
            return 0 if all(vocabulary_file(words.vocabulary, name) for name in VOCABULARY) else 1
        say("result", json.dumps(_run(words)))
    except CacheTrouble as trouble:
        say("error:", str(trouble))
        if trouble.hint:
            say("next:", trouble.hint)
        return 1
    except OSError as error:
        say("error:", f"{error.filename or ''}: {error.strerror or error}")
        if error.errno == errno.ENOSPC:
            say("next:", MAKE_ROOM)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
