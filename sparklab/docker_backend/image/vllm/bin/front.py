"""`vllm` of a GB10 image: takes a Spark's command line, fails where a Spark fails, else serves a tiny model for real.

Every command line is kept word for word in /var/log/vllm-front.jsonl and printed first. The environment may say
LAB_ENGINE=standin (an OpenAI-compatible stand-in that starts at once, joined to the real Ray) and
LAB_LOAD_SECONDS=N (weights that take as long to load), and with the stand-in LAB_GRAPHS=hang (CUDA graphs over nodes do
not crash while they are captured, but the first request hangs). What a Spark understands and where it fails,
`sparklab.engine` knows: the embedded lab's engine.
"""

import json
import os
import sys
import time
from pathlib import Path

LAB = Path("/opt/lab")
sys.path.append(str(LAB))

from sparklab.engine import failures  # noqa: E402
from sparklab.engine.flags import UsageError, parse  # noqa: E402
from sparklab.engine.settings import Settings, StartError  # noqa: E402

BUILD = "vllm-mxfp4"
REAL = "/opt/vllm/bin/vllm"
RECORD = Path("/var/log/vllm-front.jsonl")
PASSED = (
    "host", "port", "api_key", "max_model_len", "tensor_parallel_size", "pipeline_parallel_size",
    "data_parallel_size", "data_parallel_size_local", "data_parallel_backend",
    "distributed_executor_backend", "nnodes", "node_rank", "master_addr", "master_port", "headless", "shutdown_timeout",
    "enable_prefix_caching", "enable_log_requests", "uvicorn_log_level",
)  # fmt: skip
SEQUENCES = 16
FREE_GIB = 113.42


def stop(code, *lines):
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    sys.exit(code)


def end_if(trace):
    """How vLLM ends when its engine does not come up: the root cause, then the line that hides it."""
    if trace:
        prefix = f"(EngineCore pid={os.getpid()}) ERROR 11-20 12:00:00 [core.py:1181]"
        lines = ["EngineCore failed to start.", *trace.splitlines()]
        hidden = "See root cause above. Failed core proc(s): {'EngineCore': 1}"
        stop(1, *(f"{prefix} {line}" for line in lines), f"RuntimeError: Engine core initialization failed. {hidden}")


def load(shards):
    """The weights' progress as a Spark prints it."""
    seconds = float(os.environ.get("LAB_LOAD_SECONDS", "0"))
    for shard in range(shards + 1):
        percent = 100 * shard // shards
        print(f"Loading safetensors checkpoint shards: {percent:3d}% Completed | {shard}/{shards}", flush=True)
        time.sleep(seconds / (shards + 1))


def boot(settings):
    """All that may end an engine on a GB10, in its order; the memory of this machine does not count."""
    end_if(failures.free_memory(settings, FREE_GIB) if settings.utilization >= 0.95 else "")
    end_if(failures.while_reading_config(settings))
    end_if(failures.while_loading(settings))
    load(settings.config["sparklab_shards"])
    end_if(failures.while_profiling(settings))
    if os.environ.get("LAB_GRAPHS") != "hang" and (crash := failures.while_capturing(settings)):
        print("Capturing CUDA graphs (decode, FULL):   0%|          | 0/35 [00:00<?, ?it/s]", flush=True)
        end_if(crash)


def option(name, value):
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", *(str(one) for one in (value if isinstance(value, list) else [value]))]


def real(settings):
    """The command line that the CPU build understands, of the same meaning as far as there is one."""
    given = {"max_model_len": 131072} | settings.given
    words = [REAL, "serve", str(LAB / "model"), *option("served_model_name", settings.names)]
    for name in PASSED:
        if name in given:
            words += option(name, given[name])
    draft = given.get("speculative_config") or {}
    if draft.get("method") == "draft_model":  # the heads of other methods are made for one model, and not for this one
        words += ["--speculative-config", json.dumps(draft)]
    words += ["--dtype", "float32"]  # for bfloat16 it takes AMX where the CPU has it, which not every sandbox lets run
    sequences = min(SEQUENCES, settings.sequences)
    words += ["--max-num-seqs", str(sequences), "--max-num-batched-tokens", "2048", "--load-format", "dummy"]
    return [*words, "--enforce-eager", "--kv-cache-memory-bytes", str(256 << 20)]


def record(words):
    line = json.dumps({"argv": ["vllm", *words]})
    with RECORD.open("a") as file:
        file.write(line + "\n")
    print(f"vllm-front: {line}", flush=True)


def main():
    words = sys.argv[1:]
    if words[:1] != ["serve"] or any(word.startswith("--help") or word == "-h" for word in words):
        os.execv(REAL, [REAL, *words])
    record(words)
    try:
        settings = Settings(parse(words[1:], BUILD))
    except UsageError as error:
        stop(2, "usage: vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ...", error)
    except StartError as error:
        stop(1, error)
    boot(settings)
    if os.environ.get("LAB_ENGINE") == "standin":
        import standin

        standin.serve(settings)
    line = real(settings)
    print(f"vllm-front: runs {json.dumps(line)}", flush=True)
    os.execv(REAL, line)


main()
