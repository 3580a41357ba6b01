"""Rules are tried on plain settings, as their examples write them."""

from collections.abc import Callable

import pytest

from sparkops.core import mods
from sparkops.core.effective import Effective
from sparkops.core.images import Software
from sparkops.core.inventory import Node
from sparkops.core.recipe import Benchmark, Caveat, Foreign, Nodes, Recipe, Setting
from sparkops.core.topology import Shape, parse, place
from sparkops.files import recipes
from sparkops.rules.rule import Example

Built = Callable[[Example], tuple[Effective, Shape]]


@pytest.fixture(scope="session")
def built() -> Built:
    """An example as what a rule judges."""
    return settings


def settings(example: Example) -> tuple[Effective, Shape]:
    nodes = tuple(Node(f"spark{n}", f"10.0.0.{n}") for n in range(1, example.nodes + 1))
    recipe = Recipe(
        name="example",
        source="example.yml",
        model=example.model,
        container=example.image,
        flags=recipes.flag_table(),
        only=example.only,
        nodes=Nodes(max=example.most),
        benchmark=Benchmark(args=example.benchmark),
        mods=example.mods,
        foreign=Foreign(
            "1",
            (),
            caveats=tuple(Caveat("example.yml:1", text, True) for text in example.caveats),
            program=example.program,
        ),
    )
    args = {name: Setting(value, "example.yml:1") for name, value in example.args.items()}
    env = {name: Setting(value, "example.yml:1") for name, value in example.env.items()}
    shape = place(parse(example.topology), nodes, example.executor).shape
    software = Software(ray="2.50" * (example.executor == "ray"), nccl=example.nccl) if example.nccl else None
    image = mods.derived(example.image, example.mods)
    return Effective(recipe, image, args, env, example.mounts, software), shape
