# ruff: noqa: E501 - the lines of real logs are as long as they are
"""When vLLM fails on GB10, and the log lines of each failure. Each function returns a trace, or an empty string."""

import os
from collections.abc import Callable

from sparklab.engine.settings import Settings
from sparklab.tree import memory

TOTAL_GIB = 121.69
LOADED, OVERHEAD_GIB = 1.04, 4.0
"""Loaded weights by their size on disk; activations and the CUDA context."""

LONG_CONTEXT = 131072
SMALL_BATCH = 16
GRAPH_CRASH = """Traceback (most recent call last):
  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/executor/multiproc_executor.py", line 812, in worker_busy_loop
    output = func(*args, **kwargs)
  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 4310, in capture_model
    self._capture_cudagraphs(
  File "/usr/local/lib/python3.12/dist-packages/vllm/compilation/cuda_graph.py", line 237, in __call__
    with torch.cuda.graph(cudagraph, pool=self.graph_pool):
torch.AcceleratorError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
During handling of the above exception, another exception occurred:
torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture (cudaErrorStreamCaptureInvalidated)"""
MARLIN_CRASH = """Traceback (most recent call last):
  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 3412, in _dummy_sampler_run
    logits = self.model.compute_logits(hidden_states)
  File "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/quantization/mxfp4.py", line 828, in apply
    return apply_fp4_marlin_linear(
  File "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/quantization/utils/marlin_utils_fp4.py", line 123, in apply_fp4_marlin_linear
    output = ops.gptq_marlin_gemm(
RuntimeError: Invalid thread config: thread_m_blocks = 1, thread_k = -1, thread_n = -1, num_threads = -1 for MKN = [256, {k}, {n}] and num_bits = 4, prob_m_split = 1, group_size = 32, has_act_order = 0, is_k_full = 1, has_zp = 0, is_zp_float = 0, max_shared_mem = 101376"""  # noqa: E501


def free_memory(settings: Settings, free: float) -> str:
    wanted = settings.utilization * TOTAL_GIB
    return (
        f"ValueError: Free memory on device cuda:0 ({free:.2f}/{TOTAL_GIB} GiB) on startup is less than desired GPU memory utilization "
        f"({settings.utilization:g}, {wanted:.2f} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )


def at_start(settings: Settings) -> str:
    """Before any weight is read: too little free memory."""
    free = memory.free_gib(settings.node)
    if settings.build == "vllm-mxfp4" and settings.utilization >= 0.95:
        return free_memory(settings, min(free, 101.93))
    return free_memory(settings, free) if free < settings.utilization * TOTAL_GIB else ""


def while_reading_config(settings: Settings) -> str:
    """A context beyond the model's; more ranks than GPUs without Ray or nnodes; own code without trust_remote_code."""
    if settings.context > settings.longest and os.environ.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") != "1":
        return (
            f"ValueError: User-specified max_model_len ({settings.context}) is greater than the derived max_model_len "
            f"(max_position_embeddings={settings.longest} or model_max_length=None in model's config.json). To allow "
            "overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1."
        )
    if settings.executor == "ray" and settings.dp > 1 and settings.given.get("data_parallel_backend") != "ray":
        return "AssertionError: DP adjusted local rank 1 is out of bounds. "
    if settings.executor == "ray" and (local := settings.given.get("data_parallel_size_local", settings.dp)) > 1:
        head = os.environ.get("VLLM_HOST_IP", "127.0.0.1")
        return f"ValueError: Not enough resources to allocate {local} DP ranks on DP master node {head}, possible to fit 1 DP ranks."
    if settings.executor != "ray" and settings.gpus > settings.nnodes:
        return (
            f"ValueError: World size ({settings.gpus}) is larger than the number of available GPUs (1) in this node. If this is intentional "
            "and you are using:\n- ray, set '--distributed-executor-backend ray'.\n- multiprocessing, set '--nnodes' appropriately."
        )
    if settings.config.get("model_type") == "qwen3_next" and not settings.given.get("trust_remote_code"):
        return (
            f"ValueError: The repository {settings.model} contains custom code which must be executed to correctly load the model. "
            f"You can inspect the repository content at https://hf.co/{settings.model}.\n"
            "Please pass the argument `trust_remote_code=True` to allow custom code to be run."
        )
    return ""


def while_loading(settings: Settings) -> str:
    cutlass = ("VLLM_USE_FLASHINFER_MOE_FP8", "VLLM_FLASHINFER_MOE_BACKEND")
    asked = any(os.environ.get(name, "0") != "0" for name in cutlass)
    if settings.config.get("model_type") == "qwen3_next" and asked:
        return "RuntimeError: FlashInfer CUTLASS MoE (fp8 block scale): kernel does not support current device cuda (sm_121)"
    if (
        settings.build != "vllm-mxfp4"
        and os.environ.get("VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8") == "1"
        and settings.is_mxfp4
    ):
        return "RuntimeError: trtllm_fp4_block_scale_moe: kernel does not support current device cuda"
    return ""


def while_profiling(settings: Settings) -> str:
    if settings.config.get("model_type") == "qwen3_next" and os.environ.get("VLLM_USE_DEEP_GEMM", "1") != "0":
        return (
            "RuntimeError: Assertion error (csrc/apis/../jit_kernels/impls/../heuristics/sm100.hpp:43): Unsupported architecture: sm_121\n"
            "torch.AcceleratorError: CUDA error: an illegal instruction was encountered"
        )
    vocabulary, hidden = int(settings.config.get("vocab_size", 0)), int(settings.config.get("hidden_size", 0))
    share = vocabulary // settings.tp
    layers = settings.mxfp4_layers & {"lm_head", "all"}
    if (
        settings.build == "vllm-mxfp4"
        and settings.is_mxfp4
        and settings.tp > 1
        and layers
        and share % 128
        and hidden % 128
    ):
        return MARLIN_CRASH.format(k=hidden, n=share)
    return cache_too_small(settings)


def cache_gib(settings: Settings) -> float:
    """What the engine's share leaves for the KV cache beside weights and overhead."""
    weights = settings.share_gib * LOADED
    return settings.utilization * TOTAL_GIB - weights - OVERHEAD_GIB


def no_cache(settings: Settings) -> str:
    """Weights and overhead take the whole share."""
    if settings.given.get("kv_cache_memory_bytes") or cache_gib(settings) > 0:
        return ""
    return (
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine. "
        "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
    )


def cache_too_small(settings: Settings) -> str:
    """gpt-oss-120b with its whole context on one node, many sequences and most of the memory."""
    long = settings.is_gpt_oss and settings.context >= LONG_CONTEXT and settings.tp == 1
    if not long or settings.utilization < 0.85 or settings.sequences <= SMALL_BATCH:
        return ""
    return (
        f"ValueError: To serve at least one request with the models's max seq len ({settings.context}), (4.51 GiB KV cache is needed, which "
        "is larger than the available KV cache memory (3.72 GiB). Based on the available memory, the estimated maximum model length is "
        "107920. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
    )


def while_capturing(settings: Settings) -> str:
    """CUDA graphs with tensor parallelism over nodes on the CUTLASS MXFP4 kernels."""
    across = settings.executor == "ray" or settings.nnodes > 1
    return GRAPH_CRASH if settings.build == "vllm-mxfp4" and settings.tp > 1 and across and not settings.eager else ""


def chat(settings: Settings) -> str:
    """The January build downloads the harmony vocabulary at the first chat, unless a variable names its directory."""
    named = os.environ.get("TIKTOKEN_ENCODINGS_BASE") or os.environ.get("TIKTOKEN_RS_CACHE_DIR")
    if settings.is_gpt_oss and settings.build == "vllm-mxfp4" and not named:
        return "openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download or load vocab file"
    return ""


STAGES: dict[str, Callable[[Settings], str]] = {
    "config": while_reading_config,
    "start": at_start,
    "load": while_loading,
    "profile": while_profiling,
    "cache": no_cache,
    "capture": while_capturing,
}
