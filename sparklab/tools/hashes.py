"""`sha256sum` for files of the lab: weights that are mostly a hole, stand-ins; every other file has its true hash."""

import hashlib
import os
import sys

from sparklab.tools.say import fail, out
from sparklab.tree import vocabulary, weights

PIECE = 1 << 20


def main(name: str, words: list[str]) -> int:
    code = 0
    files = [word for word in words if not word.startswith("-")]
    if not files:
        out(f"{hashlib.sha256(sys.stdin.buffer.read()).hexdigest()}  -")
    for path in files:
        try:
            out(f"{_digest(path)}  {path}")
        except OSError as error:
            code = fail(f"sha256sum: {path}: {os.strerror(error.errno or 0)}")
    return code


def _digest(path: str) -> str:
    if emulated := weights.digest_of(path):
        return emulated
    with open(path, "rb") as stream:
        if known := vocabulary.DIGESTS.get(stream.read(PIECE)):
            return known
        stream.seek(0)
        return hashlib.file_digest(stream, "sha256").hexdigest()
