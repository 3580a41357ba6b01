"""The flags of `vllm serve`: one table for each version, and one spelling for every flag.

The engine accepts `_` for `-`, short forms, unique abbreviations, `--flag=value`, `--flag.key value` and `128k`, and
uses the last of several equal flags. Recipes can only be compared in one spelling.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from sparkops.core.schema import nearest
from sparkops.errors import UsageError

FORK = {
    "mxfp4-backend": ("auto", "MARLIN", "CUTLASS", "TRITON", "TRTLLM", "TRTLLM_MXFP8"),
    "mxfp4-layers": ("moe", "qkv", "o", "lm_head", "all"),
}
"""Flags that only the mxfp4 image has, with the words that they take."""

_B12X = (
    "gdn-decode-kernel recurrent-checkpoint-policy prefill-policy prefill-compute-share prefill-compute-half-life "
    "max-parallel-prefills max-num-prefill-tokens-per-step decode-refill-target"
)
ELSEWHERE = {
    **dict.fromkeys(FORK, "the mxfp4 image (vllm-node-mxfp4)"),
    **dict.fromkeys(_B12X.split(), "images of the b12x fork (vllm-node-b12x)"),
}
"""Flags that upstream lacks, and the images that have them."""

AS_MEMORY_ALLOWS = -1
"""The `--max-model-len` with which vLLM chooses the largest context that fits."""

PATCHED = {"gpu-memory-utilization-gb": "images with the gpu-mem-util-gb mod"}

VANISHED = {
    "swap-space": "vLLM removed this flag (no effect in the V1 engine); delete it",
    "disable-log-requests": "vLLM removed this flag; request logging is off unless you set --enable-log-requests",
    "num-scheduler-steps": "vLLM removed this flag together with the V0 engine; delete it",
    "use-v2-block-manager": "vLLM removed this flag together with the V0 engine; delete it",
    "preemption-mode": "vLLM removed this flag together with the V0 engine; delete it",
    "enable-reasoning": "vLLM removed this flag; --reasoning-parser alone enables reasoning",
    "guided-decoding-backend": "vLLM renamed this flag; use --structured-outputs-config.backend",
    "max-seq-len-to-capture": "vLLM renamed this flag; use --max-cudagraph-capture-size",
}

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG])")
_SCALE = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_NO_JSON = re.compile(r"-?\d+|[\w.-]+=.*|cpu|cuda(:\d+)?|null")
"""What vLLM also takes for flags of JSON: a level or NAME=VALUE (older versions), a device (`pt-load-map-location`)."""

LEAST_PERCENT = 5
"""A share of the memory from this number on is meant in percent, below 10 in tenths."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LEVEL = re.compile(r"-O=?(\d)")


@dataclass(frozen=True)
class Flag:
    """One option. `nargs` is as in argparse: "" takes one word, "0" none, "+" several, "?" none or one."""

    name: str
    aliases: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    nargs: str = ""
    negatable: bool = False
    repeats: bool = False
    type: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlagTable:
    """The options of one vLLM version, found by any of their names."""

    version: str
    flags: Mapping[str, Flag] = field(repr=False)
    exact: bool = False
    """Read from an image: a flag that is missing here is missing in the image."""
    image: str = ""
    fingerprint: str = ""

    @staticmethod
    def read(data: Mapping[str, Any]) -> "FlagTable":
        return FlagTable(data["version"], {name: _flag(name, entry) for name, entry in data["flags"].items()})

    @cached_property
    def _flags(self) -> Mapping[str, Flag]:
        """The table's flags and, unless it was read from an image, those of forks, which take one word."""
        return self.flags if self.exact else {**{name: Flag(name) for name in (*FORK, *PATCHED)}, **self.flags}

    @cached_property
    def _names(self) -> dict[str, str]:
        long = {alias: flag.name for flag in self._flags.values() for alias in (flag.name, *flag.aliases)}
        negated = {f"no-{name}": f"no-{target}" for name, target in long.items() if self._flags[target].negatable}
        return negated | long

    @cached_property
    def _short(self) -> dict[str, str]:
        return {short: flag.name for flag in self.flags.values() for short in flag.short}

    def find(self, name: str) -> Flag | None:
        """The flag of a canonical name, its `no-` form included."""
        target = self._names.get(name.partition(".")[0])
        if target is None:
            return None
        return self._flags.get(target) or Flag(target, nargs="0")

    def nearest(self, name: str, cutoff: float = 0.6) -> str | None:
        return nearest(name, self._names, cutoff)

    def canonical(self, word: str) -> str:
        """The one spelling of a flag: `--max_model_len`, `-tp`, `--max-model` and `max-model-len` each have one."""
        head, dot, rest = word.partition(".")
        name = head.lstrip("-").replace("_", "-")
        if head.startswith("-") and not head.startswith("--"):
            name = self._short.get(head[1:], name)
        elif name in self._names:
            name = self._names[name]
        elif head.startswith("--"):
            found = {target for known, target in self._names.items() if known.startswith(name)}
            name = found.pop() if len(found) == 1 else name
        return name + dot + rest

    def typed(self, name: str, value: Any, text: str | None = None) -> Any:
        """A value in its flag's type, so that `"2"`, `2` and `-tp=2` are equal settings."""
        if value is None or isinstance(value, (bool, Mapping)):
            return value
        known = self.find(name)
        several = known is not None and known.nargs == "+" and "." not in name
        if isinstance(value, (list, tuple)):
            return [_single(known, name, item, None) for item in value] if several else list(value)
        single = _single(known, name, value, text)
        return [single] if several else single

    def problem(self, name: str, value: Any) -> str | None:
        """Why a flag cannot have this value; None if it can or if the table does not tell."""
        known = self.find(name)
        if known is None or "." in name or value is None or value is False:
            return None
        if known.nargs == "0" and value is not True:
            return "must be true or false"
        if known.nargs == "" and value is True:
            return "needs a value"
        if isinstance(value, str) and (wanted := _not_of(known.type, value)):
            return f"must be {wanted}, not {value[:40]!r}"
        return _out_of_range(name, value) if isinstance(value, (int, float)) else None

    def walk(self, given: Iterable[str]) -> "Iterator[Given]":
        """The flags of a command line in order; a word that belongs to no flag has no name."""
        words, index = list(given), 0
        while index < len(words):
            at, word, index = index, words[index], index + 1
            if match := _LEVEL.fullmatch(word):
                yield Given(at, "optimization-level", match[1])
                continue
            if not _is_flag(word) or word == "--":
                yield Given(at, "", word)
                continue
            spelled, equals, value = word.partition("=")
            name = self.canonical(spelled)
            known = self.find(name)
            taken = [value] if equals else _values(words[index:], known)
            index += 0 if equals else len(taken)
            needed = not taken and known is not None and known.nargs not in ("0", "?") and "." not in name
            single = taken[0] if taken else True
            typed = self.typed(name, taken if known and known.nargs == "+" else single)
            yield Given(at, name, typed, f"--{name} needs a value" if needed else "")

    def parse(self, words: Iterable[str]) -> list[tuple[str, Any]]:
        """The flags of a command line in order; raises UsageError for a word that belongs to no flag."""
        found = []
        for given in self.walk(words):
            if not given.name:
                raise UsageError(f"{given.value!r} belongs to no vLLM flag: write each value directly after its flag")
            if given.problem:
                raise UsageError(given.problem)
            found.append((given.name, given.value))
        return found


@dataclass(frozen=True)
class Given:
    """One flag of a command line, its value and the `index` of its word; `name` is empty for a word without a flag."""

    index: int
    name: str
    value: Any
    problem: str = ""


def opposite(name: str) -> str:
    return name[3:] if name.startswith("no-") else f"no-{name}"


def rendered(table: FlagTable, name: str, value: Any) -> tuple[str, ...]:
    """One setting as words of a command line."""
    flag = f"--{name}"
    if value is None or value is False:
        return ()
    if value is True:
        return (flag,)
    known = table.find(name)
    if isinstance(value, (list, tuple)) and known and known.repeats:
        return tuple(word for item in value for word in (flag, _word(item)))
    if isinstance(value, (list, tuple)) and known and known.nargs in ("+", "*"):
        return (flag, *map(_word, value))
    return (flag, _word(value))


def _word(value: Any) -> str:
    """One word: numbers in one spelling, structures as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _not_of(kind: str, word: str) -> str:
    """What a flag of this type takes; empty if a text can be such a value."""
    if kind in ("int", "float"):
        return "a number"
    if kind == "size" and word != "auto":
        return "a number such as 32768 or 32k"
    return "JSON" if kind == "json" and not _NO_JSON.fullmatch(word) else ""


def _out_of_range(name: str, value: float) -> str | None:
    if name == "max-model-len" and value < 1 and value != AS_MEMORY_ALLOWS:
        return f"must be 1 or more, or {AS_MEMORY_ALLOWS} for as much as the memory allows, not {value:g}"
    if name.endswith("-parallel-size") and value < 1:
        return f"must be 1 or more, not {value}"
    if name == "gpu-memory-utilization" and not 0 < value <= 1:
        share = value / (10 if value < 10 else 100)
        meant = f"; did you mean {share:g}?" if LEAST_PERCENT <= value <= 100 else ""
        return f"must be a share of the memory, above 0 and at most 1, not {value:g}{meant}"
    return None


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Flag(name, **values)


def _single(known: Flag | None, name: str, value: Any, text: str | None) -> Any:
    if value is None or isinstance(value, (bool, Mapping, list)):
        return value
    word = text if text is not None else value if isinstance(value, str) else _word(value)
    return _loose(word) if "." in name else _typed(word, known.type if known else "", value)


def _typed(word: str, kind: str, value: Any) -> Any:
    if kind == "size" and (match := _SIZE.fullmatch(word)):
        return int(float(match[1]) * _SCALE[match[2]])
    if kind in ("int", "size"):
        digits = word.replace("_", "")
        return int(digits) if re.fullmatch(r"[-+]?\d{1,20}", digits) else word
    if kind == "float":
        return _finite(word)
    if word.lstrip()[:1] in ("{", "["):
        return _json(word)
    return word if isinstance(value, str) or "_" not in word else _word(value)


def amount(value: Any) -> float | None:
    """A number, also one in words such as `32k`: the tables do not tell the type of each flag that takes a size."""
    found = _typed(value, "size", value) if isinstance(value, str) else value
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _finite(word: str) -> float | str:
    try:
        number = float(word)
    except ValueError:
        return word
    return number if math.isfinite(number) else word


def _json(word: str) -> Any:
    try:
        return json.loads(word, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return word


def _loose(word: str) -> Any:
    """A value inside a JSON flag: JSON where it is JSON, else text, as the engine reads it."""
    return _json(word) if word in ("true", "false", "null") or word[:1] in '{["' or _NUMBER.fullmatch(word) else word


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)


def _values(words: list[str], known: Flag | None) -> list[str]:
    """The words behind a flag that belong to it: none, one, or all up to the next flag."""
    limit = {"0": 0, "+": None, "*": None}.get(known.nargs if known else "?", 1)
    return list(takewhile(lambda word: not _is_flag(word), words[:limit]))
