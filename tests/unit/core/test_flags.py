"""One spelling for every flag, however the engine lets it be written."""

from __future__ import annotations

from typing import Any

import pytest

from sparkops import load
from sparkops.core.flags import FORK, VANISHED, rendered
from sparkops.errors import UsageError

TABLE = load.flag_table()


def test_the_table_is_that_of_the_version_it_names() -> None:
    assert TABLE.version == "0.32.0"
    assert len(TABLE.flags) == 317
    assert not set(TABLE.flags) & {*FORK, *VANISHED}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("--max-model-len", "max-model-len"),
        ("--max_model_len", "max-model-len"),
        ("--max-model", "max-model-len"),
        ("-tp", "tensor-parallel-size"),
        ("-pp", "pipeline-parallel-size"),
        ("-q", "quantization"),
        ("--device-memory-utilization", "gpu-memory-utilization"),
        ("--no-enable-prefix-caching", "no-enable-prefix-caching"),
        ("-cc.cudagraph_mode", "compilation-config.cudagraph_mode"),
        ("--mxfp4_backend", "mxfp4-backend"),
        ("--max", "max"),
        ("--no-such-flag", "no-such-flag"),
    ],
)
def test_a_flag_has_one_spelling(written: str, name: str) -> None:
    assert TABLE.canonical(written) == name


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-tp", "2"], [("tensor-parallel-size", 2)]),
        (["-tp=2"], [("tensor-parallel-size", 2)]),
        (["--tensor_parallel_size=2"], [("tensor-parallel-size", 2)]),
        (["--max-model-len", "128k"], [("max-model-len", 128000)]),
        (["--max-model-len", "128K"], [("max-model-len", 131072)]),
        (["--max-model-len", "25.6k"], [("max-model-len", 25600)]),
        (["--max-model-len", "auto"], [("max-model-len", "auto")]),
        (["--max-model-len", "-1"], [("max-model-len", -1)]),
        (["--gpu-memory-utilization", "0.70"], [("gpu-memory-utilization", 0.7)]),
        (["--enforce-eager", "--max-num-seqs", "8"], [("enforce-eager", True), ("max-num-seqs", 8)]),
        (["--no-enforce-eager"], [("no-enforce-eager", True)]),
        (["--revision", "1.10"], [("revision", "1.10")]),
        (["--served-model-name", "a", "b", "--seed", "1"], [("served-model-name", ["a", "b"]), ("seed", 1)]),
        (["--cudagraph-capture-sizes", "1", "2"], [("cudagraph-capture-sizes", [1, 2])]),
        (["-O3"], [("optimization-level", "3")]),
        (["--speculative-config", '{"method":"mtp"}'], [("speculative-config", {"method": "mtp"})]),
        (["-cc.mode", "none"], [("compilation-config.mode", "none")]),
        (["-cc.level=3"], [("compilation-config.level", 3)]),
        (["--mxfp4-layers", "moe,qkv"], [("mxfp4-layers", "moe,qkv")]),
        (["--brand-new"], [("brand-new", True)]),
        (["--brand-new", "7"], [("brand-new", "7")]),
        (["--chat-template", "{% if x %}"], [("chat-template", "{% if x %}")]),
        ([], []),
    ],
)
def test_words_of_a_command_line_are_read_as_the_engine_reads_them(words: list[str], expected: list[Any]) -> None:
    assert TABLE.parse(words) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serve"], "unexpected word 'serve'"),
        (["--enforce-eager", "yes"], "unexpected word 'yes'"),
        (["--max-num-seqs"], "--max-num-seqs needs a value"),
        (["--max-num-seqs", "--enforce-eager"], "--max-num-seqs needs a value"),
    ],
)
def test_words_that_belong_to_no_flag_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        TABLE.parse(words)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("enforce-eager", True, ("--enforce-eager",)),
        ("enforce-eager", False, ()),
        ("seed", None, ()),
        ("gpu-memory-utilization", 0.7, ("--gpu-memory-utilization", "0.7")),
        ("compilation-config", {"b": [1, 2], "a": True}, ("--compilation-config", '{"a":true,"b":[1,2]}')),
        ("served-model-name", ["a", "b"], ("--served-model-name", "a", "b")),
        ("middleware", ["x", "y"], ("--middleware", "x", "--middleware", "y")),
        ("allowed-origins", ["*"], ("--allowed-origins", '["*"]')),
    ],
)
def test_a_setting_is_rendered_as_words(name: str, value: Any, words: tuple[str, ...]) -> None:
    assert rendered(TABLE, name, value) == words


@pytest.mark.parametrize("name", sorted(TABLE.flags))
def test_every_known_flag_survives_being_written_and_read(name: str) -> None:
    flag = TABLE.flags[name]
    value: Any = True if flag.nargs == "0" else {"int": 3, "float": 0.5, "size": 4096}.get(flag.type, "word")
    if flag.nargs == "+":
        value = [value]
    assert TABLE.parse(rendered(TABLE, name, value)) == [(name, value)]
