"""Command, variables and image of a model file of recipes.vllm.ai, in the order in which the site adds them.

The model's own arguments come first, then the variant's, the strategy's, those of the hardware and the features'; the
last of several equal flags counts.
"""

import shlex
from collections.abc import Iterator

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import command_text, parts
from sparkops.core.formats.commandline import Lines, Serving
from sparkops.core.formats.model_file import ALONE, GB10, KEYS, OVER_NODES, RecipesFile, inner, keyed
from sparkops.core.formats.parts import Entries
from sparkops.core.recipe import Caveat, Setting
from sparkops.core.schema import Located

ARGS = ("base_args", "extra_args", "vllm_args", "args")
ENV = ("base_env", "extra_env", "env")
CUDA = ("cu130", "cu129")
"""Builds of an image, the one for GB10 first."""


def served(file: RecipesFile, strategy: str, flags: FlagTable) -> tuple[Serving, dict[str, Setting]]:
    """The engine and its variables under a strategy."""
    env: dict[str, Setting] = {}
    left: list[Caveat] = []
    for layer in _layers(file, strategy):
        for key in ENV:
            given, dropped = parts.env({"env": layer[key]} if key in layer else {})
            env |= given
            left += dropped
    rows = [(number, shlex.quote(word)) for number, word in _words(file, strategy)]
    model = inner(file.entries, "model")
    said = file.variant.get("model_id") or model.get("model_id")
    if said is None:
        schema.fail(file.entries["model"], "model.model_id", "is required")
    own = inner(file.variant, "hardware_overrides", GB10)
    start = parts.text(own, "docker_serve_command") or "vllm serve"
    rows = [(said.line, f"{start} {shlex.quote(schema.text(said, 'model_id'))}"), *rows]
    numbers = [number for number, text in rows for _ in range(text.count("\n") + 1)]
    text = " \\\n".join(text for _, text in rows)
    found = command_text.served(text, Lines(said.file, tuple(numbers)), flags, env, "args")
    found.caveats += left
    return found, {**env, **found.env}


def _layers(file: RecipesFile, strategy: str) -> Iterator[Entries]:
    """What adds arguments and variables, in the site's order."""
    entries, variant = file.entries, file.variant
    own = inner(variant, "hardware_overrides")
    special = inner(entries, "strategy_overrides", strategy)
    yield from (inner(entries, "model"), variant, inner(own, GB10))
    place = entries.get("compatible_strategies", entries["variants"])
    words = tuple(Located(word, place.file, place.line) for word in {**ALONE, **OVER_NODES}[strategy])
    yield from ({"args": Located(words, place.file, place.line)}, special)
    instead = _family(inner(special, "hardware_overrides"))
    yield from [instead] if instead else [_family(inner(entries, "hardware_overrides")), _family(own)]
    yield from (
        inner(one, GB10) for one in (inner(entries, "hardware_overrides"), inner(special, "hardware_overrides"))
    )
    yield _frontend(entries)
    yield from file.active(strategy)


def _family(entries: Entries) -> Entries:
    """The settings for all GPUs like GB10: of the generation, else of the brand."""
    return next((inner(entries, key) for key in KEYS[1:3] if key in entries), {})


def _frontend(entries: Entries) -> Entries:
    """The variable for the API server that the authors chose; it is a word, or a map by hardware."""
    said = inner(entries, "model").get("default_frontend")
    said = keyed(parts.mapping(said)) if said is not None and isinstance(said.value, dict) else said
    if said is None or schema.text(said, "model.default_frontend") != "rust":
        return {}
    one = Located("1", said.file, said.line)
    return {"env": Located({"VLLM_USE_RUST_FRONTEND": one}, said.file, said.line)}


def _words(file: RecipesFile, strategy: str) -> Iterator[tuple[int, str]]:
    """Each word of the command behind the model, with its line."""
    for layer in _layers(file, strategy):
        for key in ARGS:
            for index, item in enumerate(schema.listed(layer[key], key) if key in layer else ()):
                word = item.text if isinstance(item.value, bool) else schema.text(item, f"{key}[{index}]")
                yield item.line, str(word)


def image(file: RecipesFile) -> Located:
    """The image for GB10, of the variant, or of the model; else vLLM's own."""
    own, model = inner(file.variant, "hardware_overrides", GB10), inner(file.entries, "model")
    for part in (own, file.variant, model):
        if (found := _nvidia(part.get("docker_image"))) is not None:
            return found
    nightly = any(parts.truth(part, "nightly_required") for part in (file.variant, model))
    place = file.entries["model"]
    return Located(f"vllm/vllm-openai:{'nightly' if nightly else 'latest'}", place.file, place.line)


def _nvidia(given: Located | None) -> Located | None:
    """An image name; also from a map by brand, by CUDA version, or both."""
    while given is not None and isinstance(given.value, dict):
        given = next((given.value[key] for key in ("nvidia", *CUDA) if key in given.value), None)
    return None if given is None or given.value is None else given
