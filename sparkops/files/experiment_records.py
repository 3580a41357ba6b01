"""The experiments that were begun here and are not ended, one file each."""

from sparkops.core.bench.experiment import Experiment, load
from sparkops.files import state
from sparkops.files.bench_records import unwritable

KEPT = "experiments"


def find(name: str) -> Experiment | None:
    """The one that was begun with this question and has not ended."""
    return load(state.read(KEPT, name))


def keep(one: Experiment) -> None:
    """Written before the first topology takes the place of what serves."""
    try:
        state.write(KEPT, one.id, one.document())
    except OSError as error:
        raise unwritable(KEPT, error) from None


def forget(one: Experiment) -> None:
    """It has ended: the same question again is another experiment."""
    (state.folder(KEPT) / f"{one.id}.json").unlink(missing_ok=True)
