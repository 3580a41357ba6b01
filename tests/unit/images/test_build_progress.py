"""How far a build is, read from what `docker build` prints: BuildKit's plain progress, and the old builder's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text

BUILDKIT = """\
#0 building with "default" instance using docker driver

#1 [internal] load build definition from Dockerfile.mxfp4
#1 transferring dockerfile: 9.83kB done
#1 DONE 0.0s

#2 [internal] load metadata for nvcr.io/nvidia/pytorch:26.01-py3
#2 DONE 1.4s

#5 [base 1/6] FROM nvcr.io/nvidia/pytorch:26.01-py3@sha256:0d2b6e1f
#5 resolve nvcr.io/nvidia/pytorch:26.01-py3@sha256:0d2b6e1f done
#5 sha256:1b5f0b2a 3.15MB / 30.59MB 0.2s
#5 CACHED

#6 [base 2/6] RUN apt update && apt install -y ninja-build
#6 0.412 Get:1 http://ports.ubuntu.com noble InRelease [256 kB]
#6 DONE 21.3s

#9 [vllm-builder  4/11] RUN --mount=type=cache,target=/root/.ccache uv build --wheel vllm
#9 12.34 [1/345] Building CXX object CMakeFiles/_C.dir/csrc/cache.cpp.o
#9 1834.5 [345/345] Linking CXX shared module _C.abi3.so
#9 DONE 1841.0s

#14 [linux/arm64 runner 3/3] COPY build-metadata.yaml /workspace/build-metadata.yaml
#14 DONE 0.1s

#15 exporting to image
#15 exporting layers 41.2s done
#15 naming to docker.io/library/an-image done
#15 DONE 41.3s
"""
OLD = """\
Sending build context to Docker daemon  2.048kB\r\r
Step 1/2 : FROM scratch
 --->
Step 2/2 : COPY data /data
 ---> 1f2e3d
Successfully built 1f2e3d
"""


@pytest.mark.parametrize(
    ("printed", "stream", "told"),
    [
        (
            BUILDKIT,
            2,
            [
                "step 1 of 6: FROM nvcr.io/nvidia/pytorch:26.01-py3@sha256:0d2b6e1f",
                "step 2 of 6: RUN apt update && apt install -y ninja-build",
                "step 4 of 11: RUN --mount=type=cache,target=/root/.ccache uv build --wheel vllm",
                "compiling 1 of 345",
                "compiling 345 of 345",
                "step 3 of 3: COPY build-metadata.yaml /workspace/build-metadata.yaml",
            ],
        ),
        (OLD, 1, ["step 1 of 2: FROM scratch", "step 2 of 2: COPY data /data"]),
    ],
    ids=["BuildKit", "the old builder"],
)
def test_every_step_is_told_and_every_line_kept(tmp_path: Path, printed: str, stream: int, told: list[str]) -> None:
    said = tmp_path / "said"
    said.write_text(printed)
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(
        f'#!/bin/sh\ncase $1 in build) cat "{said}" >&{stream} ;; image) echo \'{{"sparkops.build":"x"}}\' ;; esac\n'
    )
    docker.chmod(0o755)
    state = tmp_path / "state"
    (state / "work" / "job" / "source").mkdir(parents=True)
    words = ("build", str(state), "job", "an-image", "sparkops.build=x", "", "", "docker", "build", ".")
    done = subprocess.run(
        ["sh", "-c", script_text("image"), "image", *words],
        env={"PATH": f"{docker.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line.removeprefix("progress: ") for line in lines if line.startswith("progress: ")] == told
    assert [line for line in lines if not line.startswith("progress: ")] == printed.splitlines()
    assert not (state / "work" / "job").exists()
