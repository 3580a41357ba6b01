"""The saved state of an experiment over topologies, so that the same command can resume it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Before:
    """What served when it began, by hash and by title."""

    hashes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """`id` identifies the question. Runs with ids later than `began` belong to the experiment.

    `owed` is what served before and was not started again yet; None if the nodes are as they were found.
    """

    id: str
    began: str
    owed: Before | None = None

    def document(self) -> dict[str, Any]:
        """The file's content; `load` reads it back."""
        return asdict(self)


def id_of(question: Mapping[str, Any]) -> str:
    """16 hex digits that depend only on the question and its nodes, so that the same command resumes it."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]


def load(document: Any) -> Experiment | None:
    """The experiment in a document; None if it cannot be read."""
    try:
        owed = document["owed"]
        before = Before(tuple(owed["hashes"]), tuple(owed["titles"])) if owed is not None else None
        return Experiment(str(document["id"]), str(document["began"]), before)
    except (KeyError, TypeError):
        return None
