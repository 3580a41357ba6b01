"""`vllm` of a GB10 image: takes a Spark's command line, fails where a Spark fails, else serves a tiny model for real.

Every command line is kept word for word in /var/log/vllm-front.jsonl and printed first. The environment may say
LAB_ENGINE=standin (an OpenAI-compatible stand-in that starts at once, joined to the real Ray) and
LAB_LOAD_SECONDS=N (weights that take as long to load).
"""

import json
import os
import sys
import time
from pathlib import Path

REAL = "/opt/vllm/bin/vllm"
LAB = Path("/opt/lab")
MODEL = str(LAB / "model")
RECORD = Path("/var/log/vllm-front.jsonl")
SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-n": "--nnodes",
    "-r": "--node-rank",
}
FORK = {"--mxfp4-backend": True, "--mxfp4-layers": True}
BACKENDS = ("auto", "MARLIN", "CUTLASS", "TRITON", "TRTLLM", "TRTLLM_MXFP8")
PASSED = (
    "--host", "--port", "--api-key", "--served-model-name", "--max-model-len", "--tensor-parallel-size",
    "--pipeline-parallel-size", "--distributed-executor-backend", "--nnodes", "--node-rank", "--master-addr",
    "--master-port", "--headless", "--shutdown-timeout",
    "--enable-prefix-caching", "--no-enable-prefix-caching", "--enable-log-requests", "--uvicorn-log-level",
)  # fmt: skip
SEQUENCES = 16
SHARDS = 14


def parsed(words, known):
    """The model and the flags in order, each with its values; argparse's own complaint about what it does not know."""
    model, flags, unknown, open_for_values = None, [], [], False
    for word in words:
        name, equals, value = word.partition("=")
        name = SHORT.get(name, name)
        if name.startswith("--"):
            name = name.replace("_", "-")
            base = name.split(".")[0]
            flags.append((name, [value] if equals else []))
            open_for_values = not equals and (known.get(base, True) or base not in known)
            if base not in known:
                unknown.append(word)
        elif open_for_values:
            flags[-1][1].append(word)
            if flags[-1][0] not in known:
                unknown.append(word)
        elif model is None:
            model = word
        else:
            unknown.append(word)
    if unknown:
        stop(
            2,
            "usage: vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ...",
            f"vllm: error: unrecognized arguments: {' '.join(unknown)}",
        )
    return model, flags


def stop(code, *lines):
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    sys.exit(code)


def dead(cause, where):
    """How vLLM ends when its engine does not come up: the root cause, then the line that hides it."""
    prefix = f"(EngineCore pid={os.getpid()}) ERROR 11-20 12:00:00 [core.py:1181]"
    stop(
        1,
        f"{prefix} EngineCore failed to start.",
        f"{prefix} Traceback (most recent call last):",
        f'{prefix}   File "{where}", in forward',
        f"{prefix} {cause}",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
    )


def tensor_parallel(given):
    return int(given.get("--tensor-parallel-size", "1"))


def crosses(given):
    """Tensor parallel over nodes, by either executor."""
    return tensor_parallel(given) > 1 and (
        given.get("--distributed-executor-backend") == "ray" or int(given.get("--nnodes", "1")) > 1
    )


def refused(given):
    """What ends at once on a GB10: a wrong choice, or memory that is not there."""
    backend = given.get("--mxfp4-backend", "auto")
    if backend not in BACKENDS:
        choices = ", ".join(f"'{name}'" for name in BACKENDS)
        stop(2, f"vllm serve: error: argument --mxfp4-backend: invalid choice: '{backend}' (choose from {choices})")
    share = float(given.get("--gpu-memory-utilization", "0.92"))
    if share >= 0.95:
        wanted = f"({share:g}, {121.69 * share:.2f} GiB)"
        dead(
            "ValueError: Free memory on device cuda:0 (113.42/121.69 GiB) on startup is less than desired GPU memory"
            f" utilization {wanted}. Decrease GPU memory utilization or reduce GPU memory used by other processes.",
            "vllm/v1/worker/utils.py",
        )


def cached(model, given):
    """A model that is not in the mounted cache cannot be had: the nodes are offline."""
    if model.startswith("/"):
        return
    home = Path(os.environ.get("HF_HOME", "/root/.cache/huggingface")) / "hub"
    folder = home / ("models--" + model.replace("/", "--")) / "snapshots"
    revision = given.get("--revision")
    if not any(folder.glob(revision or "*")):
        stop(
            1,
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the"
            " specified revision on the local disk and outgoing traffic has been disabled. To enable repo look-ups and"
            " downloads online, pass 'local_files_only=False' as input.",
        )


def load():
    """The weights' progress as a Spark prints it."""
    seconds = float(os.environ.get("LAB_LOAD_SECONDS", "0"))
    for shard in range(SHARDS + 1):
        percent = 100 * shard // SHARDS
        print(f"Loading safetensors checkpoint shards: {percent:3d}% Completed | {shard}/{SHARDS}", flush=True)
        time.sleep(seconds / (SHARDS + 1))


def crashed(given):
    """What ends on a GB10 when the model runs for the first time, after the weights were loaded."""
    layers = given.get("--mxfp4-layers", "").split(",")
    shards = tensor_parallel(given)
    if shards > 1 and ("lm_head" in layers or "all" in layers):
        dead(
            "RuntimeError: Invalid thread config: thread_m_blocks = 1, thread_k = -1, thread_n = -1, num_threads = -1"
            f" for MKN = [256, 2880, {201088 // shards}] and num_bits = 4, group_size = 32",
            "vllm/model_executor/layers/quantization/utils/marlin_utils_fp4.py",
        )
    if crosses(given) and "--enforce-eager" not in given:
        print("Capturing CUDA graphs (decode, FULL):   0%|          | 0/35 [00:00<?, ?it/s]", flush=True)
        dead(
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "vllm/v1/worker/gpu_model_runner.py",
        )


def real(model, flags, given):
    """The command line that the CPU build understands, of the same meaning as far as there is one."""
    words = [REAL, "serve", MODEL]
    for name, values in flags:
        if name in PASSED:
            words += [name, *values]
    if "--served-model-name" not in given:
        words += ["--served-model-name", model]
    if "--max-model-len" not in given:
        words += ["--max-model-len", "131072"]
    words += ["--dtype", "float32"]  # for bfloat16 it takes AMX where the CPU has it, which not every sandbox lets run
    sequences = min(SEQUENCES, int(given.get("--max-num-seqs", SEQUENCES)))
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
    known = {**json.loads((LAB / "flags.json").read_text()), **FORK}
    model, flags = parsed(words[1:], known)
    given = {name: " ".join(values) for name, values in flags}
    refused(given)
    cached(model or MODEL, given)
    load()
    crashed(given)
    line = real(model, flags, given)
    if os.environ.get("LAB_ENGINE") == "standin":
        os.execv("/opt/vllm/bin/python3", ["python3", str(LAB / "bin/standin.py"), *line[3:]])
    print(f"vllm-front: runs {json.dumps(line)}", flush=True)
    os.execv(REAL, line)


main()
