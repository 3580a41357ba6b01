"""Whether a model is complete: every file exists and has its hash."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sparkops.node.modelcache import AT_ONCE, CacheTrouble, Repo, length_of
from sparkops.node.modelmeter import Meter, say
from sparkops.node.modelvocabulary import VOCABULARY, vocabulary_file


def offline(repo: Repo, wanted: str, words: str) -> dict[str, Any]:
    """The result of a `fetch` without the hub; raises CacheTrouble if a file is missing or wrong.

    `words` is the folder of the vocabulary files, empty if none are wanted.
    """
    found = verify(repo, wanted)
    lost = [name for name in VOCABULARY if words and not vocabulary_file(words, name)]
    gaps = [f"{os.path.join(words, name)} (missing)" for name in lost]
    gaps += [f"{one['file']} ({one['problem']})" for one in found["problems"]]
    for gap in gaps:
        say("missing:", gap)
    if gaps:
        most = ", ".join(gaps[:7]) + (f" and {len(gaps) - 7} more" if len(gaps) > 7 else "")
        raise CacheTrouble(f"{repo.model}@{wanted} is not complete, and --offline forbids the download: {most}")
    return {**found, "fetched": 0}


def verify(repo: Repo, wanted: str) -> dict[str, Any]:
    """Check that every file exists and has its hash; hashes are computed even if they were checked before."""
    revision = repo.revision(wanted)
    answer: dict[str, Any] = {"model": repo.model, "revision": revision or None, "files": 0, "bytes": 0, "hashed": 0}
    problems: dict[str, str] = {}
    if not revision:
        problems["*"] = "not in the cache"
    entries = dict(repo.entries(revision)) if revision else {}
    noted: dict[str, Any] = repo.notes["revisions"].get(revision, {})
    absent = repo.lacks(revision, entries) - set(entries) if revision else set()
    problems |= dict.fromkeys(absent, "missing")
    answer["files"] = len(absent)
    _hash(repo, revision, entries, dict(noted.values()), problems, answer)
    with contextlib.suppress(OSError), repo.lock(wait=False):  # what is fetched meanwhile keeps its own notes
        repo.keep_notes()
    told = [{"file": path, "problem": problems[path]} for path in sorted(problems)]
    return {**answer, "problems": told, "half": repo.halves()}


def _hash(
    repo: Repo,
    revision: str,
    entries: dict[str, str],
    lengths: dict[str, int],
    problems: dict[str, str],
    answer: dict[str, Any],
) -> None:
    done: list[int] = []

    def look(path: str) -> None:
        blob, full = entries[path], repo.file(revision, path)
        length = length_of(full)
        if problem := repo.problem(full, blob, lengths.get(blob)):
            problems[path] = problem
            repo.notes["verified"].pop(blob, None)
        elif len(blob) in (40, 64):
            repo.notes["verified"][blob] = repo.stamp(blob)
            answer["hashed"] += 1
        answer["files"] += 1
        answer["bytes"] += length
        done.append(length)

    total = sum(length_of(repo.file(revision, path)) for path in entries)
    with Meter("verifying", total, lambda: sum(done)), ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(look, sorted(entries)))
