"""A model in the node's Hugging Face cache: which snapshot would be loaded, and whether all of it is there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkops.core import model_config
from sparkops.core.facts.raw import Probe, Unread, parts
from sparkops.core.facts.reading import grouped, lines
from sparkops.core.models import Architecture

Role = Literal["model", "draft model", "LoRA adapter", "tokenizer", "configuration"]
"""What an engine opens a model for."""

WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "tokenizer_config.json")
_SHARD = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.\w+)")


@dataclass(frozen=True)
class ModelFile:
    """A file of the snapshot; `broken` is a link whose blob is missing."""

    name: str
    size_bytes: int
    state: Literal["there", "broken"]


@dataclass(frozen=True)
class Model:
    """`revision` is the snapshot that a server would load, None when there is none. `needs` is what the index names."""

    folder: str
    refs: Mapping[str, str]
    snapshots: tuple[str, ...]
    revision: str | None
    files: tuple[ModelFile, ...]
    needs: tuple[str, ...]
    incomplete: tuple[str, ...]
    words: tuple[str, ...] | None = None
    """Files in the directory of the gpt-oss tokenizer's vocabulary; None in older captures."""
    architecture: Architecture | None = None
    """None if `config.json` does not say enough."""

    @property
    def present(self) -> bool:
        return self.revision is not None

    @property
    def bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def weights_gib(self) -> float:
        """What an engine loads of these files."""
        return model_config.weights_bytes({file.name: file.size_bytes for file in self.files}) / 2**30

    @property
    def empty(self) -> tuple[str, ...]:
        """Empty files that must not be empty."""
        there = (file for file in self.files if file.state == "there" and file.size_bytes == 0)
        return tuple(file.name for file in there if _matters(file.name))

    @property
    def broken(self) -> tuple[str, ...]:
        return tuple(file.name for file in self.files if file.state == "broken")

    @property
    def missing(self) -> tuple[str, ...]:
        return self.lacking("model")

    @property
    def complete(self) -> bool:
        return self.whole("model")

    def lacking(self, role: Role) -> tuple[str, ...]:
        """Files that a server needs in this role and that do not exist."""
        have = {file.name for file in self.files if file.state == "there"}
        if role == "tokenizer":
            return () if have & set(TOKENIZERS) else TOKENIZERS[:1]
        if role == "configuration":
            return () if "config.json" in have else ("config.json",)
        weights = [name for name in have if "/" not in name and name.endswith(WEIGHTS)]
        first = "adapter_config.json" if role == "LoRA adapter" else "config.json"
        wanted = {first, *self.needs, *(shard for name in weights for shard in _shards(name))}
        nothing = () if weights or self.needs else ("weights",)
        return (*sorted(wanted - have), *nothing)

    def whole(self, role: Role) -> bool:
        """Whether all files are there that a server needs in this role."""
        return self.present and not (self.lacking(role) or self.empty or any("/" not in name for name in self.broken))


def model(probe: Probe) -> Model | Unread:
    found = grouped(map(_two, lines(probe.text)))
    if not probe.ok or "folder" not in found:
        return _failed(probe)
    return Model(
        folder=found["folder"][0],
        refs=dict(_two(ref) for ref in found.get("ref", ())),
        snapshots=tuple(found.get("snapshot", ())),
        revision=next(iter(found.get("revision", ())), None),
        files=tuple(_files(found)),
        needs=tuple(_two(need)[1] for need in found.get("needs", ())),
        incomplete=tuple(_two(file)[1] for file in found.get("incomplete", ())),
        words=tuple(found.get("word", ())) if "words" in found else None,
        architecture=_architecture(next(iter(found.get("config", ())), "")),
    )


def models(text: str) -> Mapping[str, Model | Unread]:
    """Models by name, without a revision."""
    return {part.name: model(part) for part in parts(text)}


def _failed(probe: Probe) -> Unread:
    said = "\n".join(line for line in lines(probe.text) if not line.startswith("folder "))
    return Probe(probe.name, probe.exit or 1, said, probe.ms).unread


def _architecture(text: str) -> Architecture | None:
    try:
        return model_config.architecture(model_config.read(text))
    except ValueError:
        return None


def _files(found: Mapping[str, list[str]]) -> list[ModelFile]:
    rows = [_two(row) for row in found.get("file", ())]
    there = [ModelFile(name.removeprefix("./"), int(size), "there") for size, name in rows]
    broken = [ModelFile(_two(row)[1].removeprefix("./"), 0, "broken") for row in found.get("broken", ())]
    return sorted((*there, *broken), key=lambda file: file.name)


def _two(row: str) -> tuple[str, str]:
    first, _, rest = row.partition(" ")
    return first, rest


def _shards(name: str) -> list[str]:
    shard = _SHARD.fullmatch(name)
    if shard is None or int(shard[3]) > 2000:
        return []
    return [f"{shard[1]}{index:05d}-of-{shard[3]}{shard[4]}" for index in range(1, int(shard[3]) + 1)]


def _matters(name: str) -> bool:
    return name.endswith((*WEIGHTS, ".json", ".model", ".jinja", ".txt")) and "/" not in name


def complete(model: Model | Unread | None) -> Model | None:
    """The model if all of its files are there, else None."""
    return model if isinstance(model, Model) and model.complete else None
