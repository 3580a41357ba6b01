"""Models of a simulated node: `model.py` fetches, verifies, lists, copies and removes them."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sparkops.core.plan import Result, Word
from sparkops.testing.copies import SimulatedCopy
from sparkops.testing.hub import SIZES, TOKEN, blobs_of, commit_of
from sparkops.testing.jobs import Timed
from sparkops.testing.node import SimulatedNode, said

WHOLE = sum(SIZES.values())
WORDS = ("o200k_base.tiktoken", "cl100k_base.tiktoken")
SECONDS = {"fetch": 600.0, "verify": 60.0, "lacks": 5.0}
HUB = "https://huggingface.co"

Answer = Mapping[str, Any]


class ModelTrouble(Exception):
    """The script's error message, and its hint."""


def model(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`model list|has|prune|words …`."""
    verb, *given = (str(word) for word in words)
    names = given[: next((at for at, word in enumerate(given) if word.startswith("--")), len(given))]
    if verb == "words":
        return said(code=0 if _worded(node, given) else 1)
    try:
        found = {"list": _list, "has": _has, "prune": _prune}[verb](node, names, given)
    except ModelTrouble as trouble:
        return said("".join(f"{line}\n" for line in _told(trouble)), code=1)
    return said(f"result {json.dumps(found)}\n")


def work(node: SimulatedNode, _job: str, words: tuple[str, ...]) -> Timed:
    """`fetch`, `verify` and `lacks` as jobs."""
    verb, name, *given = words
    do = {"fetch": _fetch, "verify": _verify, "lacks": _lacks}[verb]
    ask = node.files.pop(_option(given, "--ask"), "{}")
    seconds = 1.0 if verb == "fetch" and name.partition("@")[0] in node.models else SECONDS[verb]
    return Timed(
        node.now + seconds,
        lambda log: _ended(partial(do, node, name, given, ask), log),
        held=lambda: verb == "fetch" and node.hub.held,
    )


def _ended(do: Callable[[], Answer], log: list[str]) -> int:
    try:
        log.append(f"result {json.dumps(do())}")
    except ModelTrouble as trouble:
        log.extend(_told(trouble))
        return 1
    return 0


def _told(trouble: ModelTrouble) -> list[str]:
    message, *hint = trouble.args
    return [f"error: {message}", *(f"next: {text}" for text in hint)]


def _option(given: Sequence[str], flag: str) -> str:
    return given[given.index(flag) + 1] if flag in given else ""


def _folder(node: SimulatedNode, given: Sequence[str]) -> str:
    return _option(given, "--vocabulary").replace("~", node.home, 1)


def _worded(node: SimulatedNode, given: Sequence[str]) -> list[str]:
    return [name for name in WORDS if f"{_folder(node, given)}/{name}" in node.files]


def _write_words(node: SimulatedNode, given: Sequence[str]) -> None:
    if folder := _folder(node, given):
        node.files |= {f"{folder}/{name}": "vocabulary" for name in WORDS}


def _fetch(node: SimulatedNode, name: str, given: Sequence[str], ask: str) -> Answer:
    short, here = name.partition("@")[0], node.models.get(name.partition("@")[0])
    problems = [path for path in node.damaged if path.startswith(f"{short}/")]
    about = {"model": short, "revision": here or commit_of(short), "files": len(SIZES), "bytes": WHOLE, "fetched": 0}
    if "--offline" in given:
        if here is None:
            raise ModelTrouble(f"{name} is not complete, and --offline forbids the download: * (not in the cache)")
        return about
    if short in node.hub.gated and json.loads(ask).get("token") != TOKEN:
        who = "you must accept its licence on Hugging Face, and use a token of that account"
        page = f"{HUB}/{short}"
        raise ModelTrouble(f"{short} is gated: {who}", f"accept the licence at {page}, then give your token")
    _write_words(node, given)
    if here is not None and not problems:
        return about
    node.hub.downloads.append((node.name, short))
    node.models[short] = commit_of(short)
    node.damaged -= set(problems)
    return {**about, "fetched": WHOLE}


def _verify(node: SimulatedNode, name: str, _given: Sequence[str], _ask: str) -> Answer:
    short = name.partition("@")[0]
    revision = node.models.get(short)
    bad = [file for file in SIZES if f"{short}/{file}" in node.damaged]
    problems = [{"file": file, "problem": "corrupt"} for file in bad] if revision else [_ABSENT]
    about = {"model": short, "revision": revision, "files": len(SIZES), "bytes": WHOLE}
    return {**about, "hashed": len(SIZES) - len(bad), "problems": problems, "half": []}


_ABSENT = {"file": "*", "problem": "not in the cache"}


def _lacks(node: SimulatedNode, name: str, given: Sequence[str], _ask: str) -> Answer:
    short, path = name.partition("@")[0], given[0]
    wanted = json.loads(node.files[path])
    whole = node.models.get(short) == wanted["revision"]
    missing = [file for file in SIZES if not whole or f"{short}/{file}" in node.damaged]
    words = [one for one in wanted["words"] if one not in _worded(node, given)]
    if not missing and not words:
        del node.files[path]
    need = sum(SIZES[file] for file in missing)
    return {
        "missing": [*(blobs_of(short)[file] for file in missing), *words],
        "need": need,
        "free": node.free_kib * 1024,
    }


def _has(node: SimulatedNode, names: Sequence[str], given: Sequence[str]) -> Answer:
    short = names[0].partition("@")[0]
    if short not in node.models:
        raise ModelTrouble(f"{names[0]} is not on this node")
    files = {file: [blob, SIZES[file]] for file, blob in blobs_of(short).items()}
    about = {"model": short, "revision": node.models[short], "refs": ["main"], "pinned": False}
    return {**about, "files": files, "words": _worded(node, given)}


def _list(node: SimulatedNode, _names: Sequence[str], _given: Sequence[str]) -> Answer:
    about = {"refs": ["main"], "pinned": False, "files": len(SIZES), "bytes": WHOLE, "verified": True, "missing": []}
    models = [
        {"model": name, "revisions": [{"revision": commit, **about}], "half": 0} for name, commit in node.models.items()
    ]
    return {"cache": f"{node.home}/.cache/huggingface", "free": node.free_kib * 1024, "models": models}


def _prune(node: SimulatedNode, names: Sequence[str], _given: Sequence[str]) -> Answer:
    for name in names:
        node.models.pop(name.partition("@")[0], None)
    return {"removed": list(names), "freed": WHOLE * len(names)}


def take(node: SimulatedNode, _origin: SimulatedCopy, words: tuple[str, ...]) -> str:
    """`model take NAME MANIFEST` at the end of a stream; returns the error, or ""."""
    _verb, name, path, *given = words
    short = name.partition("@")[0]
    if node.free_kib * 1024 < SIZES["config.json"]:
        return f"error: {short}: the disk became full during the copy, and partial files were removed"
    node.models[short] = json.loads(node.files.pop(path))["revision"]
    node.damaged = {one for one in node.damaged if not one.startswith(f"{short}/")}
    _write_words(node, given)
    return ""
