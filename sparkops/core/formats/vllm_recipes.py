"""Model files of recipes.vllm.ai (vllm-project/recipes): the command that the site builds for DGX Spark.

A GB10 has one GPU, so the tensor parallel size of the site is the number of nodes, which the topology decides.
"""

import math
from collections.abc import Iterator
from typing import Any

from sparkops.core import models, schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import carried, parts
from sparkops.core.formats.commandline import Serving
from sparkops.core.formats.model_file import ALONE, GB10, MEMORY_GB, OVER_NODES, RecipesFile, Selection, inner, keyed
from sparkops.core.formats.model_file_command import image, served
from sparkops.core.formats.parts import Entries
from sparkops.core.recipe import Caveat, Foreign, Layer, Metadata, Nodes, Recipe, Setting, Settings
from sparkops.core.schema import Located

SCHEMA = "recipes.vllm.ai"
READ = (
    *("meta", "model", "dependencies", "features", "opt_in_features", "hardware_opt_in_features", "variants"),
    *("compatible_strategies", "default_strategy", "strategy_hardware", "strategy_min_gpus", "strategy_overrides"),
    *("hardware_overrides", "hardware_notes", "guide", "omni", "kv_offload_support", "kv_cache_strategy_hardware"),
)
HEADROOM = 1.2
"""`vram_minimum_gb` is the size of the weights times this (CONTRIBUTING.md of vllm-project/recipes)."""


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe from a model file; `name` may end in `#VARIANT+FEATURE:MODE`. Fails if a GB10 cannot run it."""
    entries = parts.mapping(document)
    for key in ("model", "variants"):
        if not inner(entries, key):
            schema.fail(entries.get(key, document), key, "is required, as a mapping")
    _refuse_other(entries)
    file = RecipesFile(entries, Selection.of(name))
    alone, over, nodes, left = _strategies(file)
    ways = {kind: served(file, one, flags) for kind, one in (("solo", alone), ("cluster", over)) if one}
    found, env = next(iter(ways.values()))
    layers = {kind: _layer((found, env), other) for kind, other in list(ways.items())[1:]}
    caveats = (*left, *_untested(file), *_before(entries), *_beside(file, [one for one in (alone, over) if one]))
    told = dict.fromkeys(caveat for way, _ in ways.values() for caveat in way.caveats)
    foreign = Foreign(SCHEMA, found.words, {}, (*caveats, *told, *carried.unknown(entries, READ)), found.program)
    container, places = image(file), {key: value.where for key, value in entries.items()}
    return Recipe(
        name=name,
        source=document.file,
        model=found.model,
        container=schema.text(container, "docker_image"),
        flags=flags,
        args=found.args,
        env=env,
        metadata=_metadata(file),
        only=tuple(ways) if len(ways) == 1 else (),
        nodes=nodes,
        topologies=layers,
        foreign=foreign,
        places={**places, "container": container.where},
    )


def _refuse_other(entries: Entries) -> None:
    """Fail for a model that needs another engine or that its authors could not run on a GB10."""
    meta = inner(entries, "meta")
    if "omni" in parts.words(meta, "tasks"):
        schema.fail(meta["tasks"], "meta.tasks", "the model is served by vLLM-Omni; sparkops serves with vLLM only")
    hardware = inner(meta, "hardware")
    if parts.text(hardware, GB10) == "unsupported":
        schema.fail(hardware[GB10], f"meta.hardware.{GB10}", "its authors say that it does not run on DGX Spark yet")


def _strategies(file: RecipesFile) -> tuple[str | None, str | None, Nodes, list[Caveat]]:
    """The strategies for one node and for several, the nodes needed, and what the file does not say."""
    alone, over, left = file.strategy(ALONE), file.strategy(OVER_NODES), list[Caveat]()
    memory = file.memory(file.chosen)
    place = file.entries.get("compatible_strategies", file.entries["variants"])
    if not (alone or over):
        said = ", ".join(parts.words(file.entries, "compatible_strategies")) or "none"
        schema.fail(place, "compatible_strategies", f"sparkops starts none of these strategies: {said}")
    if alone and (memory > MEMORY_GB or file.least_gpus(alone) > 1):
        if over is None:
            text = f"the file has no strategy over nodes; sparkops splits the model, because it needs {memory} GB"
            left.append(Caveat(place.where, text, instead="check the answers of the model before you rely on it"))
        alone, over = None, over or "multi_node_tp"
    least = 1 if alone else max(2, math.ceil(memory / MEMORY_GB), file.least_gpus(over or ""))
    return alone, over, Nodes(least), left


def _layer(base: tuple[Serving, Settings], other: tuple[Serving, Settings]) -> Layer:
    """What the second way to serve changes."""
    return Layer(_beyond(base[0].args, other[0].args), _beyond(base[1], other[1]))


def _beyond(base: Settings, other: Settings) -> Settings:
    changed = {name: one for name, one in other.items() if name not in base or base[name].value != one.value}
    return {**changed, **{name: Setting(None, one.origin) for name, one in base.items() if name not in other}}


def _untested(file: RecipesFile) -> Iterator[Caveat]:
    if said := file.untested(file.chosen):
        text = schema.one_line(f"the authors list the variant {file.chosen} for {said}, not for DGX Spark")
        yield Caveat(file.variant["supported_hardware"].where, text)


def _before(entries: Entries) -> Iterator[Caveat]:
    """What the authors run on the machine before the container."""
    given = entries.get("dependencies")
    for item in schema.listed(given, "dependencies") if given is not None and given.value else ():
        step = parts.mapping(item, "dependencies")
        brand = step.get("brand")
        brands = (
            parts.words(step, "brand") if brand and isinstance(brand.value, tuple) else (parts.text(step, "brand"),)
        )
        needed = not parts.truth(step, "optional") and brands[0] in (None, "NVIDIA")
        if needed and "docker" in parts.words(step, "install_modes"):
            said = schema.one_line(f"sparkops does not run `{parts.text(step, 'command')}` on the node")
            yield Caveat(item.where, said, instead="run it yourself; models: `sparkops model fetch`")


def _beside(file: RecipesFile, strategies: list[str]) -> Iterator[Caveat]:
    """Programs that a feature runs beside the engine, and features that were asked for but that a strategy lacks."""
    for feature in file.active(strategies[0]):
        if command := parts.text(inner(feature, "companion"), "command"):
            said = schema.one_line(f"sparkops does not run `{command}` beside the engine")
            yield Caveat(feature["companion"].where, said, True, "leave the feature out in a recipe of your own")
    for name in file.asked.features:
        allowed = parts.words(file.features[name], "strategies")
        kinds = [
            "one node" if one in ALONE else "several nodes" for one in strategies if allowed and one not in allowed
        ]
        if kinds:
            said = f"the feature {name} stays off on {' and '.join(kinds)}: the file does not list it there"
            yield Caveat(file.features[name]["strategies"].where, said)


def _metadata(file: RecipesFile) -> Metadata:
    meta, model = inner(file.entries, "meta"), inner(file.entries, "model")
    memory, served = file.memory(file.chosen), parts.text(file.variant, "model_id") or parts.text(model, "model_id")
    known, tested = models.known(str(served)), parts.text(inner(meta, "hardware"), GB10) == "verified"
    described = (parts.text(meta, "description"), parts.text(file.variant, "description"))
    return Metadata(
        description=" ".join(str(described[0] or "").split()),
        source=(f"recipes.vllm.ai/{parts.text(model, 'model_id')}",),
        verified=parts.text(meta, "date_updated") or "",
        hardware="DGX Spark, verified by the authors" if tested else "",
        weights_gib=round(memory / HEADROOM * 1e9 / 2**30, 1) if memory and known is None else None,
        notes=tuple(_notes(file, described[1], model)),
    )


def _notes(file: RecipesFile, described: str | None, model: Entries) -> Iterator[str]:
    """What can be chosen in the file, and what its authors say about GB10."""
    yield f"variant {file.chosen}" + (f": {' '.join(described.split())}" if described else "")
    if others := [name for name in file.variants if name != file.chosen]:
        yield f"other variants: {', '.join(others)}; choose one with #NAME behind the recipe's name"
    if file.off:
        yield f"features that are off: {', '.join(file.off)}; switch one on with #{file.chosen}+NAME"
    if least := parts.text(file.variant, "min_vllm_version") or parts.text(model, "min_vllm_version"):
        yield f"needs vLLM {least} or newer"
    said: Any = keyed(inner(file.entries, "hardware_notes"))
    if said is not None and (body := parts.text(parts.mapping(said, "hardware_notes"), "body")):
        yield " ".join(body.split())
