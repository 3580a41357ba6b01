"""git, as far as a build needs it: one known repository, whose script builds as spark-vllm-docker's does."""

import os

from sparklab import files
from sparklab.layout import captured
from sparklab.tools.say import fail

KNOWN = "https://github.com/eugr/spark-vllm-docker"


def main(name: str, words: list[str]) -> int:
    """`init`, `fetch URL COMMIT`, `checkout FETCH_HEAD`; fetching anything else fails as without a network."""
    match [word for word in words if not word.startswith("-") and not word.isdigit()]:
        case ["init", *_]:
            os.makedirs(".git", exist_ok=True)
        case ["fetch", url, *_] if url.removesuffix(".git") != KNOWN:
            host = url.partition("://")[2].partition("/")[0]
            return fail(f"fatal: unable to access '{url}/': Could not resolve host: {host}", 128)
        case ["checkout", *_]:
            files.write("build-and-copy.sh", captured("spark-vllm-docker/build-and-copy.sh"), 0o755)
            for file in ("Dockerfile", "Dockerfile.mxfp4"):
                files.write(file, captured("spark-vllm-docker/Dockerfile"))
    return 0
