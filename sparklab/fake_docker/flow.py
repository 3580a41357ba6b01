"""`docker save` and `docker load` of streams that have a thousandth of an image's size.

A process that copies publishes `io` below the node's /proc, as the kernel does: bytes of the image read and written.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
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


@contextmanager
def metered(node: Node, key: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that publishes how many bytes of the whole image have passed."""
    folder = node.root("proc", str(os.getpid()))
    os.makedirs(folder, exist_ok=True)

    def tell(count: int) -> None:
        files.write(os.path.join(folder, "io"), f"{key}: {count}\n")

    tell(0)
    try:
        yield tell
    finally:
        files.clear(folder)


def save(node: Node, images: list[dict[str, Any]]) -> None:
    """Write the images to stdout, their records last as Docker does, so that half a stream is no image."""
    size = sum(int(image["Size"]) for image in images)
    filler = max(LEAST, size // SCALE)
    out = sys.stdout.buffer
    with metered(node, "wchar") as tell:
        out.write(_header(FILLER, filler))
        sent = 0
        began = time.monotonic()
        while sent < filler:
            step = min(PIECE, filler - sent)
            out.write(os.urandom(step))
            out.flush()
            sent += step
            tell(size * sent // filler)
            ahead = node.seconds(SECONDS) * sent / filler - (time.monotonic() - began)
            time.sleep(max(0.0, ahead))
        out.write(b"\0" * (-filler % 512))
        record = json.dumps({"size": size, "images": images}).encode()
        out.write(_header(RECORD, len(record)) + record + b"\0" * (-len(record) % 512) + b"\0" * 1024)
        out.flush()


def load(node: Node, source: BinaryIO) -> list[dict[str, Any]]:
    """Return the images of such a stream; raise `DockerError` for an incomplete or other stream."""
    import tarfile

    with metered(node, "rchar") as tell:
        try:
            with tarfile.open(fileobj=source, mode="r|") as tar:
                for entry in tar:
                    if entry.name == RECORD:
                        stream = tar.extractfile(entry)
                        found: dict[str, Any] = json.loads(stream.read()) if stream else {}
                        return list(found["images"])
                    _drain(node, tar, entry, tell)
        except (tarfile.TarError, EOFError, ValueError, KeyError) as error:
            if str(error) == "empty file":
                raise DockerError("requested load from stdin, but stdin is empty") from error
            raise daemon_says("unexpected EOF") from error
    raise daemon_says("open /var/lib/docker/tmp/docker-import/manifest.json: no such file or directory")


def _drain(node: Node, tar: "tarfile.TarFile", entry: "tarfile.TarInfo", tell: Callable[[int], None]) -> None:
    stream, seen = tar.extractfile(entry), 0
    while stream is not None and (data := stream.read(PIECE)):
        seen += len(data)
        tell(seen * SCALE)
        while node.fault("docker-hangs"):
            time.sleep(0.1)
        if node.fault("disk-full"):
            raise DockerError(f"Error processing tar file(exit status 1): write /app/{FILLER}: {FULL}")


def _header(name: str, size: int) -> bytes:
    import tarfile

    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT)
