# ruff: noqa: E501 - the lines of real logs are as long as they are
"""An engine's boot: the real lines in their order, the real failures at their place, in seconds instead of minutes."""

import os
import sys
import time
from typing import Any

from sparklab.engine import failures, log
from sparklab.engine.ranks import Ranks
from sparklab.engine.settings import Settings, StartError, arguments
from sparklab.tree import memory

VERSIONS = {"vllm-mxfp4": "0.1.dev12777+g3f1c8aad4.mxfp4", "vllm": "0.32.0"}
OWNER = os.environ.get("SPARKLAB_CONTAINER", "engine")
CACHE_GROWTH_KB = 4 * memory.KB_PER_GIB
CAPTURE_SIZES = 83
CORE_FAILED = (
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
)


class Boot:
    """`run` returns when the engine may open its port; `StartError` is the trace it died with."""

    def __init__(self, settings: Settings, ranks: Ranks) -> None:
        self.settings = settings
        self.ranks = ranks
        self.node = settings.node
        self.version = VERSIONS.get(settings.build, VERSIONS["vllm"])
        self.voices = log.Voices(
            "Worker" if settings.world == 1 else f"Worker_TP{settings.rank}",
            settings.headless,
            f"\x1b[36m(RayWorkerProc pid={os.getpid() + 2})\x1b[0m " if settings.executor == "ray" else "",
        )
        self.api, self.core, self.worker = self.voices.api, self.voices.core, self.voices.worker

    def pause(self, share: float) -> None:
        """A part of the boot, which takes about two seconds in all on a healthy lab node."""
        until = time.monotonic() + self.node.seconds(share)
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))
            self.ranks.check()

    def run(self) -> None:
        memory.change(self.node, used={OWNER: 0})  # an engine before it in this container is dead
        self._config()
        self._fail("start", self.core)
        self.ranks.meet(self.voices)
        self._load()
        self._profile()
        if not self.settings.eager:
            self._capture()
        self.core.info(
            "core.py:402",
            f"init engine (profile, create kv cache, warmup model) took {38.4 if self.settings.eager else 131.7} s",
        )

    def _fail(self, stage: str, speaker: log.Speaker) -> None:
        if trace := failures.STAGES[stage](self.settings):
            speaker.error("multiproc_executor.py:832" if stage != "start" else "core.py:1104", trace)
            raise StartError(CORE_FAILED)

    def _config(self) -> None:
        settings = self.settings
        if not settings.headless:
            self.api.info("api_utils.py:347", f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {self.version}")
            self.api.info("api_utils.py:347", f"  █▄█▀ █     █     █     █  model   {settings.model}")
            self.api.info("api_utils.py:286", f"non-default args: {arguments(settings)}")
        for name in ("VLLM_FOO", "VLLM_MXFP4_BACKEND"):
            if name in os.environ and settings.build == "vllm":
                self.api.warning("envs.py:1901", f"Unknown vLLM environment variable detected: {name}")
        self.pause(0.1)
        architecture = settings.config.get("architectures", ["LlamaForCausalLM"])[0]
        self.api.info("model.py:733", f"Resolved architecture: {architecture}")
        if trace := failures.STAGES["config"](settings):
            self.api.error("api_server.py:1402", trace)
            raise StartError(trace.splitlines()[-1])
        self.api.info("model.py:2152", f"Using max model len {settings.context}")
        batch = settings.given.get("max_num_batched_tokens", 8192)
        self.api.info("scheduler.py:307", f"Chunked prefill is enabled with max_num_batched_tokens={batch}.")
        if settings.eager:
            self.api.warning(
                "vllm.py:1703",
                "Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is equivalent to setting "
                "-cc.mode=none -cc.cudagraph_mode=none and --kernel_config.enable_jit_warmup=False",
            )
        if settings.headless:
            address = f"{settings.given.get('master_addr', '127.0.0.1')}:{settings.given.get('master_port', 29501)}"
            text = f"Launching vLLM (v{self.version}) headless multiproc executor, with head node address {address} for torch.distributed"
            self.api.info("serve.py:224", f"{text} process group.")
        self.pause(0.15)
        text = f"Initializing a V1 LLM engine (v{self.version}) with config: model='{settings.model}', tensor_parallel_size={settings.tp}"
        self.core.info("core.py:133", f"{text}, pipeline_parallel_size={settings.pp}, enforce_eager={settings.eager}")

    def _load(self) -> None:
        settings, shards = self.settings, int(self.settings.config["sparklab_shards"])
        self.worker.info("gpu_model_runner.py:3612", f"Starting to load model {settings.model}...")
        for line in self._backends():
            self.worker.info(*line)
        self._fail("load", self.worker)
        title = "Loading safetensors checkpoint shards"
        if settings.given.get("load_format") == "fastsafetensors":
            title = "Loading safetensors using Fastsafetensor loader"
        share = settings.share_gib
        for done in range(shards + 1):
            percent = 100 * done // shards
            log.write(
                f"{title}: {percent:3d}% Completed | {done}/{shards} [00:{done:02d}<00:{shards - done:02d},  2.87s/it]"
            )
            if 2 * done >= shards:
                self._crash_if_asked()
            self.pause(1.6 / shards)
        taken = int(settings.utilization * failures.TOTAL_GIB * memory.KB_PER_GIB)
        memory.change(
            self.node,
            cached=memory.CACHE_DROPPED + CACHE_GROWTH_KB,
            used={OWNER: taken},
        )
        self.worker.info("default_loader.py:501", f"Loading weights took {share * 0.8:.2f} seconds")
        self.worker.info(
            "gpu_model_runner.py:3690",
            f"Model loading took {share * failures.LOADED:.2f} GiB memory and {share * 0.83:.6f} seconds",
        )

    def _backends(self) -> list[tuple[str, str]]:
        if not self.settings.is_mxfp4:
            return [
                (
                    "cuda.py:512",
                    "Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'TRITON_ATTN'].",
                )
            ]
        if self.settings.build == "vllm-mxfp4" and str(self.settings.given.get("mxfp4_backend", "auto")) in (
            "auto",
            "CUTLASS",
        ):
            return [("mxfp4.py:161", "Using FlashInfer CUTLASS MXFP4 backend (FP8 activations) on SM121")]
        return [
            ("mxfp4.py:164", "Using Marlin backend"),
            (
                "marlin_utils_fp4.py:208",
                "Your GPU does not have native support for FP4 computation but FP4 quantization is being used. Weight-only FP4 compression "
                "will be used leveraging the Marlin kernel. This may degrade performance for compute-heavy workloads.",
            ),
        ]

    def _crash_if_asked(self) -> None:
        if told := self.ranks.crashed():
            self.core.error(*told)
            raise StartError(CORE_FAILED)

    def _profile(self) -> None:
        if not self.settings.eager:
            self.worker.info(
                "backends.py:941",
                "Using cache directory: /root/.cache/vllm/torch_compile_cache/1c6cc7b8ad/rank_0_0/backbone for vLLM's torch.compile",
            )
            self.worker.info("backends.py:1001", "Dynamo bytecode transform time: 8.42 s")
            self.pause(0.2)
            self.worker.info("backends.py:353", "Compiling a graph for compile range (1, 8192) takes 21.10 s")
            self.worker.info("monitor.py:48", "torch.compile took 31.20 s in total")
        self.pause(0.2)
        self._fail("profile", self.worker)
        room = failures.cache_gib(self.settings)
        self.worker.info("gpu_worker.py:378", f"Available KV cache memory: {room:.2f} GiB")
        self._fail("cache", self.core)
        tokens = max(int(room * 28123), 16384)
        self.core.info("kv_cache_utils.py:2327", f"GPU KV cache size: {tokens:,} tokens")
        ratio = tokens / self.settings.context
        self.core.info(
            "kv_cache_utils.py:2332",
            f"Maximum concurrency for {self.settings.context:,} tokens per request: {ratio:.2f}x",
        )

    def _capture(self) -> None:
        sizes = _sizes(self.settings.given.get("compilation_config"))
        for kind in ("mixed prefill-decode, PIECEWISE", "decode, FULL"):
            for percent in (0, 37, 74, 100):
                done = sizes * percent // 100
                log.write(
                    f"Capturing CUDA graphs ({kind}): {percent:3d}%|{'█' * (percent // 10):<10}| {done}/{sizes} [00:05<00:00,  8.56it/s]"
                )
                if percent:
                    self._fail("capture", self.worker)
                self.pause(0.06)
        self.worker.info("gpu_model_runner.py:4402", "Graph capturing finished in 21 secs, took 1.74 GiB")


def _sizes(config: Any) -> int:
    listed = config.get("cudagraph_capture_sizes") if isinstance(config, dict) else None
    return len(listed) if isinstance(listed, list) else CAPTURE_SIZES


def give_up(error: StartError) -> int:
    """The API server's own trace, then exit 1."""
    log.Speaker("APIServer").error("api_server.py:1410", "Traceback (most recent call last):")
    sys.stderr.write(f"{error}\n")
    sys.stderr.flush()
    return 1
