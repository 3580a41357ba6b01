"""The emulated vLLM in this process: what it understands, how it serves, and where it fails as on a GB10."""

import contextlib
import io
import json
import socket
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from sparklab.engine.flags import parse
from sparklab.engine.ranks import Ranks
from sparklab.engine.ray_ranks import RayRanks
from sparklab.engine.settings import Settings, StartError
from sparklab.tools import curl
from sparklab.tree import memory
from support import serving
from support.serving import GPT, MXFP4, MXFP4_FLAGS, QWEN, SMALL, STOCK

FULL = ("--max-model-len", "131072", "--enforce-eager")
DEEP_GEMM_OFF = {"VLLM_USE_DEEP_GEMM": "0"}
QWEN_GOOD = ("--trust-remote-code", *SMALL)
FLASHINFER = {**DEEP_GEMM_OFF, "VLLM_USE_FLASHINFER_MOE_FP8": "1"}
WIDE = (GPT, *SMALL[:4], *MXFP4_FLAGS[:4], "--tensor-parallel-size", "2", "--distributed-executor-backend", "ray")
EAGER = ("--enforce-eager", "--mxfp4-layers")
CUT = "MKN = [256, 2880, 100544]"
MANY = ("--nnodes", "2", "--master-addr", "127.0.0.9", "--node-rank", "0")
FAILS: dict[str, tuple[str, tuple[str, ...], dict[str, str], int, str]] = {
    "an unknown flag": (STOCK, (GPT, "--mxfp4-backend", "CUTLASS"), {}, 2, "arguments: --mxfp4-backend CUTLASS"),
    "a bad choice": (STOCK, (GPT, "--kv-cache-dtype", "fp9"), {}, 2, "--kv-cache-dtype: invalid choice: 'fp9'"),
    "a bad number": (STOCK, (GPT, "--max-num-seqs=x"), {}, 2, "argument --max-num-seqs: invalid int value: 'x'"),
    "0.95 of memory": (MXFP4, (GPT, "--gpu_memory_utilization", "0.95"), {}, 1, "GPU memory utilization (0.95"),
    "the whole context on one node": (
        MXFP4, (GPT, *FULL, "--gpu-memory-utilization", "0.9"), {}, 1, "max seq len (131072)",
    ),
    "a share below weights and overhead": (
        STOCK, (GPT, "--gpu-memory-utilization", "0.5"), {}, 1, "ValueError: No available memory for the cache blocks",
    ),
    "a model that is not there": (STOCK, ("nobody/nothing",), {}, 1, "LocalEntryNotFoundError"),
    "qwen3-next without trust": (STOCK, (QWEN, *SMALL), DEEP_GEMM_OFF, 1, "trust_remote_code=True"),
    "qwen3-next with DeepGEMM": (STOCK, (QWEN, *QWEN_GOOD), {}, 1, "Unsupported architecture: sm_121"),
    "qwen3-next with FlashInfer MoE": (STOCK, (QWEN, *QWEN_GOOD), FLASHINFER, 1, "kernel does not support"),
}  # fmt: skip
CLUSTER_FAILS = {
    "lm_head cut in two": ((*EAGER, "moe,qkv,o,lm_head"), CUT),
    "all layers cut in two": ((*EAGER, "all"), CUT),
    "CUDA graphs over nodes": ((), "CUDA error: an illegal memory access was encountered"),
}


def test_it_fails_where_vllm_fails_with_its_code_and_its_words(nodes):
    for what, (image, words, env, code, line) in FAILS.items():
        ended, log = nodes.vllm(image, *words, env={**serving.TIKTOKEN, **env})
        assert (ended, line in log) == (code, True), f"{what}: {ended}\n{log}"


def test_two_ranks_fail_where_the_kernels_do_not_fit(nodes):
    for what, (flags, line) in CLUSTER_FAILS.items():
        with pytest.raises(StartError, match="initialization failed"), nodes.serves(MXFP4, *WIDE, *flags):
            pass
        assert line in nodes.log.getvalue(), what


def test_cuda_graphs_over_nodes_are_captured_on_the_stock_image(nodes):
    with nodes.serves(STOCK, GPT, *SMALL[:4], "-tp", "2", *MANY):
        assert "Graph capturing finished" in nodes.log.getvalue()


def test_ranks_wait_for_each_other_only_for_a_time(nodes):
    """The first address is one of this machine, where nobody listens."""
    wide = (GPT, *SMALL[:4], "-tp", "2", "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port")
    for rank, said in (("0", "DistStoreError: Timed out after 601 seconds"), ("1", "The client socket has timed out")):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        code, log = nodes.vllm(STOCK, *wide, port, "--node-rank", rank, *(["--headless"] if rank == "1" else []))
        assert (code, said in log) == (1, True), log


def test_without_its_memory_a_gpu_or_its_port_it_does_not_start(nodes):
    nodes.fault("page-cache-full")
    assert "ValueError: Free memory on device cuda:0" in nodes.vllm(MXFP4, GPT, *SMALL)[1]
    nodes.fault("page-cache-full", off=True)
    with nodes.serves(STOCK, GPT, "--gpu-memory-utilization", "0.6", *SMALL[:2]):
        code, log = nodes.vllm(STOCK, GPT, "--host", nodes.one.address, *SMALL)
        assert (code, "Address already in use" in log) == (1, True)


def test_a_fault_ends_it_amid_the_weights(nodes):
    nodes.fault("crash-while-loading")
    code, log = nodes.vllm(STOCK, GPT, *SMALL)
    assert (code, "died unexpectedly (exit code: -9)" in log) == (1, True)
    assert "  0% Completed" in log
    assert "100% Completed" not in log


def test_a_crash_is_told_of_the_rank_and_by_the_executor_as_vllm_does(nodes):
    def ranks(kind, rank=0):
        return kind(SimpleNamespace(node=nodes.one if rank == 0 else nodes.two, rank=rank))

    over_ray = ranks(RayRanks)
    over_ray.members = [{"node": node.directory, "ip": node.fabric[0]} for node in (nodes.one, nodes.two)]
    nodes.fault("crash-while-loading", node=nodes.two)
    assert "RayWorkerProc rank=[1] died unexpectedly" in over_ray.crashed()[1]
    assert ranks(Ranks).crashed() is None
    assert "VllmWorker-1 died unexpectedly (exit code: -9)" in ranks(Ranks, 1).crashed()[1]
    nodes.fault("crash-while-loading", off=True, node=nodes.two)
    nodes.fault("crash-while-loading", node=nodes.one)
    assert "RayWorkerProc rank=[0] died unexpectedly" in over_ray.crashed()[1]
    nodes.fault("crash-while-loading", off=True, node=nodes.one)


def test_qwen3_next_starts_as_its_recipe_says(nodes):
    with nodes.serves(STOCK, QWEN, *QWEN_GOOD, env=DEEP_GEMM_OFF):
        assert serving.chat(nodes.one.address, model=QWEN)[0] == 200


def test_flags_are_understood_in_every_spelling(nodes):
    spelled = ["--max_model_len=4k", "-tp", "1", "--no-enable-prefix-caching", "--gpu-memory-util", "0.5"]
    spelled += ["-cc.mode=none", "--served-model-name", "a", "b", "--enforce-eager", "--port", "8000"]
    given = parse([GPT, *spelled], "vllm")
    assert given["enable_prefix_caching"] is False
    assert given["compilation_config"] == {"mode": "none"}
    with nodes.inside(STOCK):
        settings = Settings(given)
    assert (settings.names, settings.context, settings.port, settings.utilization) == (["a", "b"], 4000, 8000, 0.5)


def test_an_mxfp4_model_on_the_stock_image_falls_back_to_marlin(nodes):
    with nodes.serves(STOCK, GPT, *SMALL):
        assert "Using Marlin backend" in nodes.log.getvalue()


def test_the_first_chat_fails_without_the_harmony_vocabulary(nodes):
    with nodes.serves(MXFP4, GPT, *SMALL, env={}):
        status, text = serving.chat(nodes.one.address)
        assert (status, "HarmonyError" in text) == (500, True)
        assert serving.ask(nodes.one.address, "/v1/completions", {"prompt": "x", "max_tokens": 1})[0] == 200


@pytest.fixture
def address(nodes):
    """gpt-oss on the mxfp4 image behind a key."""
    with nodes.serves(MXFP4, GPT, *SMALL, *MXFP4_FLAGS, "--api-key", "sk-1"):
        yield nodes.one.address


def test_it_answers_as_an_openai_server(address):
    assert serving.ask(address, "/v1/models")[0] == 401
    assert serving.ask(address, "/version")[0] == 200
    models = json.loads(serving.ask(address, "/v1/models", key="sk-1")[1])
    assert [(m["id"], m["max_model_len"]) for m in models["data"]] == [(GPT, 4096)]
    status, text = serving.chat(address, key="sk-1")
    assert (status, json.loads(text)["usage"]["completion_tokens"]) == (200, 4)
    status, text = serving.ask(address, "/v1/completions", {"model": GPT, "prompt": "x", "max_tokens": 3}, "sk-1")
    assert json.loads(text)["choices"][0]["finish_reason"] == "length"
    assert serving.chat(address, model="nope", key="sk-1")[0] == 404
    long = [{"role": "user", "content": "x" * 4088}]
    assert serving.chat(address, key="sk-1", messages=long, max_tokens=4)[0] == 200
    status, text = serving.chat(address, key="sk-1", messages=long, max_tokens=5)
    assert (status, "maximum context length is 4096" in text) == (400, True)

    events = serving.chat(address, key="sk-1", stream=True, stream_options={"include_usage": True})[1].split("\n\n")
    assert events[-2] == "data: [DONE]"
    assert json.loads(events[-3].removeprefix("data: "))["usage"]["completion_tokens"] == 4
    metrics = serving.ask(address, "/metrics")[1]
    assert f'vllm:generation_tokens_total{{engine="0",model_name="{GPT}"}} 15.0' in metrics


def test_the_stand_in_for_curl_asks_as_curl_does(address, tmp_path):
    url = f"http://{address}:8000/v1/models"
    words = ["-sS", "-m", "60", "--noproxy", "*", "-o", str(tmp_path / "body"), "-w", "%{http_code}", "-K", "-", url]
    said = io.StringIO()
    with patch("sys.stdin", io.StringIO('header = "Authorization: Bearer sk-1"\n')), contextlib.redirect_stdout(said):
        assert curl.main("curl", words) == 0
    assert said.getvalue().splitlines()[-1] == "200"
    assert json.loads((tmp_path / "body").read_text())["data"][0]["id"] == GPT
    assert curl.main("curl", [url.replace("8000", "8999")]) == 7


def test_the_log_tells_each_step_of_the_boot_in_its_order_and_no_key(nodes):
    steps = ["non-default args", "Resolved architecture: GptOssForCausalLM", "Starting to load model", "100% Completed"]
    steps += ["Loading weights took", "torch.compile took", "GPU KV cache size", "Capturing CUDA graphs (decode, FULL)"]
    steps += ["Graph capturing finished", "init engine"]
    with nodes.serves(MXFP4, GPT, *SMALL[:4], *MXFP4_FLAGS, "--api-key", "sk-1"):
        places = [nodes.log.getvalue().index(step) for step in steps]
        assert places == sorted(places)
        assert "sk-1" not in nodes.log.getvalue()


def test_a_rank_hangs_unnoticed_behind_a_green_health_while_a_peer_is_dead_frozen_or_cut_off(nodes):
    class Pair(Ranks):
        """This rank, and the one on the other node."""

        def nodes(self):
            return [self.settings.node, nodes.two]

        def addresses(self):
            return nodes.two.fabric

    with nodes.inside(STOCK):
        ranks = Pair(Settings(parse([GPT, *SMALL], "vllm")))
    assert not ranks.unnoticed()
    for kind in ("peer-dead-health-green", "engine-frozen", "cx7-down"):
        nodes.fault(kind, node=nodes.two)
        assert ranks.unnoticed(), kind
        nodes.fault(kind, off=True, node=nodes.two)
        assert not ranks.unnoticed(), kind


def test_an_engine_holds_what_it_asked_for_of_the_memory(nodes):
    free = memory.free_gib(nodes.one)
    with nodes.serves(STOCK, GPT, *SMALL):
        assert free - memory.free_gib(nodes.one) > 0.7 * 121 - 5
