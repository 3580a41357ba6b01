"""Starts engines on lab nodes as a launcher would, by plain `docker run`."""

from __future__ import annotations

import json
import shlex
import urllib.error
import urllib.request

GPT = "openai/gpt-oss-120b"
QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
MXFP4 = "vllm-node-mxfp4"
STOCK = "vllm-node"
MXFP4_FLAGS = ("--quantization", "mxfp4", "--mxfp4-backend", "CUTLASS", "--mxfp4-layers", "moe,qkv,o")
SMALL = ("--max-model-len", "4096", "--gpu-memory-utilization", "0.7", "--enforce-eager")
TIKTOKEN = {"TIKTOKEN_RS_CACHE_DIR": "/root/.cache/tiktoken_rs"}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def run(client, name, image, words, env=None, options=()):
    """A container whose first process is the words; the node's model cache is mounted."""
    given = {"HF_HUB_OFFLINE": "1"} | (TIKTOKEN if env is None else env)
    pairs = [word for key, value in given.items() for word in ("-e", f"{key}={value}")]
    head = shlex.join(["docker", "run", "-d", "--name", name, "--network", "host", "--ipc", "host", "--gpus", "all"])
    cache = '-v "$HOME/.cache/huggingface:/root/.cache/huggingface"'
    rest = shlex.join([*options, *pairs, "--entrypoint=", image, *words])
    done = client.run(f"{head} {cache} {rest}")
    assert done.code == 0, done.err


def serve(client, image, model, *flags, env=None, name="e", options=()):
    run(client, name, image, ["vllm", "serve", model, "--host", "0.0.0.0", *flags], env, options)


def log(client, name="e"):
    done = client.run(f"docker logs {name} 2>&1")
    return done.out


def ended(client, name="e"):
    """The exit code once it has ended, else None."""
    status, code = client.run(
        f"docker inspect --format '{{{{.State.Status}}}} {{{{.State.ExitCode}}}}' {name}"
    ).out.split()
    return int(code) if status == "exited" else None


def ask(address, path, body=None, key=None, port=8000, timeout=60):
    """(status, text) of one request, from outside the node."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address}:{port}{path}", data, {"Content-Type": "application/json"})
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with OPENER.open(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


def healthy(address, port=8000):
    return ask(address, "/health", port=port)[0] == 200


def chat(address, model=GPT, key=None, port=8000, **more):
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, **more}
    return ask(address, "/v1/chat/completions", body, key, port)
