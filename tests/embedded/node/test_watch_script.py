"""The script that prints frames, in each shell: what a beat has, and that it ends with its reader."""

import subprocess

import pytest

from sparkops.core.facts import GpuLoad, Unread, known
from sparkops.core.watch.frame import WatchFrame, frame
from sparkops.core.watch.stream import Frames

ENGINE = ("--engine", "sparkops-chat-server-1", "http://127.0.0.1:9/health", "http://127.0.0.1:9/metrics")
LOAD = "echo '2405, 42.10, 96, 58, P0, 0x0000000000000000'"
LOG = """[ "$1" != logs ] || printf 'Loading weights took 3.0 seconds\\napi_key: hf_aaaaaaaaaaaaaaaaaaaaaaaaaa\\n'"""


@pytest.fixture
def beats(node):
    """The first so many frames of a node; nobody waits between them."""
    node.tool("nvidia-smi", LOAD)
    node.tool("docker", LOG)
    node.tool("sleep", "exit 0")
    files = {"meminfo": "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 400 kB\n", "uptime": "5.0 1.0\n"}
    for name, text in files.items():
        (node.root / "proc" / name).write_text(text)

    def first(count: int, *words: str) -> list[WatchFrame]:
        process = subprocess.Popen(
            node.words("watch", "2", *words), env=node.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        split, found = Frames(), []
        while len(found) < count:
            found += [frame(text) for text in split.take(process.stdout.read1())]
        process.stdout.close()
        assert process.wait(30) != 0  # the next frame found no reader
        return found[:count]

    return first


def test_each_third_beat_asks_more_and_all_beats_have_what_costs_little(beats):
    found = beats(4)
    assert [one.asked_docker for one in found] == [True, False, False, True]
    assert all(isinstance(one.gpu_load, GpuLoad) and one.memory.available_kib == 400 for one in found)
    times = [one.uptime for one in found]
    assert times == sorted(times)
    assert all(one.engines == {} for one in found)


def test_an_engine_that_does_not_answer_shows_the_end_of_its_log_without_secrets(beats):
    (one,) = beats(1, *ENGINE)
    engine = known(one.engines, {})["sparkops-chat-server-1"]
    assert (engine.health, engine.phase.name) == ("refused", "weights")
    assert not any("aaaa" in line for line in engine.log)


def test_drops_are_told_when_there_is_a_new_one(beats, node):
    folder = node.home / ".local/state/sparkops/cache"
    folder.mkdir(parents=True)
    line = "1000 x page cache dropped (all): MemFree 1 -> 2, MemAvailable 1 -> 2, Cached 2 -> 1 KiB\n"
    (folder / "log").write_text(line)
    assert [len(known(one.drops, ())) for one in beats(4)] == [1, 0, 0, 0]


def test_without_docker_driver_and_curl_each_value_says_why(beats, node):
    for name in ("docker", "nvidia-smi", "curl"):
        node.tool(name, "echo it does not work >&2\nexit 127")
    (one,) = beats(1, *ENGINE)
    assert isinstance(one.seen, Unread)
    assert isinstance(one.gpu_load, Unread)
    assert known(one.engines, {})["sparkops-chat-server-1"].health == "broken"
    assert one.memory.total_kib == 1000
