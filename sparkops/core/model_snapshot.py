"""One revision of a model as the hub or a directory shows it, before any weights are downloaded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sparkops.core import model_config
from sparkops.core.model_config import Config
from sparkops.core.models import Architecture
from sparkops.errors import UsageError

CONFIG = "config.json"
TEXTS = (CONFIG, "tokenizer_config.json", "chat_template.jinja", "hf_quant_config.json")
"""The small files that are read."""

_WORD = re.compile(r"[\w.-]{1,80}", re.ASCII)
_POOLING = ("modules.json", "config_sentence_transformers.json")
"""Files of models that answer with embeddings or scores (sentence-transformers)."""


@dataclass(frozen=True)
class ModelSnapshot:
    """`files` has the size of each file in bytes, `texts` the content of the small ones that exist.

    `origin` says where they were read, `commit` is empty for a directory that does not say it, `revision` is the one
    that was asked for.
    """

    model: str
    origin: str
    commit: str
    files: Mapping[str, int]
    texts: Mapping[str, str]
    revision: str = ""

    @cached_property
    def config(self) -> Config:
        """Raises UsageError if there is no readable `config.json`."""
        if CONFIG not in self.texts:
            raise UsageError(f"{self.model} has no {CONFIG} at {self.origin}", hint=self._instead())
        return self._json(CONFIG)

    @cached_property
    def weights_bytes(self) -> int:
        """Raises UsageError if no file is one of weights."""
        if size := model_config.weights_bytes(self.files):
            return size
        raise UsageError(f"{self.model} has no weights that vLLM loads at {self.origin}", hint=self._instead())

    @property
    def weights_gib(self) -> float:
        return self.weights_bytes / 2**30

    @cached_property
    def architecture(self) -> Architecture | str:
        """The architecture, or why it is not known."""
        try:
            return model_config.architecture(self.config)
        except ValueError as error:
            return str(error)

    @property
    def types(self) -> tuple[str, ...]:
        """The values of `model_type`, of the whole model and of its language model."""
        found = (one.get("model_type") for one in (self.config, model_config.text_part(self.config)))
        return tuple(dict.fromkeys(word for one in found if (word := _word(one))))

    @property
    def class_name(self) -> str:
        """The name of the model's class, which vLLM looks up; empty if it is not said."""
        classes = self.config.get("architectures")
        return _word(classes[0]) if isinstance(classes, list) and classes else ""

    @property
    def quantisation(self) -> str:
        name = "hf_quant_config.json"
        return model_config.quantisation(self.config, self._json(name) if name in self.texts else None)

    @property
    def moe(self) -> bool:
        return model_config.is_moe(self.config)

    @property
    def multimodal(self) -> bool:
        return any(isinstance(self.config.get(key), Mapping) for key in ("vision_config", "audio_config"))

    @property
    def pooling(self) -> bool:
        """Whether the model answers with embeddings or scores instead of text."""
        return any(name in self.files for name in _POOLING) or self.class_name.endswith("ForSequenceClassification")

    @property
    def own_code(self) -> bool:
        """Whether the model brings Python code, which runs only with --trust-remote-code."""
        return isinstance(self.config.get("auto_map"), Mapping)

    @cached_property
    def template(self) -> str | None:
        """The chat template; None if no file has one."""
        if "chat_template.jinja" in self.texts:
            return self.texts["chat_template.jinja"]
        name = "tokenizer_config.json"
        found = self._json(name).get("chat_template") if name in self.texts else None
        if isinstance(found, list):
            found = "\n".join(str(one.get("template")) for one in found if isinstance(one, Mapping))
        return found if isinstance(found, str) and found else None

    def _json(self, name: str) -> Config:
        try:
            return model_config.read(self.texts[name])
        except ValueError as error:
            told = f"{self.model}: {name} at {self.origin} {error}"
            raise UsageError(told, hint="get the file again, or name another revision: --revision REF") from None

    def _instead(self) -> str:
        if any(name.endswith(".gguf") for name in self.files):
            return "it has files for llama.cpp (GGUF); name the model that they were made from, in safetensors"
        if "adapter_config.json" in self.files:
            return "it is a LoRA adapter; name the model that it changes, and add the adapter with lora-modules"
        return "name a model in the format of transformers: config.json and *.safetensors"


def _word(value: Any) -> str:
    """A name from a file, or an empty text if it is not one plain word."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
