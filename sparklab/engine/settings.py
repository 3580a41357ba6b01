"""The options of one `vllm serve`, its model and its node."""

import os
from typing import Any

from sparklab import files
from sparklab.layout import here

OFFLINE = (
    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
    "files.\nCheck your internet connection or see how to run the library in offline mode at "
    "'https://huggingface.co/docs/transformers/installation#offline-mode'."
)
NOT_CACHED = (
    "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the "
    "specified revision on the local disk and outgoing traffic has been disabled. To enable repo look-ups and "
    "downloads online, pass 'local_files_only=False' as input."
)


class Settings:
    """The parsed flags with the engine's defaults."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.node = here()
        self.build = os.environ.get("SPARKLAB_KIND", "vllm")
        self.model: str = given.get("model") or given.get("model_tag") or "Qwen/Qwen3-0.6B"
        self.names: list[str] = given.get("served_model_name") or [self.model]
        self.host: str = given.get("host") or "0.0.0.0"
        self.port: int = given.get("port", 8000)
        self.tp: int = given.get("tensor_parallel_size", 1)
        self.pp: int = given.get("pipeline_parallel_size", 1)
        self.dp: int = given.get("data_parallel_size", 1)
        self.nnodes: int = given.get("nnodes", 1)
        self.rank: int = given.get("node_rank", 0)
        self.headless: bool = bool(given.get("headless"))
        self.executor: str = given.get("distributed_executor_backend") or ("mp" if self.gpus > 1 else "uni")
        self.utilization: float = given.get("gpu_memory_utilization", 0.92)
        self.sequences: int = given.get("max_num_seqs", 256)
        self.config = _model_config(self.model, given.get("revision"))
        self._draft()
        self.longest = int(self.config.get("max_position_embeddings", 32768))
        self.context: int = given["max_model_len"] if given.get("max_model_len", -1) > 0 else self.longest
        self.eager: bool = bool(given.get("enforce_eager")) or self._no_graphs()
        keys = given.get("api_key") or [os.environ.get("VLLM_API_KEY", "")]
        self.api_keys = [key for key in keys if key]

    def _draft(self) -> None:
        """The draft model is opened when the engine reads its configuration; `ngram` needs none."""
        config = self.given.get("speculative_config") or {}
        draft = config.get("model")
        if draft and "ngram" not in (draft, config.get("method")):
            _model_config(draft, config.get("revision"))

    @property
    def world(self) -> int:
        """The ranks of one copy of the model."""
        return self.tp * self.pp

    @property
    def gpus(self) -> int:
        """Those of all data parallel copies."""
        return self.world * self.dp

    @property
    def is_moe(self) -> bool:
        return any((self.config.get(key) or 1) > 1 for key in ("num_experts", "num_local_experts", "n_routed_experts"))

    @property
    def mxfp4_layers(self) -> set[str]:
        return set(str(self.given.get("mxfp4_layers", "moe")).split(","))

    @property
    def is_mxfp4(self) -> bool:
        quantization = self.config.get("quantization_config", {}).get("quant_method")
        return "mxfp4" in (quantization, self.given.get("quantization"))

    @property
    def is_gpt_oss(self) -> bool:
        return self.config.get("model_type") == "gpt_oss"

    @property
    def weights_gib(self) -> float:
        return float(self.config.get("sparklab_gib", 8.0))

    @property
    def share_gib(self) -> float:
        """The weights of this rank; copies of a mixture of experts share the experts, nine tenths of them."""
        copies = self.dp if self.is_moe else 1
        return self.weights_gib * (0.1 + 0.9 / copies) / self.world

    def _no_graphs(self) -> bool:
        config = self.given.get("compilation_config")
        mode = config.get("cudagraph_mode", "") if isinstance(config, dict) else ""
        return str(mode).upper() == "NONE"


class StartError(Exception):
    """The engine cannot start: the trace's last lines."""


def _model_config(model: str, revision: str | None) -> dict[str, Any]:
    root = os.environ.get("SPARKOPS_ROOT", "/")
    if model.startswith("/"):
        path = os.path.join(root, model.lstrip("/"))
        found = files.read_json(os.path.join(path, "config.json"))
        if found is None:
            raise StartError(f"OSError: Can't load the configuration of '{model}'.")
        return _sized(found, path)
    hub = _hub(root)
    home = os.path.join(hub, f"models--{model.replace('/', '--')}")
    revision = revision or files.read(os.path.join(home, "refs", "main")).strip()
    snapshot = os.path.join(home, "snapshots", revision or "missing")
    found = files.read_json(os.path.join(snapshot, "config.json"))
    if found is None:
        raise StartError(NOT_CACHED if os.environ.get("HF_HUB_OFFLINE") == "1" else OFFLINE)
    return _sized(found, snapshot)


def _hub(root: str) -> str:
    if given := os.environ.get("HF_HUB_CACHE"):
        return os.path.join(root, given.lstrip("/"))
    home = os.environ.get("HF_HOME") or "/root/.cache/huggingface"
    return os.path.join(root, home.lstrip("/"), "hub")


def _sized(config: dict[str, Any], snapshot: str) -> dict[str, Any]:
    """Add the weights' real size in GiB and the number of shards; raise StartError if a shard is missing."""
    index = files.read_json(os.path.join(snapshot, "model.safetensors.index.json")) or {"weight_map": {}}
    shards = sorted(set(index["weight_map"].values()))
    missing = [shard for shard in shards if not os.path.exists(os.path.join(snapshot, shard))]
    if missing:
        raise StartError(f"OSError: {os.path.basename(snapshot)} does not appear to have a file named {missing[0]}.")
    total = sum(os.path.getsize(os.path.join(snapshot, shard)) for shard in shards)
    return config | {"sparklab_gib": total / 1024**3, "sparklab_shards": len(shards) or 1}


def arguments(settings: Settings) -> str:
    """What was given, as the log shows it: without the API key."""
    shown = dict(settings.given)
    if shown.pop("api_key", None):
        shown["api_key"] = "***"
    return str(shown)
