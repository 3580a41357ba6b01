"""Stand-ins for the vocabulary files of gpt-oss' tokenizer: the lab's `sha256sum` takes them for the true ones."""

import hashlib
from pathlib import Path

URL = "https://openaipublic.blob.core.windows.net/encodings"

NAMES = {
    "o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
FILES = {name: f"the lab's stand-in for {name}\n".encode() for name in NAMES}
DIGESTS = {FILES[name]: digest for name, digest in NAMES.items()}


def place(folder: Path) -> None:
    """Write each file under its own name and under the name in an engine's cache."""
    for name, content in FILES.items():
        for called in (name, hashlib.sha1(f"{URL}/{name}".encode(), usedforsecurity=False).hexdigest()):
            (folder / called).write_bytes(content)
