"""The vocabulary files of gpt-oss' tokenizer, without which the engine asks the internet at its start."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import Any

from sparkops.node.modelcache import CacheTrouble, digest, remove
from sparkops.node.modelhub import Hub

ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings"
VOCABULARY = {
    "o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}


def fetch_vocabulary(ask: dict[str, Any], folder: str) -> None:
    hub, base = Hub(ask), (ask.get("encodings") or os.environ.get("SPARKOPS_ENCODINGS") or ENCODINGS).rstrip("/")
    os.makedirs(folder, exist_ok=True)
    for name, blob in VOCABULARY.items():
        if vocabulary_file(folder, name):
            continue
        path = os.path.join(folder, name)
        remove(path)
        hub.fetch_small(f"{base}/{name}", path)
        if not vocabulary_file(folder, name):
            remove(path)
            raise CacheTrouble(f"{base}/{name} is not the expected file (the sha256 must be {blob[:12]}...)")


def vocabulary_file(folder: str, name: str) -> bool:
    """Whether it is there, under both names that openai_harmony looks for: its own, and the SHA-1 of its URL."""
    path, blob = os.path.join(folder, name), VOCABULARY[name]
    if not (os.path.isfile(path) and digest(path, blob) == blob):
        return False
    cached = os.path.join(folder, hashlib.sha1(f"{ENCODINGS}/{name}".encode(), usedforsecurity=False).hexdigest())
    if not (os.path.isfile(cached) and digest(cached, blob) == blob):
        shutil.copyfile(path, f"{cached}.new")
        os.replace(f"{cached}.new", cached)
    return True
