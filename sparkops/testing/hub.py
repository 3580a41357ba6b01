"""A model hub for simulated nodes: gated models, and a record of downloads."""

import hashlib
from dataclasses import dataclass, field

TOKEN = "hf_of_a_person_who_accepted_it"
SIZES = {"config.json": 900, "model-00001-of-00001.safetensors": 60_000_000_000}
"""The files of every model, in bytes."""


@dataclass
class SimulatedHub:
    """Has every model; those in `gated` need TOKEN. While `held`, downloads do not end."""

    gated: set[str] = field(default_factory=set)
    held: bool = False
    downloads: list[tuple[str, str]] = field(default_factory=list)
    """(node, model) of each download."""


def commit_of(model: str) -> str:
    return hashlib.sha1(model.encode()).hexdigest()


def blobs_of(model: str) -> dict[str, str]:
    """The blob of each file."""
    return {file: hashlib.sha256(f"{model}/{file}".encode()).hexdigest() for file in SIZES}
