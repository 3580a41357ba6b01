"""What a person types before any lab, and reads: the same over simulated and over emulated nodes."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ran:
    """One command line that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def told(self) -> str:
        """All that a person may have seen."""
        return self.out + self.err


class Person:
    """Whole command lines in fewer words; `code` is the exit code that they must have."""

    def cli(self, *words: object, lab: bool = True, code: int | None = None, **env: str) -> Ran:
        raise NotImplementedError

    def json(self, *words: object, code: int = 0, **env: str) -> dict[str, Any]:
        """The document that a verb prints with `--json`; `--` and what follows stays last."""
        place = words.index("--") if "--" in words else len(words)
        return self.cli(*words[:place], "--json", *words[place:], code=code, **env).document

    def deploy(self, topology: str, *words: object, code: int = 0, **env: str) -> dict[str, Any]:
        return self.json("deploy", "--topology", topology, *words, code=code, **env)

    def shown(self) -> list[dict[str, Any]]:
        """What `status` says of each deployment now; who needs more than five seconds to answer serves only later."""
        found: list[dict[str, Any]] = self.cli("status", "--json").document["deployments"]
        return found

    def state(self) -> dict[str, str]:
        """By deployment, the one word for it."""
        return {one["name"]: one["state"] for one in self.shown()}

    def key(self) -> str:
        return self.cli("key", code=0).out.strip()


def as_expected(ran: Ran, line: object, code: int | None) -> Ran:
    assert code in (None, ran.code), f"exit {ran.code} instead of {code}: {line}\n{ran.told}"
    return ran


def planned(document: dict[str, Any], mark: str = "") -> list[tuple[str, str]]:
    """(node, line) of each command of a plan; `until ready: ` those of its waits."""
    lines = [(step["node"], line) for step in document["steps"] for line in step["command"].splitlines()]
    if mark:
        return [(node, line.removeprefix(mark)) for node, line in lines if line.startswith(mark)]
    return [(node, line) for node, line in lines if not line.startswith(("undo: ", "until ready: "))]


THEIRS = r"""recipe_version: "1"
name: A recipe of another launcher
container: vllm-node-mxfp4
solo_only: true
defaults: {port: 8000, host: 0.0.0.0, gpu_memory_utilization: 0.70}
env:
  VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8: "1"
command: |
  vllm serve openai/gpt-oss-120b \
      --quantization mxfp4 --mxfp4-backend CUTLASS \
      --mxfp4-layers moe,qkv,o,lm_head \
      --attention-backend FLASHINFER --kv-cache-dtype fp8 \
      --max-model-len 4096 --max-num-seqs 2 \
      --gpu-memory-utilization {gpu_memory_utilization} \
      --host {host} --port {port}
"""
