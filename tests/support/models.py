"""A hub with one small sharded model, and a node's home to fetch it into."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sparkops.remote.frame import script_text
from support import model_hub as hubs

FIRST = "1" * 40
MODEL = "acme/tiny"
SHARDS = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
TOKEN = hubs.TOKEN


def sharded(seed: int, shards: int = 3, length: int = 300_000) -> dict[str, bytes]:
    """A model as the hub has it: configuration, index, shards, and what nobody wants to download."""
    names = [f"model-{number:05d}-of-{shards:05d}.safetensors" for number in range(1, shards + 1)]
    index = {"weight_map": {f"layer.{number}": name for number, name in enumerate(names)}}
    weights = {name: bytes([seed + number]) * (length + number) for number, name in enumerate(names)}
    return {
        "config.json": json.dumps({"model_type": "tiny", "seed": seed}).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        "sub folder/tokenizer.json": b"{}",
        **weights,
        "original/model.bin": bytes(5000),
        "metal/model.bin": bytes(5000),
    }


@dataclass
class Home:
    """A node as the script sees it."""

    path: Path
    hub: Any
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.path / ".cache/huggingface/hub" / f"models--{MODEL.replace('/', '--')}"

    def snapshot(self, commit: str = FIRST) -> Path:
        return self.folder / "snapshots" / commit

    def blob(self, name: str, commit: str = FIRST) -> Path:
        return (self.snapshot(commit) / name).resolve()

    def begin(self, *words: str) -> subprocess.Popen[str]:
        environment = {
            "HOME": str(self.path),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HF_ENDPOINT": self.hub.endpoint,
            "SPARKOPS_RETRY_SECONDS": "0.01",
            **self.environment,
        }
        line = ("sh", "-c", script_text("model"), "model", *words)
        pipe = subprocess.PIPE
        return subprocess.Popen(line, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True)

    def run(self, *words: str) -> tuple[int, str]:
        process = self.begin(*words)
        out, err = process.communicate(timeout=240)
        assert "Traceback" not in err, err
        return process.returncode, out

    def piped(self, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """One end of a copy."""
        line = ["sh", "-c", script_text("model"), "model", *words]
        environment = {"HOME": str(self.path), "PATH": os.environ["PATH"]}
        done = subprocess.run(line, env=environment, input=data, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr, done.stderr
        return done

    def result(self, *words: str) -> dict[str, Any]:
        code, out = self.run(*words)
        assert code == 0, out
        found: dict[str, Any] = json.loads(out.splitlines()[-1].removeprefix("result "))
        return found

    def error(self, *words: str) -> str:
        code, out = self.run(*words)
        assert code == 1, out
        return "\n".join(line for line in out.splitlines() if line.startswith(("error: ", "next: ")))

    def kill(self, process: subprocess.Popen[str]) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextlib.contextmanager
def serving(files: dict[str, bytes], bound: str = "127.0.0.1", reached: str = "127.0.0.1") -> Iterator[Any]:
    """A hub with the model, bound to one address and reached at another."""
    made = hubs.StandInHub()
    made.add(MODEL, FIRST, files)
    server = hubs.serve(made, bound)
    made.endpoint = f"http://{reached}:{server.server_address[1]}"
    try:
        yield made
    finally:
        made.held = False
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def small_disk(hub: Any, path: Path, size: str) -> Iterator[Home]:
    """A node whose home is a disk of this size; skips where nobody may mount one."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("a small disk takes the right to mount one")
    try:
        yield Home(path, hub)
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@pytest.fixture
def hub() -> Iterator[Any]:
    with serving(sharded(1)) as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, hub: Any) -> Home:
    path = tmp_path / "a home"
    path.mkdir()
    return Home(path, hub)
