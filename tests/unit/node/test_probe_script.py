"""`probe` says what a waiting engine does: the end of its log, and what shows that it compiles."""

import json
from datetime import UTC, datetime, timedelta

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


def test_the_entry_script_whose_text_names_compilers_is_no_compiler(engine: NodeShell) -> None:
    before = seen(engine)
    scripts = '901 3 sh -c #!/bin/sh COMPILERS = {"ninja"} ray-head\n902 9 python3 -IS -c COMPILERS = {"ninja", "nvcc"}'
    (engine.home / "top").write_text(f"PID TIME COMMAND\n{ENGINE}\n{scripts}\n")
    assert seen(engine) == before


def test_a_crash_has_the_exit_code_that_the_entry_script_logged_not_that_of_the_container_that_runs_again(
    engine: NodeShell,
) -> None:
    log = "sparkops: the engine ended with exit code 7 (failed start 1 of 5)\nINFO Starting to load model"
    engine.tool("docker", DOCKER.replace("running 0 0", "running 1 0").replace("INFO Starting to load model", log))
    said = engine.run("probe", "c", "--api", "http://127.0.0.1:1/health").stdout.splitlines()
    assert said[0] == "never the engine crashed (exit code 7); Docker is restarting it"


def test_progress_is_read_from_the_log_since_the_last_start(engine: NodeShell) -> None:
    start = "2026-11-25T10:00:00.5Z"
    told = DOCKER.replace("running 0 0", f"running 0 0 2026-11-25T09:00:00Z {start}")
    engine.tool("docker", told.replace("logs*)", f"'logs --since {start} '*)"))
    assert seen(engine)[-1] == "INFO Starting to load model"


@pytest.mark.parametrize(("made", "rebooted"), [(3600, True), (1, False)])
def test_a_node_that_rebooted_after_the_container_was_created_says_so(
    engine: NodeShell, made: int, rebooted: bool
) -> None:
    times = [datetime.now(UTC) - timedelta(seconds=ago) for ago in (made, 0)]
    engine.tool("docker", DOCKER.replace("running 0 0", f"running 0 0 {' '.join(map(datetime.isoformat, times))}"))
    (engine.root / "proc").mkdir(exist_ok=True)
    (engine.root / "proc/uptime").write_text("60.00 100.00\n")
    assert ("sparkops: this node rebooted, and Docker started the container again" in seen(engine)) == rebooted


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
