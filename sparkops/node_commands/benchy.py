"""The command line of llama-benchy 0.4."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkops.core.bench.suites import Point, Suite
from sparkops.core.build import BENCHY
from sparkops.core.plan import Command, Secret


@dataclass(frozen=True)
class BenchTarget:
    """What is measured. `url` ends with /v1; `tokenizer` is a directory or a tokenizer.json."""

    url: str
    model: str
    tokenizer: str
    coherence: bool = True


def words(suite: Suite, point: Point, target: BenchTarget) -> tuple[str, ...]:
    """The options for one point of a suite; `node/benchy.py` adds those for key, progress and result.

    Without `--model` and `--tokenizer` it would ask huggingface.co; without `--exit-on-first-fail` a failed request
    would exit with 0 and null metrics; without `--exact-tg` an answer could end early.
    """
    return (
        *("--base-url", target.url, "--model", target.model, "--served-model-name", target.model),
        *("--tokenizer", target.tokenizer),
        *("--pp", str(point.prompt), "--tg", str(point.answer), "--depth", str(point.depth)),
        *("--concurrency", str(point.concurrency), "--runs", str(suite.runs)),
        *("--exact-tg", "--exit-on-first-fail"),
        *(("--enable-prefix-caching",) if suite.prefix_caching else ()),
        *(() if target.coherence else ("--skip-coherence",)),
    )


@dataclass(frozen=True)
class Snapshot:
    """A model's folder in the cache of a node, and the snapshot that serves."""

    folder: str
    revision: str

    @property
    def tokenizer(self) -> str:
        return f"{self.folder}/snapshots/{self.revision}/tokenizer.json"


IMAGE = BENCHY
MODEL_INSIDE, BOOK_INSIDE = "/model", "/book.txt"


def in_container(script: str, words: Iterable[str], model: Snapshot, book: str | None, key: Secret) -> Command:
    """Run llama-benchy in a temporary container on a node; `script` is the text of `node/benchy.py`.

    `--init` forwards the signal that ends it with its client. Mount the whole folder: snapshots are links into it.
    """
    quiet = ("HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "NO_PROXY=*", "no_proxy=*")
    placed = (f"SPARKOPS_BOOK={BOOK_INSIDE}",) if book else ()
    return Command(
        (
            *("docker", "run", "--rm", "-i", "--init", "--network", "host", "--pull", "never", "--entrypoint="),
            *(word for setting in (*quiet, *placed) for word in ("-e", setting)),
            *("-v", f"{model.folder}:{MODEL_INSIDE}:ro"),
            *(("-v", f"{book}:{BOOK_INSIDE}:ro") if book else ()),
            *(IMAGE, "python3", "-c", script, *words),
        ),
        stdin=key,
        reads=True,
    )


def said(stderr: str) -> str:
    """stderr without Docker's pointer to its help."""
    return "\n".join(line for line in stderr.splitlines() if not re.fullmatch(r"(See|Run) 'docker .*--help'.*", line))


LISTS = {"pp": "prompts", "tg": "answers", "depth": "depths", "concurrency": "concurrency"}
"""The field of `Suite` for each list option of llama-benchy."""

SYNONYMS = {
    "input-len": "pp",
    "random-input-len": "pp",
    "prompt-tokens": "pp",
    "output-len": "tg",
    "random-output-len": "tg",
    "max-concurrency": "concurrency",
    "num-concurrency": "concurrency",
    "repetitions": "runs",
    "enable-prefix-caching": "prefix-caching",
}
"""The option of llama-benchy for options of `vllm bench serve`, llama-bench and recipes."""

ALWAYS_ON = ("exact-tg", "exit-on-first-fail")

REFUSED = {
    "url": "this benchmark measures the deployed recipe; for another URL: `sparkops bench run --url`",
    "base-url": "this benchmark measures the deployed recipe; for another URL: `sparkops bench run --url`",
    "num-prompts": "use `runs` instead: each run sends as many requests as `concurrency` says",
    "request-rate": "not supported: sparkops sends all requests of a run at once, not at a rate",
    "dataset-name": "not supported: sparkops makes prompts of exact lengths from a text",
    "dataset-path": "not supported: sparkops makes prompts of exact lengths from a text",
    "format": "not needed: `sparkops bench export` writes results in several formats",
    "save-result": "not needed: `sparkops bench export` writes results to files",
}
"""Options that a recipe's benchmark cannot have, and what to use instead."""


def options(words: Iterable[str]) -> dict[str, object]:
    """A recipe's words as options: `--concurrency 1 2 --exact-tg` is a list and a bare option."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in words:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            values = found.setdefault(name, [])
            values += [value] if value else []
        else:
            values.append(word)
    return {name: given or True for name, given in found.items()}


def adjusted(suite: Suite, options: Mapping[str, object]) -> tuple[Suite, tuple[str, ...]]:
    """The suite changed by options of llama-benchy or other tools, and a line for each unsupported option."""
    changed = dict(vars(suite))
    refused: list[str] = []
    for given, value in options.items():
        name = given.lstrip("-").replace("_", "-")
        name = SYNONYMS.get(name, name)
        numbers = tuple(_numbers(value))
        if name in LISTS and numbers:
            changed[LISTS[name]] = numbers
        elif name == "runs" and len(numbers) == 1:
            changed["runs"] = numbers[0]
        elif name == "prefix-caching" and str(value).lower() in ("true", "false"):
            changed["prefix_caching"] = str(value).lower() == "true"
        elif name in ALWAYS_ON and value is True:
            continue
        else:
            known = name in (*LISTS, "runs", "prefix-caching", *ALWAYS_ON)
            reason = f"{value} is not a valid value" if known else "sparkops knows no such benchmark option"
            refused.append(f"{given}: {REFUSED.get(name, reason)}")
    return Suite(**changed), tuple(refused)


def _numbers(value: object) -> Iterable[int]:
    """One number, a list, or words with spaces or commas between."""
    given = value if isinstance(value, (list, tuple)) else [value]
    words = [word for one in given for word in str(one).replace(",", " ").split()]
    found = [int(word) for word in words if word.isdecimal() and int(word) > 0]
    return found if len(found) == len(words) else []
