"""The emulated vLLM serves as vLLM does, and fails where the real one fails on a GB10."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparkops.lab.tools import main
from support import serving

GPT, QWEN, MXFP4, STOCK, SMALL = serving.GPT, serving.QWEN, serving.MXFP4, serving.STOCK, serving.SMALL
FULL = ("--max-model-len", "131072", "--enforce-eager")
QWEN_GOOD = ("--trust-remote-code", *SMALL)
DEEP_GEMM_OFF = {"VLLM_USE_DEEP_GEMM": "0"}


@pytest.fixture
def engine(node, eventually):
    """gpt-oss on the mxfp4 image, with CUDA graphs and a key."""
    flags = [flag for flag in SMALL if flag != "--enforce-eager"]
    serving.serve(node, MXFP4, GPT, *flags, *serving.MXFP4_FLAGS, "--api-key", "sk-1")
    eventually(lambda: serving.healthy(node.address))
    return node


def test_it_serves_as_an_openai_server(engine, eventually):
    address = engine.address
    assert serving.ask(address, "/v1/models")[0] == 401
    assert serving.ask(address, "/version")[0] == 200
    models = json.loads(serving.ask(address, "/v1/models", key="sk-1")[1])
    assert [(m["id"], m["max_model_len"]) for m in models["data"]] == [(GPT, 4096)]
    status, text = serving.chat(address, key="sk-1")
    assert status == 200
    assert json.loads(text)["usage"]["completion_tokens"] == 4
    status, text = serving.ask(address, "/v1/completions", {"model": GPT, "prompt": "x", "max_tokens": 3}, "sk-1")
    assert json.loads(text)["choices"][0]["finish_reason"] == "length"
    assert serving.chat(address, model="nope", key="sk-1")[0] == 404
    long = [{"role": "user", "content": "x" * 40000}]
    assert "maximum context length is 4096" in serving.chat(address, key="sk-1", messages=long)[1]

    events = serving.chat(address, key="sk-1", stream=True, stream_options={"include_usage": True})[1].split("\n\n")
    assert events[-2] == "data: [DONE]"
    assert json.loads(events[-3].removeprefix("data: "))["usage"]["completion_tokens"] == 4

    metrics = serving.ask(address, "/metrics")[1]
    assert f'vllm:generation_tokens_total{{engine="0",model_name="{GPT}"}} 11.0' in metrics

    steps = ["non-default args", "Resolved architecture: GptOssForCausalLM", "Starting to load model", "100% Completed"]
    steps += ["Loading weights took", "torch.compile took", "GPU KV cache size", "Capturing CUDA graphs (decode, FULL)"]
    steps += ["Graph capturing finished", "init engine", "Starting vLLM server on", "Application startup complete."]
    eventually(lambda: steps[-1] in serving.log(engine))
    log = serving.log(engine)
    places = [log.index(step) for step in steps]
    assert places == sorted(places)
    assert "sk-1" not in log


def test_the_stand_in_for_curl_asks_as_curl_does(engine, tmp_path):
    tool = [sys.executable, "-I", "-S", str(Path(main.__file__)), "curl", "-sS", "-m", "60", "--noproxy", "*"]
    url = f"http://{engine.address}:8000/v1/models"
    words = ["-o", str(tmp_path / "body"), "-w", "%{http_code}", "-K", "-", url]
    secret = 'header = "Authorization: Bearer sk-1"\n'
    done = subprocess.run([*tool, *words], input=secret, capture_output=True, text=True, check=True)
    assert done.stdout == "200"
    assert json.loads((tmp_path / "body").read_text())["data"][0]["id"] == GPT
    refused = subprocess.run([*tool, url.replace("8000", "8999")], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (7, "")


def test_a_stop_is_clean_and_gives_the_memory_back(engine):
    free = 'awk \'$1 == "MemAvailable:" {print $2}\' "$SPARKOPS_ROOT/proc/meminfo"'
    busy = int(engine.run(free).out)
    assert engine.docker("stop", "e").code == 0
    assert serving.ended(engine) == 0
    assert int(engine.run(free).out) > busy + 60_000_000


FAILS = {
    "an unknown flag": (STOCK, GPT, ("--mxfp4-backend", "CUTLASS"), {}, 2, "arguments: --mxfp4-backend CUTLASS"),
    "a bad choice": (STOCK, GPT, ("--kv-cache-dtype", "fp9"), {}, 2, "--kv-cache-dtype: invalid choice: 'fp9'"),
    "a bad number": (STOCK, GPT, ("--max-num-seqs=x",), {}, 2, "argument --max-num-seqs: invalid int value: 'x'"),
    "0.95 of memory on the mxfp4 image": (
        MXFP4, GPT, ("--gpu_memory_utilization", "0.95"), {}, 1, "less than desired GPU memory utilization (0.95",
    ),
    "the whole context on one node": (
        MXFP4, GPT, (*FULL, "--gpu-memory-utilization", "0.9"), {}, 1, "max seq len (131072)",
    ),
    "a model that is not there": (STOCK, "nobody/nothing", (), {}, 1, "LocalEntryNotFoundError"),
    "qwen3-next without trust": (STOCK, QWEN, SMALL, DEEP_GEMM_OFF, 1, "trust_remote_code=True"),
    "qwen3-next with DeepGEMM": (STOCK, QWEN, QWEN_GOOD, {}, 1, "Unsupported architecture: sm_121"),
    "qwen3-next with FlashInfer MoE": (
        STOCK, QWEN, QWEN_GOOD, {**DEEP_GEMM_OFF, "VLLM_USE_FLASHINFER_MOE_FP8": "1"}, 1, "kernel does not support",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILS)
def test_it_fails_on(node, eventually, what):
    image, model, flags, env, code, line = FAILS[what]
    serving.serve(node, image, model, *flags, env={**serving.TIKTOKEN, **env})
    assert eventually(lambda: serving.ended(node) is not None)
    assert serving.ended(node) == code
    assert line in serving.log(node)


def test_qwen3_next_runs_as_its_recipe_says(node, eventually):
    serving.serve(node, STOCK, QWEN, *QWEN_GOOD, env=DEEP_GEMM_OFF)
    eventually(lambda: serving.healthy(node.address))
    assert serving.chat(node.address, model=QWEN)[0] == 200


def test_flags_are_understood_in_every_spelling(node, eventually):
    spelled = ["--max_model_len=4k", "-tp", "1", "--no-enable-prefix-caching", "--gpu-memory-util", "0.5"]
    spelled += ["-cc.mode=none", "--served-model-name", "a", "b", "--enforce-eager", "--port", "8000"]
    serving.serve(node, STOCK, GPT, *spelled)
    eventually(lambda: serving.healthy(node.address))
    models = json.loads(serving.ask(node.address, "/v1/models")[1])["data"]
    assert [(model["id"], model["max_model_len"]) for model in models] == [("a", 4000), ("b", 4000)]


def test_an_mxfp4_model_on_the_stock_image_falls_back_to_marlin(node, eventually):
    serving.serve(node, STOCK, GPT, *SMALL)
    eventually(lambda: serving.healthy(node.address))
    eventually(lambda: "Using Marlin backend" in serving.log(node))


def test_the_first_chat_fails_without_the_harmony_vocabulary(node, eventually):
    serving.serve(node, MXFP4, GPT, *SMALL, env={})
    eventually(lambda: serving.healthy(node.address))
    status, text = serving.chat(node.address)
    assert (status, "HarmonyError" in text) == (500, True)
    assert serving.ask(node.address, "/v1/completions", {"prompt": "x", "max_tokens": 1})[0] == 200


def test_a_full_page_cache_leaves_no_memory_to_start(lab, node, eventually):
    lab.fault(1, "page-cache-full")
    serving.serve(node, MXFP4, GPT, *SMALL)
    eventually(lambda: serving.ended(node) is not None)
    assert "ValueError: Free memory on device cuda:0" in serving.log(node)


def test_a_second_engine_finds_the_port_taken(node, eventually):
    serving.serve(node, STOCK, GPT, "--gpu-memory-utilization", "0.3", *SMALL[:2])
    eventually(lambda: serving.healthy(node.address))
    serving.serve(node, STOCK, GPT, *SMALL, name="second")
    eventually(lambda: serving.ended(node, "second") is not None)
    assert "Address already in use" in serving.log(node, "second")


def cluster(lab, executor, *flags, image=MXFP4):
    """Two ranks; returns both clients, the head first."""
    head, worker = lab.connect(1), lab.connect(2)
    fabric = [client.run("hostname -I").out.split()[1] for client in (head, worker)]
    wide = ("--tensor-parallel-size", "2", "--distributed-executor-backend", executor, *flags)
    words = ["vllm", "serve", GPT, "--host", "0.0.0.0", *SMALL[:4], *serving.MXFP4_FLAGS, *wide]
    environment = [{**serving.TIKTOKEN, "VLLM_HOST_IP": ip} for ip in fabric]
    if executor == "mp":
        many = ["--nnodes", "2", "--master-addr", fabric[0], "--master-port", "29501", "--node-rank"]
        serving.run(worker, "e", image, [*words, *many, "1", "--headless"], environment[1])
        serving.run(head, "e", image, [*words, *many, "0"], environment[0])
        return head, worker
    join = ["ray", "start", f"--address={fabric[0]}:6379", f"--node-ip-address={fabric[1]}", "--num-gpus=1", "--block"]
    begin = f'ray start --head --node-ip-address={fabric[0]} --port=6379 --num-gpus=1 && exec "$@"'
    environment[0]["RAY_ADDRESS"] = f"{fabric[0]}:6379"
    serving.run(worker, "e", image, join, environment[1])
    serving.run(head, "e", image, ["sh", "-c", begin, "sh", *words], environment[0])
    return head, worker


@pytest.mark.parametrize("executor", ["ray", "mp"])
def test_two_ranks_serve_together_and_end_together(lab, eventually, executor):
    head, worker = cluster(lab, executor, "--enforce-eager")
    eventually(lambda: serving.healthy(head.address))
    assert serving.chat(head.address)[0] == 200
    eventually(lambda: "rank 1 in world size 2 is assigned" in serving.log(head) + serving.log(worker))
    if executor == "ray":
        reserved = " 2.0/2.0 GPU (2.0 used of 2.0 reserved in placement groups)"
        eventually(lambda: reserved in head.docker("exec", "e", "ray", "status").out)
        assert head.docker("exec", "e", "ray", "status").out.count("\n 1 node_") == 2
    worker.docker("kill", "e")
    eventually(lambda: serving.ended(head) is not None)
    assert serving.ended(head) == 1
    died = "RayWorkerProc rank=[1] died unexpectedly" if executor == "ray" else "Connection reset by peer"
    assert died in serving.log(head)


def test_the_head_waits_for_a_gpu_that_comes_late(lab, eventually):
    lab.fault(2, "worker-never-joins")
    head, _ = cluster(lab, "ray", "--enforce-eager")
    eventually(lambda: "Waiting for creating a placement group of specs for 10 seconds" in serving.log(head))
    assert not serving.healthy(head.address)
    lab.fault(2, "worker-never-joins", off=True)
    eventually(lambda: serving.healthy(head.address))


def test_a_link_that_goes_down_hangs_the_ranks_behind_a_green_health(lab, eventually):
    head, _ = cluster(lab, "mp", "--enforce-eager")
    eventually(lambda: serving.healthy(head.address))
    lab.fault(2, "cx7-down")
    assert serving.healthy(head.address)
    body = {"prompt": "x", "max_tokens": 1}
    assert serving.ask(head.address, "/v1/completions", body, timeout=0.5)[0] == 0
    lab.fault(2, "cx7-down", off=True)
    eventually(lambda: serving.ask(head.address, "/v1/completions", body)[0] == 200)


CLUSTER_FAILS = {
    "lm_head cut in two": (("--enforce-eager", "--mxfp4-layers", "moe,qkv,o,lm_head"), "MKN = [256, 2880, 100544]"),
    "all layers cut in two": (("--enforce-eager", "--mxfp4-layers", "all"), "MKN = [256, 2880, 100544]"),
    "CUDA graphs over nodes": ((), "CUDA error: an illegal memory access was encountered"),
}


@pytest.mark.parametrize("what", CLUSTER_FAILS)
def test_a_cluster_fails_on(lab, eventually, what):
    flags, line = CLUSTER_FAILS[what]
    head, _ = cluster(lab, "ray", *flags)
    eventually(lambda: serving.ended(head) is not None)
    assert serving.ended(head) == 1
    assert line in serving.log(head)


def test_graphs_over_nodes_run_on_the_stock_image(lab, eventually):
    head, worker = lab.connect(1), lab.connect(2)
    fabric = [client.run("hostname -I").out.split()[1] for client in (head, worker)]
    words = ["vllm", "serve", GPT, *SMALL[:4], "-tp", "2", "-n", "2", "--master-addr", fabric[0], "-r"]
    serving.run(worker, "e", STOCK, [*words, "1", "--headless"], {"VLLM_HOST_IP": fabric[1]})
    serving.run(head, "e", STOCK, [*words, "0"], {"VLLM_HOST_IP": fabric[0]})
    eventually(lambda: serving.healthy(head.address))
