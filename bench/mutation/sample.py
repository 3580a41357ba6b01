"""Mutants, and a sample of them that is kept.

Each is known by its module, its function and the lines that it changes, so that the sample outlives other changes.
"""

import ast
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from difflib import ndiff
from hashlib import sha256
from pathlib import Path
from typing import Any

import libcst
from mutmut.mutation.file_mutation import Mutation, create_mutations
from mutmut.utils.file_utils import walk_mutatable_files

SAMPLE = Path("bench/mutation/sample.jsonl")
SEED = 2026


@dataclass(frozen=True)
class Mutant:
    path: str
    function: str
    was: str
    now: str
    nth: int
    """Of those in this function that read the same."""

    @property
    def id(self) -> str:
        return sha256("\n".join(map(str, asdict(self).values())).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Found:
    mutant: Mutant
    path: str
    """Where its function is now."""
    text: str
    """The whole module with the mistake in it."""
    lines: tuple[int, int]
    """Of its function."""


class Module:
    """One file and all that mutmut would change in its functions."""

    def __init__(self, path: str) -> None:
        self.path, text = path, Path(path).read_text(encoding="utf-8")
        self.tree, found, *_ = create_mutations(path, text)
        self.names = dict(_functions(self.tree.body))
        self.found = [one for one in found if one.contained_by_top_level_function in self.names]
        self.lines = dict(_lines(ast.parse(text).body))

    def of(self, function: str) -> dict[Mutant, Mutation]:
        seen: Counter[tuple[str, str]] = Counter()
        named: dict[Mutant, Mutation] = {}
        for one in self.found:
            body = one.contained_by_top_level_function
            if body and self.names[body] == function:
                changed = _changed(body, body.deep_replace(one.original_node, one.mutated_node))
                named[Mutant(self.path, function, *changed, seen[changed])] = one
                seen[changed] += 1
        return named

    def with_(self, one: Mutation) -> str:
        return str(self.tree.deep_replace(one.original_node, one.mutated_node).code)  # type: ignore[union-attr]


def group(path: str) -> str:
    """A package whose functions are pure, or one module of `remote`."""
    first, *rest = Path(path).relative_to("sparkops").parts
    return "/".join([first, *rest]) if first == "remote" else first


def draw(count: int) -> None:
    """From every group in proportion to its mutants."""
    groups: dict[str, list[tuple[Module, Mutation]]] = defaultdict(list)
    for path in sorted(map(str, walk_mutatable_files())):
        module = Module(path)
        groups[group(path)] += [(module, one) for one in module.found]
    total, dice = sum(map(len, groups.values())), random.Random(SEED)
    with SAMPLE.open("w", encoding="utf-8") as file:
        for of in groups.values():
            for module, chosen in dice.sample(of, round(count * len(of) / total)):
                named = module.of(module.names[chosen.contained_by_top_level_function])  # type: ignore[index]
                (mutant,) = (mutant for mutant, one in named.items() if one is chosen)
                file.write(json.dumps({"id": mutant.id, **asdict(mutant)}, ensure_ascii=False) + "\n")
    print(f"of {total} mutants:", {name: len(of) for name, of in groups.items()})


def read() -> list[Mutant]:
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    return [Mutant(**{key: value for key, value in row.items() if key != "id"}) for row in rows]


def find(mutants: list[Mutant]) -> Iterator[Found]:
    """Those that are still there: in their module, or else in the first that has the function and the lines."""
    left = dict.fromkeys(mutants)
    homes = [(path, True) for path in dict.fromkeys(mutant.path for mutant in mutants) if Path(path).exists()]
    others = ((str(path), False) for path in sorted(walk_mutatable_files()))
    for path, home in (*homes, *others):
        wanted = {replace(one, path=path): one for one in left if not home or one.path == path}
        for found in _found(path, wanted) if wanted else ():
            del left[found.mutant]
            yield found


def _found(path: str, wanted: dict[Mutant, Mutant]) -> Iterator[Found]:
    module = Module(path)
    for function in dict.fromkeys(one.function for one in wanted if one.function in module.lines):
        for mutant, one in module.of(function).items():
            if mutant in wanted:
                yield Found(wanted[mutant], path, module.with_(one), module.lines[function])


def _functions(body: Any, within: str = "") -> Iterator[tuple[Any, str]]:
    for node in body:
        if isinstance(node, libcst.FunctionDef):
            yield node, within + node.name.value
        elif isinstance(node, libcst.ClassDef) and not within:
            yield from _functions(node.body.body, node.name.value + ".")


def _lines(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(one.lineno for one in (node, *node.decorator_list))
            yield within + node.name, (first, node.end_lineno or first)
        elif isinstance(node, ast.ClassDef) and not within:
            yield from _lines(node.body, node.name + ".")


def _changed(*bodies: Any) -> tuple[str, str]:
    """The lines that differ, each side as one."""
    rows = list(ndiff(*(libcst.Module([body]).code.strip().split("\n") for body in bodies)))
    was, now = ([row[2:].strip() for row in rows if row[0] == sign] for sign in "-+")
    return " ⏎ ".join(was), " ⏎ ".join(now)
