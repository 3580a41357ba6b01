"""`probe` says what a waiting engine does: the end of its log, and what shows that it compiles."""

import json

import pytest

from support.shells import NodeShell

DOCKER = """case "$*" in
inspect*State*) echo running 0 0 ;;
inspect*Binds*) cat "$HOME/binds" ;;
top*) cat "$HOME/top" ;;
logs*) echo 'INFO Starting to load model' ;;
esac"""
ENGINE = "900 600 /usr/bin/python3 /usr/local/bin/vllm serve openai/gpt-oss-120b"
COMPILERS = """901 40 ptxas -arch=sm_121a /tmp/a.ptx
902 2 /usr/bin/python3 /usr/lib/torch/_inductor/compile_worker/__main__.py --workers=20"""


@pytest.fixture
def engine(node: NodeShell) -> NodeShell:
    """A node whose engine loads: no API yet, and one cache for compiled code beside the cache for models."""
    node.tool("docker", DOCKER)
    node.tool("curl", "printf 000; exit 7")
    for cache in ("vllm", "huggingface"):
        (node.home / cache).mkdir()
    binds = [f"{node.home}/{cache}:/root/.cache/{cache}" for cache in ("vllm", "huggingface")]
    (node.home / "binds").write_text(json.dumps([*binds, "/dev/infiniband:/dev/infiniband:ro"], separators=(",", ":")))
    (node.home / "top").write_text(f"PID TIME COMMAND\n{ENGINE}\n")
    return node


def seen(node: NodeShell) -> list[str]:
    said = node.run("probe", "c", "--api", "http://127.0.0.1:1/health").stdout.splitlines()
    assert said[0] == "wait the container is running, its API does not answer yet"
    return said[1:]


def test_an_engine_that_only_uses_its_own_cpu_shows_nothing_new(engine: NodeShell) -> None:
    before = seen(engine)
    (engine.home / "top").write_text(f"PID TIME COMMAND\n{ENGINE.replace('600', '660')}\n")
    assert seen(engine) == before
    assert before[-1] == "INFO Starting to load model"


def test_the_cpu_time_of_compilers_is_shown(engine: NodeShell) -> None:
    (engine.home / "top").write_text(f"PID TIME COMMAND\n{ENGINE}\n{COMPILERS}\n")
    assert seen(engine)[0] == "compilers: 2, 42 s of CPU time"


def test_a_cache_that_grows_is_shown_unless_it_holds_models(engine: NodeShell) -> None:
    before = seen(engine)
    (engine.home / "huggingface/weights").write_bytes(b"1" * 65536)
    assert seen(engine) == before
    (engine.home / "vllm/kernel").write_bytes(b"1" * 65536)
    assert [line.startswith("compile caches: ") for line in seen(engine)] == [True, False]
    assert seen(engine) != before


def test_a_container_without_caches_shows_its_log_alone(engine: NodeShell) -> None:
    (engine.home / "binds").write_text("null\n")
    (engine.home / "top").unlink()
    assert seen(engine) == ["INFO Starting to load model"]
