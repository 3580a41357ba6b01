"""The phase that a boot log shows, on excerpts of real logs and on lines of other builds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkops.core.enginelog import MARKS, Phase, progress

FIXTURES = Path(__file__).parent / "fixtures"


def log(name: str) -> list[str]:
    return (FIXTURES / f"{name}.log").read_text(encoding="utf-8").splitlines()


def test_a_solo_boot_goes_through_its_phases_in_order_and_never_back() -> None:
    lines = log("solo-boot")
    seen = [phase for end in range(1, len(lines) + 1) if (phase := progress(lines[:end]))]
    assert [phase.percent for phase in seen] == sorted(phase.percent for phase in seen)
    names = list(dict.fromkeys(phase.name for phase in seen))
    assert names == ["config", "engine", "weights", "compile", "cache", "warm", "http", "ready"]


def test_a_head_that_waits_for_a_node_says_so() -> None:
    waiting = [line for line in log("ray-waiting") if "RayWorkerProc" not in line]
    phase = progress(waiting)
    assert phase is not None
    assert (phase.name, phase.text) == ("nodes", "waiting for nodes with GPUs, 30 s")


def test_the_same_head_goes_on_when_the_node_has_joined() -> None:
    phase = progress(log("ray-waiting"))
    assert phase is not None
    assert phase.name == "weights"


def test_a_rank_without_a_port_of_its_own_is_followed_too() -> None:
    phase = progress(log("mp-rank1"))
    assert phase is not None
    assert phase.name == "weights"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Loading safetensors checkpoint shards:  56% Completed | 5/9 [00:13<00:11,  2.87s/it]",
            Phase("weights", 38, "loading weights 56%"),
        ),
        (
            "Loading safetensors using Fastsafetensor loader: 100% Completed | 9/9 [00:24<00:00]",
            Phase("weights", 60, "loading weights 100%"),
        ),
        (
            "Loading fastsafetensors checkpoint shards:  10% Completed | 1/10 [00:02<00:20]",
            Phase("weights", 15, "loading weights 10%"),
        ),
        (
            "Capturing CUDA graphs (decode, FULL):  83%|####      | 29/35 [00:05<00:00,  8.56it/s]",
            Phase("capture", 93, "capturing CUDA graphs 83%"),
        ),
        ("Capturing CUDA graph shapes: 100%|##| 35/35", Phase("capture", 95, "capturing CUDA graphs 100%")),
        (
            "(Worker_TP0 pid=7) INFO [gpu_model_runner.py:1] Model loading took 12.66 GiB memory and 31.657031 seconds",
            Phase("weights", 62, "weights loaded, 12.66 GiB"),
        ),
        ("INFO GPU KV cache size: 647,449 tokens", Phase("cache", 82, "room for 647,449 tokens")),
        ("torch.compile took 41.20 s in total", Phase("compile", 80, "compiled in 41.20 s")),
        ("sparkops: Ray has 1 of 2 nodes; waiting for the others", Phase("ray", 0, "Ray has 1 of 2 nodes")),
        ("sparkops: waiting for the Ray head at 10.0.0.1:6379", Phase("ray", 0, "waiting for the Ray head")),
        ("sparkops: start 2 of 5 in 10 seconds", Phase("again", 0, "failed; start 2 of 5 in 10 s")),
        ("Starting vLLM API server 0 on http://0.0.0.0:8000", Phase("http", 98, "opening its port")),
    ],
)
def test_a_line_of_any_build_is_known(line: str, expected: Phase) -> None:
    assert progress([line]) == expected


def test_a_progress_bar_that_rewrites_its_line_counts_as_its_last_state() -> None:
    bar = "\r".join(f"Loading safetensors checkpoint shards: {n:3}% Completed | {n // 10}/10 [..]" for n in (0, 40, 90))
    phase = progress([bar])
    assert phase is not None
    assert phase.text == "loading weights 90%"


def test_colours_do_not_hide_a_line() -> None:
    assert progress(["\x1b[36m(Worker pid=1)\x1b[0m INFO Starting to load \x1b[1mmodel\x1b[0m x..."]) is not None


def test_lines_that_say_nothing_are_no_phase() -> None:
    assert progress(["", "hello", "INFO: 10.0.0.1 GET /health"]) is None
    assert progress([]) is None


def test_every_text_can_be_filled_from_its_own_pattern() -> None:
    for mark in MARKS:
        mark.text.format(*["x"] * re.compile(mark.pattern).groups)
