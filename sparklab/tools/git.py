"""git, as far as a build needs it: one known repository, whose script builds as spark-vllm-docker's does."""

import os

from sparklab import files
from sparklab.layout import here
from sparklab.tools.say import fail

KNOWN = "https://github.com/eugr/spark-vllm-docker"
SCRIPT = """#!/bin/sh
set -e
tag=vllm-node file=Dockerfile
while [ $# -gt 0 ]; do
    case $1 in
        -t) tag=$2 && shift ;;
        --exp-mxfp4) file=Dockerfile.mxfp4 ;;
    esac
    shift
done
echo "Building image with command: docker build -t $tag -f $file ."
exec docker build -t "$tag" --build-arg BUILD_JOBS=16 --build-arg TORCH_CUDA_ARCH_LIST=12.1a -f "$file" .
"""
DOCKERFILE = """FROM nvcr.io/nvidia/pytorch:26.01-py3 AS base
RUN apt update && apt install -y ninja-build git ccache
RUN uv pip install fastsafetensors
FROM base AS builder
RUN git clone flashinfer
RUN uv build --wheel flashinfer
RUN git clone vllm
RUN uv build --wheel vllm
FROM nvcr.io/nvidia/pytorch:26.01-py3 AS runner
RUN uv pip install wheels
COPY build-metadata.yaml /workspace/build-metadata.yaml
"""


def main(name: str, words: list[str]) -> int:
    """`init`, `fetch URL COMMIT`, `checkout FETCH_HEAD`; fetching anything else fails as without a network."""
    here()
    plain = [word for word in words if not word.startswith("-") and not word.isdigit()]
    if plain[:1] == ["init"]:
        os.makedirs(".git", exist_ok=True)
    elif plain[:1] == ["fetch"]:
        if plain[1].removesuffix(".git") != KNOWN:
            host = plain[1].partition("://")[2].partition("/")[0]
            return fail(f"fatal: unable to access '{plain[1]}/': Could not resolve host: {host}", 128)
    elif plain[:1] == ["checkout"]:
        files.write("build-and-copy.sh", SCRIPT, 0o755)
        for file in ("Dockerfile", "Dockerfile.mxfp4"):
            files.write(file, DOCKERFILE)
    return 0
