"""A program of this machine that does not outlive the run."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sparkops import signals

Process = subprocess.Popen[Any]


@contextmanager
def child(words: Sequence[str], end: Callable[[Process], None], **how: Any) -> Iterator[Process]:
    """Start it with the options of `Popen`; `end` ends it if an error or an interrupt comes.

    An interrupt inside `Popen` would leave a process that nobody knows, so it waits until that has returned.
    """
    process = None
    try:
        with signals.deferred():
            process = subprocess.Popen(words, **how)
        yield process
    except BaseException:
        if process is not None:
            end(process)
        raise
    finally:
        if process is not None:
            with process:
                pass  # closes its pipes and waits for it
