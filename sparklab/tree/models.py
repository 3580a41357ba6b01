"""The models of the lab: real names and sizes, content that takes no room, content-addressed as the hub does it."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparklab.layout import Node, captured
from sparklab.tree import tokenizer, weights

GIB = 1024**3
WHEN_FULL = "models-when-full"
"""The file of a node with the size of its models when its disk became full."""

TOKEN = "hf_lab"
"""The token that opens the gated model."""


@dataclass(frozen=True)
class Model:
    """One model of the hub, by its name in `data/models.json`.

    `gib` is the size of its weights. `beside` are other files of the hub and their GiB, which an engine does not load.
    A model that is `cached` is on every node from the start; `gated` needs a token.
    """

    revision: str
    shards: int
    gib: float
    config: dict[str, Any]
    beside: Mapping[str, float] = field(default_factory=dict)
    cached: bool = False
    gated: bool = False


@dataclass(frozen=True)
class File:
    """A file of a snapshot: a small file with all its content, or the head of a large one."""

    path: str
    head: bytes
    length: int

    @property
    def large(self) -> bool:
        return self.length > len(self.head)

    @property
    def blob(self) -> str:
        if self.large:
            return weights.digest(self.length, self.head)
        return hashlib.sha1(b"blob %d\0" % self.length + self.head, usedforsecurity=False).hexdigest()


MODELS = {name: Model(**about) for name, about in json.loads(captured("models.json")).items()}


def hub(node: Node) -> Path:
    return Path(node.home, ".cache", "huggingface", "hub")


def size(node: Node) -> int:
    """The bytes that the models seem to take: their content takes no room."""
    return sum(blob.stat().st_size for blob in hub(node).glob("*/blobs/*"))


def place(node: Node) -> None:
    """Write the cached models; the `no-model` fault moves the whole `hub` directory away instead."""
    for name, model in MODELS.items():
        if model.cached:
            write(hub(node) / f"models--{name.replace('/', '--')}", model.revision, files(name, model))


def files(name: str, model: Model) -> Iterator[File]:
    """Yield the files that a server loads."""
    count, length = model.shards, int(model.gib * GIB) // model.shards
    shards = [f"model-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
    weight_map = {f"model.layers.{number}.weight": shard for number, shard in enumerate(shards)}
    texts = {
        "config.json": json.dumps(model.config, indent=2),
        "generation_config.json": json.dumps({"do_sample": True}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
        "tokenizer.json": tokenizer.text(),
        "model.safetensors.index.json": json.dumps(
            {"metadata": {"total_size": int(model.gib * GIB)}, "weight_map": weight_map}
        ),
    }
    for path, text in texts.items():
        yield File(path, text.encode(), len(text.encode()))
    for shard in shards:
        yield File(shard, weights.head(f"{name}/{shard}", length), length)


def beside(name: str, model: Model) -> Iterator[File]:
    for path, gib in model.beside.items():
        yield File(path, weights.head(f"{name}/{path}", int(gib * GIB)), int(gib * GIB))


def write(home: Path, revision: str, found: Iterable[File]) -> None:
    """A model's directory of the Hugging Face cache: blobs by their hash, a snapshot of links, `refs/main`."""
    snapshot = home / "snapshots" / revision
    for directory in (snapshot, home / "blobs", home / "refs"):
        directory.mkdir(parents=True, exist_ok=True)
    (home / "refs" / "main").write_text(revision)
    for file in found:
        weights.make(home / "blobs" / file.blob, file.head, file.length)
        os.symlink(f"../../blobs/{file.blob}", snapshot / file.path)
