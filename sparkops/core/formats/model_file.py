"""A model file of recipes.vllm.ai as that site reads it for DGX Spark: which variant, features and strategies.

Source: vllm-project/recipes, September 2026 (CLAUDE.md, taxonomy.yaml, src/lib/command-synthesis.js).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sparkops.core import schema
from sparkops.core.formats import parts
from sparkops.core.formats.parts import Entries
from sparkops.core.schema import Located

GB10 = "dgx_spark_gb10"
KEYS = (GB10, "blackwell", "nvidia", "default")
"""What a GB10 is called in maps by hardware, the most exact first; the first one present counts."""

MEMORY_GB = 128
"""The memory of a GB10 in the site's taxonomy, which it compares with `vram_minimum_gb`."""

EXPERTS = ("--enable-expert-parallel",)
ALONE = {"single_node_tp": (), "single_node_tep": EXPERTS, "single_node_dep": EXPERTS}
OVER_NODES = {"multi_node_tp": (), "multi_node_tep": EXPERTS}
"""Strategies that GB10s can run, with their flags. Parallel sizes come from the topology; `fuse_allreduce_rms`, which
the site switches off over nodes, exists only on Hopper and B200."""

_NVIDIA = re.compile(r"[abhlv]\d|g[bh]\d|rtx|dgx|jetson|arch:sm")
"""How the site names NVIDIA's hardware."""


@dataclass(frozen=True)
class Selection:
    """What a name asks for behind `#`, as `VARIANT+FEATURE:MODE`; without a variant, the usual one."""

    variant: str
    features: Mapping[str, str]

    @staticmethod
    def of(name: str) -> "Selection":
        variant, *features = name.partition("#")[2].split("+")
        pairs = (feature.partition(":") for feature in features)
        return Selection(variant, {feature: mode for feature, _, mode in pairs})


@dataclass(frozen=True)
class RecipesFile:
    """A file and what is chosen of it; the methods fail with file and line if a GB10 cannot run it."""

    entries: Entries
    asked: Selection

    @cached_property
    def variants(self) -> dict[str, Entries]:
        return {name: inner(self.entries, "variants", name) for name in inner(self.entries, "variants")}

    @cached_property
    def chosen(self) -> str:
        """The variant that was asked for; else the one with settings for GB10, the largest that one node holds."""
        place, wanted = self.entries["variants"], self.asked.variant
        if wanted and wanted not in self.variants:
            schema.fail(place, "variants", f"no such variant: {wanted}{schema.did_you_mean(wanted, self.variants)}")
        reasons = {name: unfit(one) for name, one in self.variants.items()}
        if wanted and reasons[wanted]:
            schema.fail(place.value[wanted], f"variants.{wanted}", f"does not run on a GB10: {reasons[wanted]}")
        fit = [name for name, reason in reasons.items() if not reason]
        if not fit:
            said = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            schema.fail(place, "variants", f"none runs on a GB10: {said}" if said else "there is none")
        return wanted or self._usual(fit)

    def _usual(self, fit: list[str]) -> str:
        documented = [name for name in fit if not self.untested(name)] or fit
        tuned = [name for name in documented if GB10 in inner(self.variants[name], "hardware_overrides")]
        among = tuned or documented
        small = [name for name in among if self.memory(name) <= MEMORY_GB]
        return max(small, key=self.memory) if small else min(among, key=self.memory)

    @property
    def variant(self) -> Entries:
        return self.variants[self.chosen]

    def memory(self, variant: str) -> int:
        """GB of all GPUs together that a variant needs, as its authors say; 0 if they do not."""
        given = self.variants[variant].get("vram_minimum_gb")
        if given is not None and isinstance(given.value, float):
            return math.ceil(given.value)
        return parts.count(self.variants[variant], "vram_minimum_gb") or 0

    def untested(self, variant: str) -> str:
        """The hardware that the authors list for a variant, if GB10 is not among it."""
        listed = parts.words(self.variants[variant], "supported_hardware")
        return ", ".join(listed) if listed and GB10 not in listed else ""

    def strategy(self, known: Mapping[str, tuple[str, ...]]) -> str | None:
        """The one of these strategies that the site takes on a GB10: the file's default, else the first known."""
        usual = (parts.text(self.entries, "default_strategy") or "").partition("_node_")[2]
        names = sorted(known, key=lambda name: not name.endswith(f"_node_{usual}"))
        return next((name for name in names if self._offered(name)), None)

    def _offered(self, strategy: str) -> bool:
        said = keyed(inner(self.entries, "strategy_hardware", strategy))
        if said is not None:
            return schema.text(said) != "unsupported"
        return strategy in parts.words(self.entries, "compatible_strategies")

    def least_gpus(self, strategy: str) -> int:
        """How many GPUs the file wants for a strategy at least."""
        given = self.entries.get("strategy_min_gpus")
        if given is None or not isinstance(given.value, Mapping):
            return parts.count(self.entries, "strategy_min_gpus") or 1
        bars, own = inner(self.entries, "strategy_min_gpus"), given.value.get(GB10)
        exact = bars if own is None or not isinstance(own.value, Mapping) else inner(bars, GB10)
        return max(parts.count(bars, strategy) or 1, parts.count(exact, strategy if exact is not bars else GB10) or 1)

    @cached_property
    def off(self) -> tuple[str, ...]:
        """The features that are off unless they are asked for."""
        names = parts.words(self.entries, "opt_in_features")
        names += parts.words(inner(self.entries, "hardware_opt_in_features"), GB10)
        forced = inner(self.variant, "default_modes")
        return tuple(name for name in dict.fromkeys(names) if name not in forced and name in self.features)

    @cached_property
    def features(self) -> dict[str, Entries]:
        return {name: inner(self.entries, "features", name) for name in inner(self.entries, "features")}

    def active(self, strategy: str) -> Iterator[Entries]:
        """Arguments and variables of each feature that is on, as a GB10 gets them."""
        for wanted in self.asked.features:
            if wanted not in self.features:
                place = self.entries.get("features") or self.entries["variants"]
                near = schema.did_you_mean(wanted, self.features)
                schema.fail(place, "features", f"no such feature: {wanted}{near}")
        for name, feature in self.features.items():
            allowed = parts.words(feature, "strategies")
            if (name in self.off and name not in self.asked.features) or (allowed and strategy not in allowed):
                continue
            if "modes" not in feature:
                yield on_gb10(feature)
            elif mode := self._mode(name, feature):
                yield on_gb10(inner(feature, "modes", mode))

    def _mode(self, name: str, feature: Entries) -> str | None:
        """The mode of a feature: the one asked for, the variant's, the feature's, else the first possible one."""
        possible = [mode for mode in inner(feature, "modes") if self._possible(inner(feature, "modes", mode))]
        asked = self.asked.features.get(name)
        if asked and asked not in possible:
            near = schema.did_you_mean(asked, possible)
            schema.fail(feature["modes"], f"features.{name}.modes", f"no such mode here: {asked}{near}")
        usual = parts.text(inner(self.variant, "default_modes"), name), parts.text(feature, "default_mode")
        return next((mode for mode in (asked, *usual, *possible) if mode in possible), None)

    def _possible(self, mode: Entries) -> bool:
        variants, hardware = parts.words(mode, "variants"), inner(mode, "hardware")
        refused = any(parts.text(hardware, key) == "unsupported" for key in KEYS)
        return not refused and (not variants or self.chosen in variants)


def inner(entries: Entries, *path: str) -> Entries:
    """The mapping at a path of keys; empty if there is none."""
    for depth, key in enumerate(path, 1):
        entries = parts.mapping(entries[key], ".".join(path[:depth])) if key in entries else {}
    return entries


def keyed(entries: Entries) -> Located | None:
    """The value of a map by hardware that counts for a GB10."""
    return next((entries[key] for key in KEYS if key in entries and entries[key].value is not None), None)


def on_gb10(part: Entries) -> Entries:
    """A feature or mode with its settings for a GB10 in place of its own."""
    own = keyed(inner(part, "hardware_overrides"))
    return {**part, **parts.mapping(own, "hardware_overrides")} if own is not None else part


def unfit(variant: Entries) -> str:
    """Why a GB10 cannot serve a variant; empty if it can."""
    wanted = inner(variant, "precision_hardware")
    for key, ours in (("brand", "NVIDIA"), ("generation", "blackwell")):
        if (said := parts.text(wanted, key)) and said.lower() != ours.lower():
            return f"needs hardware of {said}"
    listed = parts.words(variant, "supported_hardware")
    if listed and not any(_NVIDIA.match(one) for one in listed):
        return f"is only for {', '.join(listed)}"
    return ""
