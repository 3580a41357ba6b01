"""Opening the files that a person names: a pipe to which nobody writes is empty, and does not make sparkops wait."""

import os
from pathlib import Path
from typing import BinaryIO


def opened(path: Path) -> BinaryIO:
    """The file, open for reading; raises OSError or ValueError."""
    flags = getattr(os, "O_NONBLOCK", 0)
    file = open(path, "rb", opener=lambda name, usual: os.open(name, usual | flags))  # noqa: SIM115  the caller closes it
    os.set_blocking(file.fileno(), True)  # a pipe that has a writer is read to its end
    return file


def beginning(path: Path, most: int) -> bytes:
    """At most this many bytes of the file, and one more if it is longer; raises OSError or ValueError."""
    with opened(path) as file:
        return file.read(most + 1)
