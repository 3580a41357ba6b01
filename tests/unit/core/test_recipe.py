"""Recipes: what extends what, what topology and command line change, and where each setting is from."""

from __future__ import annotations

import pytest

from sparkops import load
from sparkops.core import recipe_file
from sparkops.core.recipe import Effective, Overrides, Recipe, command_line, effective
from sparkops.core.topology import Kind
from sparkops.errors import UsageError
from sparkops.located import parse

BASE = """
model: m/x
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


def read(*texts: str) -> Recipe:
    """Files of a chain, the child first."""
    names = ("child", "parent", "grandparent")
    chain = [(name, parse(text.encode(), f"{name}.yml")) for name, text in zip(names, texts, strict=False)]
    return recipe_file.read(chain, load.flag_table())


def made(recipe: Recipe, kind: Kind = "solo", *sets: str, extra: tuple[str, ...] = ()) -> Effective:
    return effective(recipe, kind, Overrides(sets, extra))


def test_a_recipe_is_a_command_line() -> None:
    assert command_line(made(read(BASE))) == (
        *("vllm", "serve", "m/x", "--max-model-len", "4096", "--enforce-eager"),
        *("--compilation-config", '{"cudagraph_mode":"NONE","level":3}'),
    )


def test_a_topology_changes_what_it_names_and_nothing_else() -> None:
    solo, cluster = made(read(BASE)), made(read(BASE), "cluster")
    assert made(read(BASE), "n-solo") == solo
    assert cluster.value("max-model-len") == 32768
    assert cluster.args["max-model-len"].origin == "topology cluster child.yml:12"
    assert {key for key in cluster.args if cluster.args[key] != solo.args.get(key)} == {"max-model-len", "max-num-seqs"}
    assert (solo.env["A"].value, cluster.env["A"].value, cluster.env["B"].value) == ("1", "2", "0")


def test_every_setting_knows_its_origin() -> None:
    child = "extends: parent\nargs: {max-num-seqs: 4}\n"
    found = made(read(child, BASE), "solo", "args.seed=7", extra=("--dtype", "auto"))
    origins = {name: setting.origin for name, setting in found.args.items()}
    assert origins == {
        "max-model-len": "extends parent parent.yml:5",
        "enforce-eager": "extends parent parent.yml:6",
        "compilation-config": "extends parent parent.yml:7",
        "max-num-seqs": "child.yml:2",
        "seed": "--set",
        "dtype": "--",
    }


def test_what_a_child_says_wins_over_a_topology_of_its_parent() -> None:
    child = "extends: parent\nargs: {max-model-len: 8192}\nenv: {A: 9}\n"
    found = made(read(child, BASE), "cluster")
    assert (found.value("max-model-len"), found.value("max-num-seqs"), found.env["A"].value) == (8192, 8, "9")


def test_a_childs_topology_wins_over_all() -> None:
    child = "extends: parent\ntopologies: {cluster: {args: {max-model-len: 131072}}}\n"
    grandchild = "extends: child\ntopologies: {cluster: {args: {seed: 1}}}\n"
    found = made(read(grandchild, child, BASE), "cluster")
    assert (found.value("max-model-len"), found.value("seed"), found.value("max-num-seqs")) == (131072, 1, 8)
    assert found.args["max-model-len"].origin == "extends parent topology cluster parent.yml:2"


def test_a_child_takes_a_setting_away_with_null_or_false() -> None:
    child = "extends: parent\nargs: {max-model-len: null, enforce-eager: false}\nenv: {B: null}\n"
    found = made(read(child, BASE))
    assert set(found.args) == {"compilation-config"}
    assert set(found.env) == {"A"}


def test_metadata_and_limits_are_the_childs_own_or_the_parents() -> None:
    parent = BASE + "only: [solo]\nnodes: {max: 2}\nmetadata: {description: theirs}\n"
    child = read("extends: parent\nnodes: {min: 2, max: 4}\n", parent)
    assert (child.only, child.nodes.min, child.nodes.max, child.metadata.description) == (("solo",), 2, 4, "")


@pytest.mark.parametrize(
    ("sets", "extra", "name", "value"),
    [
        (("args.max-model-len=65536",), (), "max-model-len", 65536),
        (("args.max_model_len=64K",), (), "max-model-len", 65536),
        (("args.max-model-len=1",), ("--max-model-len", "2"), "max-model-len", 2),
        ((), ("--max-model-len", "1", "--max-model-len=3"), "max-model-len", 3),
        (("args.enforce-eager=false",), (), "enforce-eager", None),
        (("args.enforce-eager=null",), (), "enforce-eager", None),
        ((), ("--no-enforce-eager",), "enforce-eager", False),
        ((), ("-cc.level=0",), "compilation-config", {"cudagraph_mode": "NONE", "level": 0}),
        (
            ("args.compilation-config.x.y=1",),
            (),
            "compilation-config",
            {"cudagraph_mode": "NONE", "level": 3, "x": {"y": 1}},
        ),
        (('args.compilation-config={"level":1}',), (), "compilation-config", {"level": 1}),
        ((), ("-tp", "2"), "tensor-parallel-size", 2),
    ],
)
def test_the_command_line_overrides(sets: tuple[str, ...], extra: tuple[str, ...], name: str, value: object) -> None:
    assert made(read(BASE), "solo", *sets, extra=extra).value(name) == value


def test_a_flag_and_its_no_form_replace_each_other() -> None:
    off = made(read(BASE), "solo", extra=("--no-enforce-eager",))
    assert "--enforce-eager" not in command_line(off)
    assert "--no-enforce-eager" in command_line(off)
    on = made(read(BASE), "solo", extra=("--no-enforce-eager", "--enforce-eager"))
    assert command_line(on).count("--enforce-eager") == 1
    assert "--no-enforce-eager" not in command_line(on)


def test_the_command_line_sets_variables_model_image_and_revision() -> None:
    found = made(read(BASE), "solo", "env.C=x=y", "env.A=", "model=m/y", "container=other:1", "revision=abc")
    assert (found.model, found.image, found.env["C"].value) == ("m/y", "other:1", "x=y")
    assert "A" not in found.env
    assert command_line(found)[2:5] == ("m/y", "--revision", "abc")


def test_the_served_name_is_the_models_unless_said() -> None:
    assert made(read(BASE)).served_name == "m/x"
    assert made(read(BASE), "solo", "args.served-model-name=short").served_name == "short"


def test_one_setting_written_in_many_ways_is_the_same_recipe() -> None:
    head = "model: m\ncontainer: c\nargs:\n"
    spellings = ("  tensor-parallel-size: 2\n", "  tensor_parallel_size: '2'\n", "  --tensor-parallel-size: 2\n")
    lines = {command_line(made(read(head + spelling))) for spelling in spellings}
    lines.add(command_line(made(read("model: m\ncontainer: c\n"), extra=("-tp=2",))))
    assert len(lines) == 1


def test_where_a_server_runs_is_not_the_recipes_to_say() -> None:
    found = made(read("model: m\ncontainer: c\nargs: {port: 9000, host: 0.0.0.0, nnodes: 2}\n"))
    assert found.args == {}


HEAD = "model: m\ncontainer: c\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("container: c\n", "child.yml:1: model: is required"),
        ("model: m\n", "child.yml:1: container: is required"),
        (HEAD + "topologys: {}\n", "child.yml:3: topologys: unknown key (did you mean topologies?)"),
        (HEAD + "topologies:\n  clutser: {}\n", "child.yml:4: topologies.clutser: unknown key (did you mean cluster?)"),
        (HEAD + "topologies: {solo: {mounts: []}}\n", "child.yml:3: topologies.solo.mounts: unknown key"),
        (HEAD + "args: [a]\n", "child.yml:3: args: must be a mapping, not a list"),
        (
            HEAD + "args:\n  max-model-len: 1\n  max_model_len: 2\n",
            "child.yml:5: args.max_model_len: --max-model-len is given",
        ),
        (HEAD + "args: {api-key: x}\n", "child.yml:3: args.api-key: keys are made"),
        (HEAD + "args: {enforce-eager: maybe}\n", "child.yml:3: args.enforce-eager: is true or false"),
        (HEAD + "args: {max-num-seqs: true}\n", "child.yml:3: args.max-num-seqs: needs a value"),
        (HEAD + "args: {max-num-seqs: many}\n", "child.yml:3: args.max-num-seqs: must be a number, not 'many'"),
        (HEAD + "env: {A: [1]}\n", "child.yml:3: env.A: must be one value, not a list"),
        (HEAD + "env: {'A B': 1}\n", "child.yml:3: env.A B: is no name for a variable"),
        (HEAD + "env: {HF_TOKEN: x}\n", "child.yml:3: env.HF_TOKEN: is a secret"),
        (HEAD + "env: {OPENAI_API_KEY: x}\n", "child.yml:3: env.OPENAI_API_KEY: is a secret"),
        (HEAD + "mounts: [hugingface]\n", "child.yml:1: mounts: unknown cache hugingface (did you mean huggingface?)"),
        (HEAD + "only: [duo]\n", "child.yml:3: only[0]: must be solo or cluster, not 'duo'"),
        (HEAD + "nodes: {min: 3, max: 2}\n", "child.yml:1: nodes: min must be"),
        (HEAD + "metadata: {sauce: x}\n", "child.yml:3: metadata.sauce: unknown key (did you mean source?)"),
    ],
)
def test_a_wrong_recipe_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("sets", "extra", "message"),
    [
        (("max-model-len=1",), (), "--set max-model-len: no such setting (did you mean args.max-model-len?)"),
        (("args.max-model-len",), (), "must be KEY=VALUE"),
        (("args.=1",), (), "no such setting"),
        (("env.A B=1",), (), "is no name for a variable"),
        (("env.HF_TOKEN=1",), (), "is a secret"),
        (("args.port=9000",), (), "--port follows from the inventory's api_port; it cannot be set by --set"),
        ((), ("--node-rank", "1"), "--node-rank follows from the topology; it cannot be set by --"),
        ((), ("--api-key", "x"), "keys are made"),
        ((), ("--model", "x"), "--set model="),
        ((), ("stray",), "unexpected word 'stray'"),
        (("args.max-num-seqs=x",), (), "--set --max-num-seqs: must be a number"),
    ],
)
def test_a_wrong_override_is_refused(sets: tuple[str, ...], extra: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        made(read(BASE), "solo", *sets, extra=extra)
    assert message in str(error.value)
