"""The ways in which people write recipes of other launchers: what each becomes, and what is refused with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sparkops.core.recipe import Nodes, Recipe, written
from sparkops.errors import UsageError

Read = Callable[[str], Recipe]
ONE = 'recipe_version: "1"\nname: N\ncontainer: c\n'
TWO = 'recipe_version: "2"\nmodel: a/b\nruntime: vllm\ncontainer: c\n'


def block(*lines: str) -> str:
    return "command: |\n" + "".join(f"  {line}\n" for line in lines)


def flags(recipe: Recipe) -> dict[str, Any]:
    return {name: setting.value for name, setting in recipe.args.items()}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vllm serve m --max-model-len=128k", {"max-model-len": 128000}),
        ("vllm serve m -tp 2 -pp 3", {"tensor-parallel-size": 2, "pipeline-parallel-size": 3}),
        ("vllm serve m -dp=4", {"data-parallel-size": 4}),
        ("vllm serve m --mamba_ssm_cache_dtype float32", {"mamba-ssm-cache-dtype": "float32"}),
        ("vllm serve m --compilation_config.pass_config.x true", {"compilation-config": {"pass_config": {"x": True}}}),
        ("vllm serve m --no-enable-prefix-caching", {"no-enable-prefix-caching": True}),
        ("vllm serve m --enable-prefix-caching --no-enable-prefix-caching", {"no-enable-prefix-caching": True}),
        ("vllm serve m --seed 1 --seed 2", {"seed": 2}),
        ("vllm serve m --served-model-name a b --seed 1", {"served-model-name": ["a", "b"], "seed": 1}),
        ("vllm serve m --cudagraph-capture-sizes 1 2 4", {"cudagraph-capture-sizes": [1, 2, 4]}),
        ("vllm serve m --middleware a --middleware b", {"middleware": ["a", "b"]}),
        ("vllm serve --seed 1 m", {"seed": 1}),
        ("vllm serve --model m --seed 1", {"seed": 1}),
        ("vllm serve --seed 1 --model=m", {"seed": 1}),
        ("python3 -m vllm.entrypoints.openai.api_server --model m --seed 1", {"seed": 1}),
        ("python3 -u -m vllm.entrypoints.cli.main serve m --seed 1", {"seed": 1}),
        ("uv run vllm serve m --seed 1", {"seed": 1}),
        ("exec /usr/bin/vllm serve m -O3", {"optimization-level": "3"}),
        ("bash -lc 'vllm serve m --seed 1'", {"seed": 1}),
        ("taskset -c 5-9,15-19 vllm serve m --seed 1", {"seed": 1}),
        ("""vllm serve m --hf-overrides "{\\"a\\": 1}" """, {"hf-overrides": {"a": 1}}),
        ("vllm serve m --mxfp4_backend CUTLASS", {"mxfp4-backend": "CUTLASS"}),
        ("vllm serve m --some-fork-flag x --another-fork-switch", {"some-fork-flag": "x", "another-fork-switch": True}),
        ("vllm serve m --speculative-config.method=mtp -sc.n 3", {"speculative-config": {"method": "mtp", "n": 3}}),
    ],
)  # fmt: skip
def test_a_command_is_read_as_the_engine_takes_it(read: Read, command: str, expected: dict[str, Any]) -> None:
    recipe = read(ONE + block(command.replace("{", "{{").replace("}", "}}")))
    assert recipe.model == "m"
    assert flags(recipe) == expected
    assert flags(read(TWO + block(command))) == expected


def test_comments_continuations_and_blanks_that_nobody_sees(read: Read) -> None:
    command = block(
        "# first", "vllm serve m \\", "  --seed 1 \\  ", "  --dtype auto # why", "", '# it\'s {{"a":1}}', "\\"
    )
    assert written(read(ONE + command)) == ("vllm", "serve", "m", "--seed", "1", "--dtype", "auto")


def test_flags_behind_a_comment_are_not_passed_by_a_shell_and_so_not_here(read: Read) -> None:
    recipe = read(ONE + block("vllm serve m \\", "  --seed 1 \\", "  # --enforce-eager \\", "  --port 8000"))
    assert flags(recipe) == {"seed": 1}
    assert recipe.foreign is not None
    assert [(one.where, one.refuse) for one in recipe.foreign.caveats] == [("theirs.yaml:8", True)]
    assert "a shell ends the command before --port" in recipe.foreign.caveats[0].text


def test_each_flag_knows_its_line(read: Read) -> None:
    recipe = read(ONE + block("vllm serve m \\", "  --seed 1 \\", "  --dtype auto"))
    assert {name: setting.origin for name, setting in recipe.args.items()} == {
        "seed": "theirs.yaml:6",
        "dtype": "theirs.yaml:7",
    }
    folded = read(ONE + "command: >\n  vllm serve m\n  --seed 1\n")
    assert folded.args["seed"].origin == "theirs.yaml:4"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("0.70", "0.7"),
        ('"0.70"', "0.70"),
        ("010", "8"),
        ("0x10", "16"),
        ("1_000", "1000"),
        ("1:30", "90"),
        ("yes", "True"),
        ("off", "False"),
        ("~", "None"),
        ("1e3", "1e3"),
        ("1.0e+3", "1000.0"),
        ("1.5e-7", "1.5e-07"),
        (".5", "0.5"),
        ("+12", "12"),
        ("12.1a", "12.1a"),
        ("2026-01-05", "2026-01-05"),
        ("'yes'", "yes"),
        ("!!str 010", "010"),
        ("|-\n    block", "block"),
        ("1" * 30, "1" * 30),
    ],
)
def test_a_default_arrives_as_the_launcher_shows_it(read: Read, value: str, word: str) -> None:
    for head in (ONE, TWO) if word != "None" else (ONE,):
        recipe = read(f"{head}defaults:\n  x: {value}\n" + block("vllm serve m --revision {x}"))
        assert written(recipe)[-1] == word


def test_templates_of_the_first_schema(read: Read) -> None:
    text = ONE + "model: a/b\ndefaults: {n: 3, f: 0.5, s: x}\n" + block(
        "vllm serve {model} --seed {n} --gpu-memory-utilization {f:.2f} --revision {s!r} \\",
        """  --speculative-config '{{"method":"mtp","n":{n},"deep":{{"a":1}}}}'""",
    )  # fmt: skip
    words = ("vllm", "serve", "a/b", "--seed", "3", "--gpu-memory-utilization", "0.50", "--revision", "x")
    assert written(read(text)) == (*words, "--speculative-config", '{"method":"mtp","n":3,"deep":{"a":1}}')


def test_templates_of_the_second_schema(read: Read) -> None:
    given = "defaults: {n: 3, url: 'http://h:{port}', port: 80, spec: '{{\"a\": 1}}', hf-overrides: '{\"b\":2}'}\n"
    text = TWO + given + block(
        "vllm serve {model} --seed {n} --revision {url} --hf-overrides '{hf-overrides}' \\",
        """  --speculative-config '{"method":"mtp","n":{n},"deep":{"a":1}}' --additional-config '{spec}'""",
    )  # fmt: skip
    words = ("vllm", "serve", "a/b", "--seed", "3", "--revision", "http://h:80", "--hf-overrides", '{"b":2}')
    spec = ("--speculative-config", '{"method":"mtp","n":3,"deep":{"a":1}}', "--additional-config", '{"a": 1}')
    assert written(read(text)) == (*words, *spec)


def test_the_second_schema_takes_doubled_braces_where_a_template_opens_them(read: Read) -> None:
    text = TWO + "defaults: {n: 3}\n" + block("""vllm serve {model} --speculative-config '{{"m":"x","n":{n}}}'""")
    assert written(read(text))[-1] == '{"m":"x","n":3}'


def test_the_second_schema_adds_the_served_name_that_its_command_leaves_out(read: Read) -> None:
    text = TWO + "defaults: {served_model_name: fast}\n" + block("vllm serve {model} --seed 1 \\")
    assert written(read(text)) == ("vllm", "serve", "a/b", "--seed", "1", "--served-model-name", "fast")


def test_the_second_schema_without_a_command_is_its_defaults(read: Read) -> None:
    defaults = (
        "defaults: {port: 8000, tensor_parallel: 2, max_model_len: 4096, enforce_eager: true, trust_remote_code: false,"
    )
    recipe = read(TWO + defaults + " enable_prefix_caching: false, speculative_config: {method: mtp}, ours: 1}\n")
    assert flags(recipe) == {
        "port": 8000,
        "tensor-parallel-size": 2,
        "max-model-len": 4096,
        "enforce-eager": True,
        "no-trust-remote-code": True,
        "no-enable-prefix-caching": True,
        "speculative-config": {"method": "mtp"},
    }


@pytest.mark.parametrize(
    ("keys", "only", "nodes"),
    [
        ("solo_only: true", ("solo",), Nodes(1, 1)),
        ("cluster_only: true", ("cluster",), Nodes(2, None)),
        ("cluster_only: false\nsolo_only: false", (), Nodes(1, None)),
        ("min_nodes: 3\nmax_nodes: 4", (), Nodes(3, 4)),
        ("max_nodes: 1", (), Nodes(1, 1)),
        ("mode: solo", ("solo",), Nodes(1, 1)),
        ("mode: cluster\nmin_nodes: 4", ("cluster",), Nodes(4, None)),
        ('cluster_only: "true"', ("cluster",), Nodes(2, None)),
    ],
)
def test_limits_are_kept(read: Read, keys: str, only: tuple[str, ...], nodes: Nodes) -> None:
    for head in (ONE, TWO):
        recipe = read(f"{head}{keys}\n" + block("vllm serve m"))
        assert (recipe.only, recipe.nodes) == (only, nodes)


@pytest.mark.parametrize("said", ["1", '"1"', "1.0", "'1'"])
def test_the_version_may_be_a_number(read: Read, said: str) -> None:
    text = f"recipe_version: {said}\nname: N\ncontainer: c\ndefaults: {{n: 1}}\n" + block("vllm serve m --seed {n}")
    found = read(text).foreign
    assert found is not None
    assert found.schema == "1"


def test_a_recipe_without_a_version_is_sparkruns(read: Read) -> None:
    found = read("model: a/b\nruntime: vllm-distributed\ncontainer: c\n" + block("vllm serve {model}"))
    assert (found.model, found.foreign.schema if found.foreign else "") == ("a/b", "2")


def test_variables_are_carried_over_and_secrets_are_not(read: Read) -> None:
    text = ONE + "env:\n  A: 1\n  B: yes\n  C: 0.70\n  D: \"0.70\"\n  E:\n  HF_TOKEN: hf_xyz\n" + block(
        "export F=6 G='a b'", "H=8 vllm serve m"
    )  # fmt: skip
    recipe = read(text)
    values = {name: setting.value for name, setting in recipe.env.items()}
    assert values == {"A": "1", "B": "True", "C": "0.7", "D": "0.70", "E": "None", "F": "6", "G": "a b", "H": "8"}
    assert recipe.foreign is not None
    assert [(one.where, one.refuse) for one in recipe.foreign.caveats] == [("theirs.yaml:10", False)]
    assert "hf_xyz" not in str(recipe)


@pytest.mark.parametrize(
    ("text", "said", "refuse"),
    [
        (ONE + block("vllm serve $HOME/m"), "a shell would replace $HOME", True),
        (ONE + block('vllm serve "$(cat name)"'), "a shell would replace $(cat name)", True),
        (ONE + block("vllm serve ~/m"), "a shell would replace ~", True),
        (TWO + block('vllm serve m --x {"a":1,"b":2}'), "a shell would replace", True),
        (ONE + "env: {P: 'x:$P'}\n" + block("vllm serve m"), "a shell would replace what P names", True),
        (ONE + block("pip install x", "vllm serve m"), "runs `pip install x` first", True),
        (ONE + block("cd /x && vllm serve m"), "runs `cd /x` first", True),
        (ONE + block("vllm serve m 2>&1 | tee log"), "its output goes elsewhere", False),
        (ONE + block("vllm serve m --api-key abc"), "--api-key is left out", False),
        (
            ONE + block("vllm serve m --hf-overrides '{{\"a\":1}}' --hf-overrides.b=2"),
            "--hf-overrides is overridden",
            False,
        ),
        (ONE + block("nice -n 5 vllm serve m"), "nice before the engine is left out", False),
        (TWO + block("vllm serve m --revision {r}"), "{r} has no value in defaults", True),
        (TWO + "pre_exec: [python3 x.py]\n" + block("vllm serve m"), "pre_exec is not carried over", True),
        (TWO + "executor_config: {user: root}\n" + block("vllm serve m"), "executor_config is not carried over", False),
        (TWO + "env: {A: '{launch.num_nodes}'}\n" + block("vllm serve m"), "A needs {launch.num_nodes}", True),
    ],
)
def test_what_is_not_carried_over_is_said(read: Read, text: str, said: str, refuse: bool) -> None:
    recipe = read(text)
    assert recipe.foreign is not None
    assert [(said in one.text, one.refuse) for one in recipe.foreign.caveats] == [(True, refuse)]


def test_of_a_mapping_and_its_parts_both_are_passed(read: Read) -> None:
    recipe = read(ONE + block("vllm serve m --hf-overrides '{{\"a\":1}}' --hf-overrides.b=2"))
    assert flags(recipe) == {"hf-overrides": {"a": 1}, "hf-overrides.b": 2}


def test_variables_may_name_defaults_in_the_second_schema(read: Read) -> None:
    recipe = read(TWO + "defaults: {port: 80}\nenv: {A: '{config.port}'}\n" + block("vllm serve m"))
    assert recipe.env["A"].value == "80"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE, "theirs.yaml:1: command: is required"),
        ('recipe_version: "1"\nname: N\n' + block("vllm serve m"), "theirs.yaml:1: container: is required"),
        (ONE + "command: [vllm, serve, m]\n", "theirs.yaml:4: command: must be text, not a list"),
        (ONE + block("vllm serve m \\", "  --seed {seed}"), "{seed} has no value in defaults"),
        (ONE + block("""vllm serve m --x '{"a":1}'"""), "literal braces must be doubled"),
        (ONE + block("vllm serve m --x '{'"), "literal braces must be doubled"),
        (ONE + block("vllm serve m --x {}"), "literal braces must be doubled"),
        (ONE + "defaults: {a: 1}\n" + block("vllm serve m --x {a.__class__}"), "has no value in defaults"),
        (ONE + "defaults: {a: 1}\n" + block("vllm serve m --x {a[0]}"), "is no placeholder"),
        (ONE + "defaults: {a: 1}\n" + block("vllm serve m --x {a:>99999999}"), "has a format that is not read"),
        (ONE + block("vllm serve"), "theirs.yaml:5: command: `vllm serve` names no model"),
        (ONE + block("vllm serve m \\", "  n"), "theirs.yaml:6: command: 'n' belongs to no flag"),
        (ONE + block("vllm serve m \\", "  --max-model-len"), "theirs.yaml:6: command: --max-model-len needs a value"),
        (ONE + block("vllm serve m --max-num-seqs=x"), "--max-num-seqs must be a number"),
        (ONE + block("vllm serve m \\", " --x 'a"), "theirs.yaml:6: command: a ' is never closed"),
        (ONE + block("vllm serve m --config f.yml"), "--config: write the flags into the recipe"),
        (ONE + block("vllm serve m &", "vllm serve n"), "theirs.yaml:6: command: starts more than one server"),
        (ONE + block("echo hello"), "theirs.yaml:5: command: starts echo, not `vllm serve`"),
        (ONE + block("# nothing"), "starts nothing"),
        (ONE + block("uvicorn server:app --port 8000"), "starts uvicorn (a server of its own)"),
        (ONE + block("python3 -m sglang.launch_server --model-path m"), "starts sglang.launch_server (sglang)"),
        (ONE + block("llama-server -m x.gguf"), "starts llama-server (llama.cpp)"),
        (ONE + block("trtllm-serve m"), "starts trtllm-serve (TensorRT-LLM)"),
        ("model: m\ncontainer: c\n" + block("sglang serve --model-path m"), "starts sglang (sglang)"),
        (TWO.replace("vllm", "sglang") + block("sglang serve m"), "theirs.yaml:3: runtime: is sglang; sparkops serves"),
        (TWO.replace("vllm", "llama-cpp"), "theirs.yaml:3: runtime: is llama-cpp; sparkops serves with vLLM only"),
        (TWO.replace("vllm", "trtllm"), "runtime: is trtllm"),
        (TWO.replace("vllm", "atlas"), "runtime: is atlas"),
        (TWO.replace("model: a/b\n", "") + block("vllm serve m"), "model: is required"),
        (TWO + block("vllm serve m --port {port}"), "{port} has no value in defaults"),
        (TWO + block("vllm serve m {extra_args}"), "{extra_args} has no value in defaults"),
        (TWO + "include: other\n", "include: is merged by sparkrun"),
        (TWO.replace('"2"', '"3"') + block("vllm serve m"), "theirs.yaml:1: recipe_version: schema '3' is not read"),
        (ONE + "solo_only: true\ncluster_only: true\n" + block("vllm serve m"), "stands beside cluster_only"),
        (ONE + "solo_only: perhaps\n" + block("vllm serve m"), "theirs.yaml:4: solo_only: must be true or false"),
        (TWO + "min_nodes: 4\nmax_nodes: 2\n" + block("vllm serve m"), "theirs.yaml:6: max_nodes: 2 is less than 4"),
        (TWO + "min_nodes: 0\n" + block("vllm serve m"), "min_nodes: must be between"),
        (ONE + "mods: fix-x\n" + block("vllm serve m"), "theirs.yaml:4: mods: must be a list, not text"),
        (ONE + "env: [A]\n" + block("vllm serve m"), "env: must be a mapping, not a list"),
        (ONE + "env: {A: [1]}\n" + block("vllm serve m"), "env.A: must be one value, not a list"),
        (ONE + "env: {a b: 1}\n" + block("vllm serve m"), "env.a b: is no name for a variable"),
        (ONE + "defaults: 3\n" + block("vllm serve m"), "defaults: must be a mapping, not a number"),
        (ONE + "defaults: {a: !!python/object:os.system x}\n" + block("vllm serve {a}"), "value means nothing here"),
        (ONE + "build_args: --x\n" + block("vllm serve m"), "build_args: must be a list, not text"),
        (TWO + "defaults: {a: '{b}{b}', b: '{a}{a}'}\n" + block("vllm serve {a}"), "a value contains itself"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_one_line_with_its_reason(read: Read, text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        read(text)
    assert said in str(error.value)
    assert str(error.value).startswith("theirs.yaml:")
    assert "\n" not in str(error.value)
