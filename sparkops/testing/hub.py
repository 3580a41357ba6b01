"""A model hub before simulated nodes: who may have what, and what was downloaded."""

import hashlib
from dataclasses import dataclass, field

TOKEN = "hf_of_a_person_who_accepted_it"
SIZES = {"config.json": 900, "model-00001-of-00001.safetensors": 60_000_000_000}
"""The files of every model, in bytes."""


@dataclass
class SimulatedHub:
    """Has every model; those that are `gated` only for TOKEN. `held` keeps downloads from their end."""

    gated: set[str] = field(default_factory=set)
    held: bool = False
    downloads: list[tuple[str, str]] = field(default_factory=list)
    """Node and model."""


def commit_of(model: str) -> str:
    return hashlib.sha1(model.encode()).hexdigest()


def blobs_of(model: str) -> dict[str, str]:
    """Blob by file."""
    return {file: hashlib.sha256(f"{model}/{file}".encode()).hexdigest() for file in SIZES}
