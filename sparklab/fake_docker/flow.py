"""How images pass by in small: a stream of a thousandth stands for the image, and says on /proc what it stands for.

A process that copies publishes `io` below the node's /proc, as the kernel does for real ones: bytes read and written.
"""

import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from sparklab import files
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.layout import Node

if TYPE_CHECKING:
    import tarfile

SCALE = 1000
LEAST = 64 * 1024
PIECE = 64 * 1024
SECONDS = 40.0
"""How long a whole image takes on a lab node of speed 1."""
RECORD, FILLER = "manifest.json", "layers.bin"
FULL = "no space left on device"


class Meter:
    """Publishes how much has passed, in bytes of the image that is stood for."""

    def __init__(self, node: Node, key: str) -> None:
        self._path = node.root("proc", str(os.getpid()), "io")
        self._key = key

    def tell(self, count: int) -> None:
        files.write(self._path, f"{self._key}: {count}\n")


@contextmanager
def metered(node: Node, key: str) -> Iterator[Meter]:
    os.makedirs(node.root("proc", str(os.getpid())), exist_ok=True)
    meter = Meter(node, key)
    meter.tell(0)
    try:
        yield meter
    finally:
        files.clear(node.root("proc", str(os.getpid())))


def save(node: Node, images: list[dict[str, Any]], seconds: float = SECONDS) -> None:
    """The records last, as in Docker's own archives, so that half a stream is no image."""
    size = sum(int(image["Size"]) for image in images)
    filler = max(LEAST, size // SCALE)
    out = sys.stdout.buffer
    with metered(node, "wchar") as meter:
        out.write(_header(FILLER, filler))
        sent = 0
        began = time.monotonic()
        while sent < filler:
            step = min(PIECE, filler - sent)
            out.write(os.urandom(step))
            out.flush()
            sent += step
            meter.tell(size * sent // filler)
            ahead = node.seconds(seconds) * sent / filler - (time.monotonic() - began)
            time.sleep(max(0.0, ahead))
        out.write(b"\0" * (-filler % 512))
        record = json.dumps({"size": size, "images": images}).encode()
        out.write(_header(RECORD, len(record)) + record + b"\0" * (-len(record) % 512) + b"\0" * 1024)
        out.flush()


def load(node: Node, source: BinaryIO) -> list[dict[str, Any]]:
    """The images of such a stream; raises for half of one, and for anything else."""
    import tarfile

    with metered(node, "rchar") as meter:
        counted = _Counted(source)
        try:
            with tarfile.open(fileobj=counted, mode="r|") as tar:
                for entry in tar:
                    if entry.name == RECORD:
                        stream = tar.extractfile(entry)
                        found: dict[str, Any] = json.loads(stream.read()) if stream else {}
                        return list(found["images"])
                    _drain(node, tar, entry, meter)
        except (tarfile.TarError, EOFError, ValueError, KeyError) as error:
            if not counted.count:
                raise DockerError("requested load from stdin, but stdin is empty") from error
            raise daemon_says("unexpected EOF") from error
    raise daemon_says("open /var/lib/docker/tmp/docker-import/manifest.json: no such file or directory")


def _drain(node: Node, tar: "tarfile.TarFile", entry: "tarfile.TarInfo", meter: Meter) -> None:
    stream, seen = tar.extractfile(entry), 0
    while stream is not None and (data := stream.read(PIECE)):
        seen += len(data)
        meter.tell(seen * SCALE)
        while node.fault("docker-hangs"):
            time.sleep(0.1)
        if node.fault("disk-full"):
            raise DockerError(f"Error processing tar file(exit status 1): write /app/{FILLER}: {FULL}")


class _Counted(io.RawIOBase):
    """Knows whether anything came at all."""

    def __init__(self, source: BinaryIO) -> None:
        self._source, self.count = source, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        return data


def _header(name: str, size: int) -> bytes:
    import tarfile

    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT)
