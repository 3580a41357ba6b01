"""What recipes, inventories, flags, locks and other texts are read as, or what they are refused with, to the letter.

Each file below `said` is a list of inputs with what comes of them (`support.golden.hold_blocks`).
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from sparkops.core import (
    condition,
    images,
    inventory_file,
    jobs,
    lockfile,
    models,
    needs,
    recipe_file,
    schema,
    topology,
)
from sparkops.core.condition import MemberContainer, ServingProbe
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.flags import FORK, VANISHED, rendered
from sparkops.core.inventory import Inventory, Node
from sparkops.core.recipe import Setting, put, written
from sparkops.core.schema import Located
from sparkops.files import recipes as load
from sparkops.files.yaml_positions import parse
from support import golden
from support.values import fields_said, told

SAID = Path(__file__).parent / "said"
TABLE = load.flag_table()


BASE = """model: m/x
container: img
args:
  max-model-len: 4096
  enforce-eager: true
  compilation-config: {cudagraph_mode: NONE, level: 3}
env: {A: 1, B: "0"}
mounts: [huggingface]
topologies:
  cluster:
    args: {max-model-len: 32768, max-num-seqs: 8}
    env: {A: 2}
"""


def recipes(block: str) -> str:
    """Files of a chain, the child first and `---` between them, over BASE where the last extends something.

    Then wishes: `$ TOPOLOGY --set KEY=VALUE -- WORDS`.
    """
    lines = block.splitlines()
    texts = [text for text in "\n".join(line for line in lines if line[:1] != "$").split("\n---\n") if text.strip()]
    if not texts or texts[-1].startswith("extends"):
        texts.append(BASE)
    chain = [
        (name, parse(f"{text}\n".encode(), f"{name}.yml"))
        for name, text in zip(("child", "parent", "grandparent"), texts, strict=False)
    ]
    recipe = recipe_file.read(chain, TABLE)
    shown = {
        key: value
        for key, value in fields_said(recipe).items()
        if key not in ("flags", "args", "env", "topologies", "places", "metadata")
    }
    whole = " ".join([*(f"{key}={told(value)}" for key, value in shown.items()), told(recipe.metadata)]).strip()
    asked = [line for line in lines if line.startswith("$")]
    own = [] if lines == asked else [whole, f"places {told(recipe.places)}", f"written {shlex.join(written(recipe))}"]
    return "\n".join([*own, *(golden.refusal(wish, recipe, line) for line in asked)])


def wish(recipe: Any, line: str) -> str:
    """What runs under a topology and a command line, and where each setting is from."""
    words, _, extra = line[2:].partition(" -- ")
    kind, *more = shlex.split(words)
    sets = tuple(word for word in more if word != "--set")
    found = effective(recipe, kind, Overrides(sets, tuple(shlex.split(extra))))  # type: ignore[arg-type]
    heading = f"{kind}: {found.image} serves {found.served_name}: {shlex.join(command_line(found))}"
    settings = [(f"--{name}", one) for name, one in found.args.items()] + list(found.env.items())
    return "\n".join([heading, *(f"  {name} {told(one.value)} from {one.origin}" for name, one in settings)])


def needed_models(line: str) -> str:
    """The models that a command line opens beside `acme/served`."""
    args: dict[str, Setting] = {}
    for name, value in TABLE.parse(shlex.split(line)):
        put(args, name, Setting(value, ""))
    found = needs.further("acme/served", {name: one.value for name, one in args.items()})
    return "; ".join(f"{one.role} {one.name} of {one.flag}" for one in found) or "nothing"


def inventories(block: str) -> str:
    """An inventory, and `$ LIMIT` to select nodes of it."""
    lines = block.splitlines()
    text = "\n".join(line for line in lines if not line.startswith("$ "))
    found = inventory_file.read(parse(f"{text}\n".encode(), "inv.yml"))
    whole = [told(node) for node in found.nodes]
    whole += [f"{key} {told(value)}" for key in ("groups", "recipe", "recipes") if (value := getattr(found, key))]

    chosen = [golden.refusal(selected, found, line[2:]) for line in lines if line.startswith("$ ")]
    return "\n".join([*whole, *(f"warning: {line}" for line in found.warnings), *chosen])


def selected(found: Inventory, limit: str) -> str:
    nodes = found.select(limit)
    return f"{limit}: {', '.join(node.name for node in nodes)}; recipe {golden.refusal(found.recipe_for, nodes)}"


def flags(line: str) -> str:
    """Words of a command line as settings, and those as words again, which are the same settings."""
    found = TABLE.parse(shlex.split(line))
    words = [word for name, value in found for word in rendered(TABLE, name, value)]
    assert TABLE.parse(words) == [(name, value) for name, value in found if value is not None]
    return f"{told(dict(found))}  {shlex.join(words)}"


def settings(line: str) -> str:
    name, _, value = line.partition(" ")
    typed = TABLE.typed(name, json.loads(value))
    return f"{told(typed)}  {TABLE.problem(name, typed) or shlex.join(rendered(TABLE, name, typed))}"


def topologies(line: str) -> str:
    """`TOPOLOGY OF NODES [proxies] [size N]`: who gets what part."""
    word, _, rest = line.partition(" of ")
    wanted = topology.parse(word.replace("(nothing)", ""))
    if not rest:
        return f"{wanted}: {told(wanted)}"
    many, *more = rest.split()
    nodes = tuple(Node(f"spark{n}", f"10.0.0.{n}") for n in range(1, int(many) + 1))
    size = int(more[-1]) if "size" in more else None
    placed = topology.place(wanted, nodes, proxy="all" if "proxies" in more else "first", size=size)
    parts = ", ".join(f"{one.node.name} {one.role} {one.rank}" for one in placed.places)
    kinds = {name: [one.node.name for one in getattr(placed, name)] for name in ("engines", "proxies")}
    assert [node.name for node in placed.nodes] == kinds["engines"]
    return f"{parts}; head {placed.head.node.name}, {told(kinds)}, span {placed.shape.span}, {told(placed.shape)}" + (
        f"; {placed.note}" if placed.note else ""
    )


PARTS = {
    "up": MemberContainer("node1", "server", True, "a", "running"),
    "ended": MemberContainer("node1", "server", True, "a", "exited"),
    "again": MemberContainer("node1", "server", True, "a", "restarting"),
    "paused": MemberContainer("node1", "server", True, "a", "paused"),
    "gone": MemberContainer("node1", "server", True, None, ""),
    "gave-up": MemberContainer("node1", "server", True, "a", "running", gave_up=True),
    "away": MemberContainer("node1", "server", False, None, ""),
}
HEARD = {
    "ready": ServingProbe("ready", health="200", answer="ok"),
    "loads": ServingProbe("wait", health="refused"),
    "mute": ServingProbe("wait", health="200"),
    "silent": ServingProbe("wait", health="silent"),
}
"""`mute` listens and nobody gets an answer: an engine that hangs, or a proxy before its servers."""


def conditions(line: str) -> str:
    """`PARTS / FRONTS / ENGINES`, the word for it, and what people read of each part."""
    parts, fronts, engines = (word.split() for word in line.split("/"))
    known = [PARTS[word] for word in parts]
    word = condition.condition(known, [HEARD[word] for word in fronts], [HEARD[word] for word in engines])
    return f"{word} (exit {condition.EXIT_CODES[word]}): {', '.join(part.shown for part in known)}"


def answers(block: str) -> str:
    """What `@serving` printed of one API."""
    found = condition.serving_probe(block.replace("(nothing)", ""))
    words = ("serves", "coming", "hangs")
    return f"{told(vars(found))} {' '.join(word for word in words if getattr(found, word))}".rstrip()


def job_lists(block: str) -> str:
    return "\n".join(told(one) for one in jobs.listed("node1", block.replace("\\t", "\t")))


def image_names(line: str) -> str:
    """An image by its name, and by the flags that were read from it; a model by over how many nodes it splits."""
    name, _, flags_read = line.replace("(nothing)", "").partition(" with ")
    if model := models.known(name):
        return f"splits over {models.working_counts(model)}, {[n for n in range(1, 9) if models.splits(model, n)]}"
    found = images.known(name)
    found = images.with_flags(found, flags_read.split()) if flags_read else found
    return f"{told(found)} {'stock' if found.stock else ''}".rstrip()


LOCK: dict[str, Any] = {
    "sparkops_lock": 1, "deployment": "d", "hash": "0" * 64, "sparkops": "1.0", "locked": "2026-11-20",
    "revision": {
        "schema": 1, "recipe": "r", "model": "m", "topology": "cluster", "env": {"A": "1"},
        "args": {"seed": 1, "hf-overrides": {"a": [1, 2]}},
    },
    "nodes": {
        name: {"role": role, "image": "f" * 64, "model": "abc", "driver": "580.142", "kernel": "6.17.0", "spec": 1}
        for name, role in (("a", "head"), ("b", "worker"))
    },
}  # fmt: skip


def locks(line: str) -> str:
    """What a lock that differs from LOCK in these places holds against it, and it against that; `!WORD` is ignored."""
    words = shlex.split(line)
    now = json.loads(json.dumps(LOCK))
    for change in (word for word in words if word[0] != "!"):
        path, _, value = change.partition("=")
        *above, last = path.split("/")
        place: Any = now
        for name in above:
            place = place[name]
        place.pop(last) if not value else place.update({last: json.loads(value)})
    old, new = (lockfile.read(parse(json.dumps(one).encode(), "f.json")) for one in (LOCK, now))
    assert lockfile.read(parse(json.dumps(new.document).encode(), "f.json")) == new
    ignored = frozenset(word[1:] for word in words if word[0] == "!")
    there, back = lockfile.changes(old, new, ignored), lockfile.changes(new, old, ignored)
    return f"{lines(f'{one.what} {one}' for one in there)}; back: {lines(str(one) for one in back)}"


def lines(found: Iterator[str]) -> str:
    return " | ".join(found) or "nothing"


def lock_files(block: str) -> str:
    return told(lockfile.read(parse(block.encode(), "f.json")))


@dataclass(frozen=True)
class Section:
    name: str
    size: float = 1.0


@dataclass(frozen=True)
class Whole:
    title: str
    count: int = 1
    loud: bool = False
    kind: Literal["red", "blue"] = "red"
    tags: tuple[str, ...] = ()
    parts: tuple[Section, ...] = ()
    when_not: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    raw: Located | None = None


def schemas(block: str) -> str:
    return told(schema.build(Whole, parse(block.encode(), "f.yml")))


BLOCKS = {
    "recipes": recipes, "inventories": inventories, "answers": answers, "jobs": job_lists, "lock-files": lock_files,
    "schemas": schemas,
}  # fmt: skip
LINES = {
    "flags": flags, "spellings": TABLE.canonical, "settings": settings, "topologies": topologies,
    "conditions": conditions, "images": image_names, "locks": locks, "needed-models": needed_models,
}  # fmt: skip


@pytest.mark.parametrize("name", [*BLOCKS, *LINES])
def test_each_input_is_read_or_refused_as_its_file_says(name: str) -> None:
    read = {**BLOCKS, **LINES}[name]
    hold = golden.hold_lines if name in LINES else golden.hold_blocks
    hold(SAID / f"{name}.txt", lambda text: golden.refusal(read, text))


def test_the_table_of_flags_is_that_of_the_version_it_names() -> None:
    assert (TABLE.version, len(TABLE.flags)) == ("0.32.0", 317)
    assert not set(TABLE.flags) & {*FORK, *VANISHED}


@pytest.mark.parametrize("name", sorted(TABLE.flags))
def test_every_known_flag_survives_being_written_and_read(name: str) -> None:
    flag = TABLE.flags[name]
    value: Any = True if flag.nargs == "0" else {"int": 3, "float": 0.5, "size": 4096}.get(flag.type, "word")
    value = [value] if flag.nargs == "+" else value
    assert TABLE.parse(rendered(TABLE, name, value)) == [(name, value)]


def test_one_setting_written_in_many_ways_is_one_recipe() -> None:
    said = {
        recipes(f"model: m\ncontainer: c\nargs:\n  {spelling}: {value}\n$ solo").partition("\nsolo")[2].split("\n")[0]
        for spelling in ("tensor-parallel-size", "tensor_parallel_size", "--tensor-parallel-size")
        for value in ("2", "'2'")
    }
    assert len(said) == 1


def test_a_lattice_of_groups_is_read_at_once() -> None:
    rows = ["all:", "  children:", "    g0a: {hosts: {h: {address: 10.0.0.1}}}", "    g0b: {vars: {port: 7}}"]
    for level in range(1, 40):
        rows += [f"    g{level}{side}: {{children: {{g{level - 1}a: , g{level - 1}b: }}}}" for side in "ab"]
    found = inventory_file.read(parse("\n".join(rows).encode(), "inv.yml"))
    assert (found.groups["g39a"], found.nodes[0].port) == (("h",), 22)


@pytest.mark.parametrize("name", sorted(inventory_file.ANSIBLE))
def test_no_variable_of_ansible_is_taken_for_a_slip(name: str) -> None:
    text = f"all:\n  vars: {{{name}: x}}\n  hosts: {{a: {{address: 10.0.0.1}}}}\n"
    assert inventory_file.read(parse(text.encode(), "inv.yml")).warnings
