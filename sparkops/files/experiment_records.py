"""Experiments that were started here and have not ended, one file each."""

from sparkops.core.bench.experiment import Experiment, load
from sparkops.files import state

KEPT = "experiments"


def find(name: str) -> Experiment | None:
    """The experiment of this id, if it has not ended."""
    return load(state.read(KEPT, name))


def keep(one: Experiment) -> None:
    """Write an experiment before its first topology replaces what serves; raises UsageError."""
    state.write_json(KEPT, one.id, one.document())


def forget(one: Experiment) -> None:
    """Remove an experiment that has ended."""
    (state.folder(KEPT) / f"{one.id}.json").unlink(missing_ok=True)
