"""What was found, as a page."""

import platform
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from mutmut.configuration import config
from sample import SAMPLE, SEED, Mutant, group

EQUAL = Path("bench/mutation/equal.txt")
KINDS = ("killed", "timeout", "survived", "no tests", "gone")
ALIVE = ("survived", "no tests")
Verdicts = dict[str, dict[str, str]]


def report(mutants: list[Mutant], verdicts: Verdicts, page: str, tests: int) -> str:
    equal = dict(line.split(" ", 1) for line in EQUAL.read_text("utf-8").splitlines()) if EQUAL.exists() else {}
    found: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        found[verdicts.get(mutant.id, {"verdict": "gone"})["verdict"]].append(mutant)
    alive = [one for kind in ALIVE for one in found[kind]]
    made = f"Made by `python bench/mutation run {page}` from commit {_git()}"
    with_ = f"Python {platform.python_version()}, mutmut {version('mutmut')}, hypothesis {version('hypothesis')}"
    lines = [
        "# What the tests see of small mistakes",
        "",
        f"{made}, with {tests} tests, {with_}. The sample is `{SAMPLE}`, seed {SEED}.",
        "",
        *_table(mutants, verdicts, set(equal)),
        "",
        "- *killed*: a test fails; *timeout*: a test does not end within a minute",
        "- *survived*: two minutes of the tests that reach it see nothing, so the share is the least that it can be",
        "- *no tests*: no test reaches the function; *gone*: the code is not there any more",
        "- *share*: killed and timeout, of all that are not gone",
        f"- *without equals*: the same without the survivors that behave as the original does, as `{EQUAL}` says",
        "",
        "The tests:",
        "",
        "```",
        *config().pytest_add_cli_args_test_selection,
        "```",
        *_list("Survived", [one for one in alive if one.id not in equal]),
        *_list("Survived, and equal to the original", [one for one in alive if one.id in equal], equal),
        *_list("Timeout", found["timeout"], {id: f"in `{row['by']}`" for id, row in verdicts.items()}),
        *_list("Gone", found["gone"]),
    ]
    return "\n".join([*lines, ""])


def _table(mutants: list[Mutant], verdicts: Verdicts, equal: set[str]) -> Iterable[str]:
    yield f"| | mutants | {' | '.join(KINDS)} | share | without equals |"
    yield "|---|" + "--:|" * (len(KINDS) + 3)
    of: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        of[group(mutant.path)].append(mutant)
    for name, ones in [*of.items(), ("all", mutants)]:
        kinds = Counter(verdicts.get(one.id, {"verdict": "gone"})["verdict"] for one in ones)
        seen, there = kinds["killed"] + kinds["timeout"], len(ones) - kinds["gone"]
        same = sum(verdicts[one.id]["verdict"] in ALIVE for one in ones if one.id in equal and one.id in verdicts)
        cells = [len(ones), *(kinds[kind] for kind in KINDS), _share(seen, there), _share(seen, there - same)]
        yield f"| {name} | {' | '.join(map(str, cells))} |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _list(title: str, mutants: list[Mutant], notes: dict[str, str] | None = None) -> Iterable[str]:
    if mutants:
        yield from ("", f"## {title}: {len(mutants)}")
    for path, ones in groupby(sorted(mutants, key=lambda one: one.path), key=lambda one: one.path):
        yield from ("", f"### {path}", "")
        for one in ones:
            note = f" ({notes[one.id]})" if notes else ""
            yield f"- {one.id} `{one.function}`: {_code(one.was)} → {_code(one.now)}{note}"


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text or ' '}`"


def _git() -> str:
    done = subprocess.run(["git", "log", "-1", "--format=%h"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
