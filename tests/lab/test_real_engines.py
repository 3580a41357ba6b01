"""Real vLLM over both nodes: Ray, mp, and two servers behind real LiteLLM that die, are measured and restart.

A load takes about a minute, so few: tests of one deployment follow each other.
"""

import contextlib
import json
import re
import signal
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support import models, serving
from support.browser import chromium, holds, kept, opened, violations
from support.long import LONG
from support.web import Screens, problems, watch_web

NODES = ("node1", "node2")
BOOT = "/proc/sys/kernel/random/boot_id"
DRAINING = ("2x-solo", "--set", "args.shutdown-timeout=280")
"""One deployment for all tests of two servers."""


def after(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_a_cluster_serves_over_ray_and_is_left_alone_by_the_next_deploy(lab):
    lab.clear()
    (endpoint,) = lab.deploy("cluster")["endpoints"]
    assert lab.roles() == [("node1", "head"), ("node2", "worker")]
    assert lab.ray_nodes() == 2
    words = lab.argv("node1", "head")
    assert (after(words, "--tensor-parallel-size"), after(words, "--distributed-executor-backend")) == ("2", "ray")
    assert "lm_head" not in after(words, "--mxfp4-layers")
    assert lab.is_real("node1", "head")
    assert endpoint["url"] == f"http://{lab.address('node1')}:8000/v1"
    assert lab.ask().tokens == 4
    assert lab.ask(key="sk-wrong").code == 401
    before, loads = lab.everywhere(running=False), lab.loads("node1", "head")
    assert lab.deploy("cluster")["changed"] is False
    assert (lab.everywhere(running=False), lab.loads("node1", "head")) == (before, loads)


SHORT = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=48", "--skip-coherence")
"""A prompt that takes the tiny model longer than a busy machine takes to ask: else there is nothing to measure."""
FINISHED = "vllm:request_success_total"
METRICS = {"prefill": "pp_throughput", "decode": "tg_throughput", "peak": "peak_throughput", "ttft": "e2e_ttft"}


def test_a_benchmark_without_an_internet_keeps_the_numbers_of_llama_benchy(lab):
    lab.deploy("cluster")
    document = lab.json("bench", "run", *SHORT, "--on", "node1")
    kept = json.loads((lab.state_home / "sparkops" / "bench" / f"{document['id']}.json").read_text())
    own = {entry["concurrency"]: entry for raw in kept["raw"] for entry in raw["benchmarks"]}
    assert sorted(own) == [1, 2]
    for row in document["rows"]:
        for name, theirs in METRICS.items():
            assert row["metrics"][name]["mean"] == own[row["concurrency"]][theirs]["mean"]
        assert row["metrics"]["decode"]["mean"] > 0


def boot(lab: Any) -> str:
    """Failed starts are counted per boot, so each has its own name, inside containers too."""
    return str(lab.on("node1", "cat", BOOT))


def waits(lab: Any) -> int:
    """How often the head found no address of the fabric when it started."""
    return str(lab.on("node1", "docker", "logs", lab.one("node1", "head"))).count("waiting for the fabric address")


def watched(lab: Any) -> dict[str, Any]:
    """What `watch` says of the cluster, whichever nodes answer."""
    found = lab.cli("watch", "--once", "--json", code=None).document["deployments"]
    return next(iter(found), {"state": "", "ranks": []})


DEVICE = "/dev/infiniband/rdma_cm"
LATE = f"echo $(($(stat -c %Y {DEVICE}) - $(stat -c %Y /run/lab/boot_id)))"


def test_after_a_reboot_and_a_power_cut_the_cluster_serves_again_though_addresses_and_devices_are_late(lab, eventually):
    lab.deploy("cluster")
    before, loads, waited, boots = lab.everywhere(), lab.loads("node1", "head"), waits(lab), boot(lab)
    phases: set[tuple[str, str]] = set()

    def serves_and_is_watched() -> bool:
        phases.update((rank["role"], rank["phase"]["name"]) for rank in watched(lab)["ranks"] if rank["phase"])
        return lab.serves()

    with lab.trouble("node1", "late-fabric"), lab.trouble("node2", "late-device"):
        for ended in [lab.start("lab", "fault", *how) for how in (("node1", "reboot"), ("node2", "power-loss"))]:
            lab.ended(ended)
        assert eventually(lambda: lab.ran_on("node2", "test", "-e", DEVICE).returncode == 0)
        assert eventually(serves_and_is_watched)
    assert {role for role, _ in phases} == {"head", "worker"}, phases
    assert lab.everywhere() == before
    assert waits(lab) > waited
    assert int(lab.on("node2", "sh", "-c", LATE)) > 50, "seconds since the boot"
    assert lab.on("node2", "docker", "exec", lab.one("node2", "worker"), "ls", "/dev/infiniband/uverbs0")
    assert lab.loads("node1", "head") > loads
    assert lab.ray_nodes() == 2
    assert boot(lab) != boots
    assert lab.on("node1", "docker", "exec", lab.one("node1", "head"), "cat", BOOT) == boot(lab)
    assert lab.deploy("cluster")["changed"] is False


def test_watch_counts_what_real_vllm_counts(lab):
    lab.deploy("cluster")
    done = watched(lab)["requests"]["done"]
    assert lab.ask().tokens == 4
    shown = watched(lab)
    assert (shown["state"], shown["requests"]["done"], shown["requests"]["failed"]) == ("serving", done + 1, 0)
    assert shown["kv_cache"] is not None
    assert {rank["role"]: rank["health"] for rank in shown["ranks"]}["head"] == "200"


def test_the_page_shows_real_engines_and_one_that_is_paused(lab, eventually):
    lab.deploy("cluster")
    name, head = "openai-gpt-oss-120b", lab.one("node1", "head")
    with chromium() as browser, watch_web(lab) as web, opened(browser, web.links[-1]) as page:
        screens = Screens(web, page)
        assert eventually(lambda: page.locator("#deployments .value.good").count() == 1)
        page.get_by_role("button", name=f"log of {head}").click()
        assert holds(page, "document.getElementById('log').textContent.includes('vLLM')")
        lab.on("node1", "docker", "pause", head)
        assert eventually(lambda: screens.show(name, "deployment-failed")), problems(page)
        kept(page, "real-engines")
        lab.on("node1", "docker", "unpause", head)
        assert eventually(lambda: screens.end(name, "deployment-failed")), problems(page)
        assert violations(page) == []
    assert lab.serves()


def counted(lab: Any, node: str, name: str) -> int:
    """A counter of this node's engine, all its lines together; 0 where it does not answer."""
    url = f"http://{lab.address(node)}:{lab.engine_port(node)}/metrics"
    lines = lab.ran_on(node, "curl", "-sS", "--noproxy", "*", url).stdout.splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith(name)))


def test_a_cluster_serves_without_ray_and_is_serving_while_it_is_busy(lab, eventually):
    lab.deploy("cluster", "--executor", "mp", "--set", "args.max-num-seqs=1")
    words = lab.argv("node2", "worker")
    assert (after(words, "--nnodes"), after(words, "--node-rank"), "--headless" in words) == ("2", "1", True)
    assert after(lab.argv("node1", "head"), "--distributed-executor-backend") == "mp"
    assert lab.is_real("node1", "head")
    assert lab.ask().tokens == 4

    with ThreadPoolExecutor() as pool:
        long = [pool.submit(lab.ask, tokens=4000, seconds=900) for _ in range(4)]
        try:
            assert eventually(lambda: counted(lab, "node1", "vllm:num_requests_waiting")), "it takes one at a time"
            assert lab.ask(seconds=3).code == 0, "nobody else gets an answer"
            assert eventually(lab.serving)
            assert not all(one.done() for one in long)
        finally:
            lab.ran_on("node1", "pkill", "-f", "max_tokens.: 4000")


@pytest.mark.parametrize("killed", [pytest.param("node2", marks=LONG), "node1"])
def test_a_cluster_without_ray_serves_again_after_the_loss_of_either_rank(lab, eventually, killed):
    """A real rank without an API never notices by itself that its head is gone, nor an idle head that a rank is."""
    lab.deploy("cluster", "--executor", "mp", "--set", "args.max-num-seqs=1")
    others = {"node1": ("node2", "worker"), "node2": ("node1", "head")}[killed]
    begun = lab.restarts(*others)
    lab.fault(killed, "engine-killed")
    assert eventually(lambda: lab.restarts(*others) > begun, 120)
    assert eventually(lambda: lab.serves() and lab.ranks() == 2 and lab.serving())


def answered(lab: Any) -> dict[str, int]:
    """How many requests each data parallel rank has answered, as the head's API counts them."""
    url = f"http://{lab.address('node1')}:8000/metrics"
    lines = lab.ran_on("node1", "curl", "-sS", "--noproxy", "*", url).stdout.splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        if line.startswith(FINISHED) and (rank := re.search(r'engine="(\d+)"', line)):
            counts[rank[1]] = counts.get(rank[1], 0) + int(float(line.split()[-1]))
    return counts


@pytest.mark.parametrize("executor", ["mp", pytest.param("ray", marks=LONG)])
def test_each_of_two_data_parallel_ranks_answers_through_one_api(lab, eventually, executor):
    lab.deploy("cluster", "--executor", executor, "--set", "args.data-parallel-size=2")
    words = lab.argv("node1", "head")
    assert (after(words, "--data-parallel-size"), after(words, "--data-parallel-size-local")) == ("2", "1")
    assert lab.is_real("node1", "head")
    assert eventually(lambda: lab.ask().tokens == 4 and all(answered(lab).get(rank) for rank in "01"))


DRAFTED = "vllm:spec_decode_num_draft_tokens_total"


def test_a_draft_model_is_fetched_copied_and_used_with_the_network_cut(lab, eventually):
    fetched = lab.fetch_tiny_model()
    assert [(one["fetched"] > 0, one["copied"] > 0) for one in fetched] == [(True, False), (False, True)]
    draft = {"method": "draft_model", "model": models.MODEL, "num_speculative_tokens": 2}
    lab.deploy("2x-solo", "--set", f"args.speculative-config={json.dumps(draft)}")
    for node in NODES:
        assert lab.is_real(node, "server")
        assert lab.ask(node=node, port=lab.engine_port(node), tokens=32).tokens == 32
        assert eventually(lambda node=node: counted(lab, node, DRAFTED) > 0), "taken or not: its weights are made up"
    lab.clear()
    for node in NODES:
        lab.on(node, "rm", "-rf", f"/home/spark/.cache/huggingface/hub/models--{models.MODEL.replace('/', '--')}")


def test_two_servers_behind_the_proxy_lose_no_request_when_one_dies(lab, eventually):
    (endpoint,) = lab.deploy(*DRAINING)["endpoints"]
    assert lab.roles() == [("node1", "proxy"), ("node1", "server"), ("node2", "server")]
    assert all(lab.is_real(node, "server") for node in NODES)
    assert lab.ask(key="sk-wrong").code == 401
    assert lab.ask(node="node2", port=lab.engine_port("node2"), key="sk-wrong").code == 401, (
        "the servers behind it are protected too"
    )

    with serving.Client(endpoint["url"], lab.key(), pause=0.5) as client:
        assert eventually(lambda: client.answers["whole"] > 10)
        restarts = lab.restarts("node2", "server")
        lab.fault("node2", "engine-killed")
        assert eventually(lambda: lab.restarts("node2", "server") > restarts)
        assert eventually(lambda: lab.serves("node2"))
        since = counted(lab, "node2", FINISHED)
        assert eventually(lambda: counted(lab, "node2", FINISHED) > since + 2), "it gets requests again"
    assert set(client.answers) == {"whole"}, client.answers
    assert eventually(lab.serving)


ENDLESS = ("--set", "concurrency=1", "--set", "runs=30", "--set", "pp=64", "--set", "tg=3500", "--skip-coherence")
FEW = ("--set", "runs=3")
"""For a benchmark that goes on after an answer broke off, whatever the proxy made of that."""


def working(lab: Any) -> list[str]:
    """The nodes whose engines work on a request."""
    return [node for node in NODES if counted(lab, node, "vllm:num_requests_running")]


def measures(lab: Any) -> list[str]:
    """The containers of llama-benchy on the node that measures."""
    return list(lab.on("node1", "docker", "ps", "-aq", "--filter", "ancestor=llama-benchy:0.4.0").split())


@pytest.fixture
def measuring(lab, eventually):
    """Begins a benchmark that is in the middle of answers, as warm-ups make a few tokens only; and who answers."""

    def tokens():
        return sum(counted(lab, node, "vllm:generation_tokens_total") for node in NODES)

    def begin(person, *words):
        since = tokens()
        process = person.start("bench", "run", *ENDLESS, "--on", "node1", "--json", *words)
        busy = []
        assert eventually(lambda: busy.extend(working(lab)) or (busy and tokens() > since + 100))
        assert process.poll() is None, process.communicate()
        return process, busy[-1]

    return begin


def test_what_measures_on_a_node_ends_with_whoever_began_it_also_behind_sudo(lab, measuring, eventually, tmp_path):
    lab.deploy(*DRAINING)
    process, _ = measuring(lab)
    process.send_signal(signal.SIGINT)
    assert "--resume" in lab.ended(process, 130).document["error"]["hint"]
    assert eventually(lambda: not measures(lab) and not working(lab))
    stock = lab.as_user(tmp_path, become="sudo", SPARKOPS_BECOME_PASSWORD="spark")
    with lab.trouble("node1", "no-docker-group"), lab.trouble("node1", "sudo-password"):
        process, _ = measuring(stock, "--ask-become-pass")
        process.kill()
        process.communicate()
        assert eventually(lambda: not measures(lab) and not working(lab))


class Streams(threading.Thread):
    """One long stream after the other from one server, until it takes no more: (begun, ended, last line) of each."""

    def __init__(self, url: str, key: str, tokens: int) -> None:
        super().__init__(daemon=True)
        body = {"model": serving.GPT, "prompt": "Hello", "max_tokens": tokens, "ignore_eos": True, "stream": True}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.asked = urllib.request.Request(f"{url}/completions", json.dumps(body).encode(), headers)
        self.going = threading.Event()
        self.seen: list[tuple[float, float, str]] = []

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._one()

    def _one(self) -> None:
        begun, last = 0.0, ""
        try:
            with serving.OPENER.open(self.asked, timeout=300) as answer:
                for line in answer:
                    begun, last = begun or time.time(), line.decode().strip() or last
                    self.going.set()
        finally:
            if begun:
                self.seen.append((begun, time.time(), last))


def started(lab: Any) -> dict[str, str]:
    """When each node's server was started last."""
    return {
        node: lab.on(node, "docker", "inspect", "--format", "{{.State.StartedAt}}", lab.one(node, "server"))
        for node in NODES
    }


def signalled(lab: Any, node: str, since: float) -> list[float]:
    """When the node's Docker asked its server to end, in seconds since 1970."""
    words = ("docker", "events", "--since", str(int(since)), "--until", str(int(time.time())))
    shape = ("--filter", "event=kill", "--filter", f"container={lab.one(node, 'server')}", "--format", "{{.TimeNano}}")
    return [int(line) / 1e9 for line in lab.on(node, *words, *shape).splitlines()]


def test_a_rolling_restart_loses_no_request_a_stream_ends_before_its_server_and_a_check_changes_nothing(
    lab, eventually
):
    (endpoint,) = lab.deploy(*DRAINING)["endpoints"]
    before, containers = started(lab), lab.everywhere(running=False)
    checked = lab.json("restart", "--check")
    assert (started(lab), lab.everywhere(running=False)) == (before, containers)

    since, url = time.time(), f"http://{lab.address('node1')}:{lab.engine_port('node1')}/v1"
    streams = [Streams(url, lab.key(), tokens) for tokens in (1700, 2500)]
    with serving.Client(endpoint["url"], lab.key(), pause=0.5) as client:
        for thread in streams:
            thread.start()
        assert all(one.going.wait(300) for one in streams)
        document = lab.json("restart")
    for thread in streams:
        thread.join(300)
    seen = [stream for one in streams for stream in one.seen]
    assert (document["in_turns"], document["restarted"]) == (True, checked["restarted"])
    assert lab.everywhere(running=False) == containers
    assert all(now != before[node] for node, now in started(lab).items())
    assert set(client.answers) == {"whole"}, client.answers
    assert {last for _, _, last in seen} == {"data: [DONE]"}
    asked = min(signalled(lab, "node1", since))
    assert any(begun < asked < ended for begun, ended, _ in seen), "one was on its way when its server was told"
    assert eventually(lab.serving)


def test_a_server_that_dies_behind_the_proxy_in_the_middle_of_an_answer_is_a_failure_and_no_number(lab, measuring):
    lab.deploy(*DRAINING)
    servers = {node: lab.one(node, "server") for node in NODES}
    process, node = measuring(lab, *FEW)
    lab.on(node, "docker", "restart", "-t", "0", servers[node])
    document = lab.ended(process, 5).document
    assert document["ok"] is False
    assert document["rows"] == []
    assert f"{node}: {servers[node]} stopped or restarted during the run" in document["record"]["problems"], (
        "whatever the proxy did"
    )
    assert lab.json("bench", "show", document["id"])["state"] == "failed"
    assert lab.cli("bench", "export", document["id"], code=3).out == ""
    assert measures(lab) == []
