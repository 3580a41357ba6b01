"""Every model that a recipe opens, and where its setting stands; what fetches, checks and counts models starts here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core.effective import Effective
from sparkops.core.facts import Facts, Model, Unread
from sparkops.core.facts.models import Role
from sparkops.core.facts.probes import NOT_ASKED
from sparkops.core.model_name import ModelName, model_name
from sparkops.errors import UsageError

WITHOUT_MODEL = ("ngram", "ngram_gpu", "suffix", "extract_hidden_states", "custom_class")
"""Methods of speculative decoding that open no second model; `model` may then repeat the method or name a class."""

WITHOUT_WEIGHTS = ("*.safetensors", "*.bin")
"""Files that a download leaves out if only the tokenizer or the configuration is needed."""


@dataclass(frozen=True)
class NeededModel:
    """`flag` is the setting that names it, empty for the model that is served."""

    name: ModelName
    role: Role = "model"
    flag: str = ""

    @property
    def title(self) -> str:
        """Its role and name, for messages."""
        return f"the {self.role} {self.name.model}"

    @property
    def exclude(self) -> tuple[str, ...]:
        """Files that a download leaves out."""
        return WITHOUT_WEIGHTS if self.role in ("tokenizer", "configuration") else ()

    def found(self, facts: Facts) -> Model | Unread:
        """What the node has of it."""
        if self.role == "model":
            return facts.model
        return facts.models if isinstance(facts.models, Unread) else facts.models.get(self.name.model, NOT_ASKED)

    def exists(self, facts: Facts) -> bool:
        """Whether the node has any of it, or does not say that it has nothing."""
        model = self.found(facts)
        return isinstance(model, Unread) or model.present

    def usable(self, facts: Facts) -> Model | None:
        """What the node has if an engine can load it without the hub, else None."""
        model = self.found(facts)
        return model if isinstance(model, Model) and model.whole(self.role) and not self.nameless(model) else None

    def nameless(self, model: Model) -> bool:
        """Whether the cache lacks the branch that vLLM looks up; only the served model gets `--revision`."""
        return self.role != "model" and not (self.name.local or self.name.revision or "main" in model.refs)


def models(effective: Effective) -> tuple[NeededModel, ...]:
    """The model that is served, then the further ones."""
    served = ModelName(effective.model, effective.recipe.revision or "")
    return (NeededModel(served), *further(effective.model, {name: one.value for name, one in effective.args.items()}))


def draft(effective: Effective) -> str | None:
    """The name of the draft model."""
    return next((one.name.model for one in models(effective) if one.role == "draft model"), None)


def further(served: str, args: Mapping[str, Any]) -> tuple[NeededModel, ...]:
    """The models that these flags name beside the served one, each once."""
    found: dict[str, NeededModel] = {}
    for role, flag, text, revision in _named(args):
        if (name := _name(text, revision)) and name.model != served:
            found.setdefault(name.model, NeededModel(name, role, f"--{flag}"))
    return tuple(found.values())


def _named(args: Mapping[str, Any]) -> Iterator[tuple[Role, str, Any, Any]]:
    """Role, flag, name and revision of each model, in the order in which the roles need more of its files."""
    speculative = args.get("speculative-config")
    draft = speculative if isinstance(speculative, Mapping) else {}
    if draft.get("method") not in WITHOUT_MODEL:
        yield "draft model", "speculative-config", draft.get("model"), draft.get("revision")
    if args.get("spec-method") not in WITHOUT_MODEL:
        yield "draft model", "spec-model", args.get("spec-model"), None
    for path in _adapters(args.get("lora-modules")):
        yield "LoRA adapter", "lora-modules", path, None
    yield "tokenizer", "tokenizer", args.get("tokenizer"), args.get("tokenizer-revision")
    yield "configuration", "hf-config-path", args.get("hf-config-path"), None


def _adapters(value: Any) -> Iterator[Any]:
    """The paths of `NAME=PATH` and `{"name": NAME, "path": PATH}`."""
    for one in value if isinstance(value, list | tuple) else [value]:
        yield one.get("path") if isinstance(one, Mapping) else str(one or "").partition("=")[2]


def _name(text: Any, revision: Any) -> ModelName | None:
    """The name of a model on the hub or a path; None for anything else, such as `ngram` or a relative path."""
    if not isinstance(text, str) or not text or text in WITHOUT_MODEL:
        return None
    try:
        return model_name(f"{text}@{revision}" if revision and not text.startswith("/") else text)
    except UsageError:
        return None
