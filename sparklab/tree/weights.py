"""Files of many GiB that take no room: a true header, then a hole.

Its "sha256" is taken over its length and all that is not zero. So every byte still counts: one that changes, or is cut
off, gives another name. Reading it costs nothing; a real hash of 60 GiB of zeros takes a minute.
"""

import hashlib
import json
import os
import struct
from pathlib import Path

PAGE = 4096
LARGE = 64 * 1024 * 1024


def header(length: int) -> bytes:
    """The head of a safetensors file of this length with one tensor."""
    size = 256 - 8
    about = {"weight": {"dtype": "U8", "shape": [length - 256], "data_offsets": [0, length - 256]}}
    text = json.dumps(about).encode().ljust(size)
    return struct.pack("<Q", size) + text


def head(name: str, length: int) -> bytes:
    """Return the header and a few bytes by which shards differ."""
    return header(length) + hashlib.sha256(name.encode()).digest() * 8


def digest(length: int, start: bytes) -> str:
    """Return the digest of a file that begins with these bytes and continues with zeros."""
    found = hashlib.sha256(f"{length}\n".encode())
    for number in range(0, len(start), PAGE):
        _take(found, number, start[number : number + PAGE])
    return found.hexdigest()


def digest_of(path: str) -> str | None:
    """Return the digest of a large sparse file; None for an ordinary file."""
    about = os.stat(path)
    if about.st_size < LARGE or about.st_blocks * 512 > about.st_size // 4:
        return None
    found = hashlib.sha256(f"{about.st_size}\n".encode())
    with open(path, "rb") as stream:
        handle, at = stream.fileno(), 0
        while at < about.st_size:
            try:
                at = os.lseek(handle, at, os.SEEK_DATA) // PAGE * PAGE
            except OSError:
                break  # nothing but a hole
            end = os.lseek(handle, at, os.SEEK_HOLE)
            while at < end:
                _take(found, at, os.pread(handle, PAGE, at))
                at += PAGE
    return found.hexdigest()


def make(path: str | Path, start: bytes, length: int) -> None:
    with open(path, "wb") as stream:
        stream.write(start)
        stream.truncate(length)


def _take(found: "hashlib._Hash", at: int, page: bytes) -> None:
    """Add a page to the digest; zeros count as a hole, because copies have other holes."""
    if stripped := page.rstrip(b"\0"):
        found.update(f"{at} ".encode() + stripped)
