"""Real vLLM over both nodes: Ray, mp, and real LiteLLM before two servers. A load takes about a minute, so few."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MODEL = "openai/gpt-oss-120b"
NODES = ("node1", "node2")
BOOT = "/proc/sys/kernel/random/boot_id"


def is_real(lab: Any, node: str, role: str) -> bool:
    return "vllm-front: runs" in lab.on(node, "docker", "logs", lab.one(node, role))


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
    assert is_real(lab, "node1", "head")
    assert endpoint["url"] == f"http://{lab.address('node1')}:8000/v1"
    assert lab.ask().tokens == 4
    assert lab.ask(key="sk-wrong").code == 401
    before, loads = lab.everywhere(running=False), lab.loads("node1", "head")
    assert lab.deploy("cluster")["changed"] is False
    assert (lab.everywhere(running=False), lab.loads("node1", "head")) == (before, loads)


FEW = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=48", "--skip-coherence")
"""A prompt that takes the tiny model longer than a busy machine takes to ask: else there is nothing to measure."""
METRICS = {"prefill": "pp_throughput", "decode": "tg_throughput", "peak": "peak_throughput", "ttft": "e2e_ttft"}


def test_a_benchmark_without_an_internet_keeps_the_numbers_of_llama_benchy(lab):
    lab.deploy("cluster")
    document = lab.json("bench", "run", *FEW, "--on", "node1")
    kept = json.loads((lab.state / "sparkops" / "bench" / f"{document['id']}.json").read_text())
    own = {entry["concurrency"]: entry for raw in kept["raw"] for entry in raw["benchmarks"]}
    assert sorted(own) == [1, 2]
    for row in document["rows"]:
        for name, theirs in METRICS.items():
            assert row["metrics"][name]["mean"] == own[row["concurrency"]][theirs]["mean"]
        assert row["metrics"]["decode"]["mean"] > 0


def boot(lab: Any) -> str:
    """Failed starts are counted per boot, so each has its own name, inside containers too."""
    return str(lab.on("node1", "cat", BOOT))


def test_after_a_reboot_of_both_nodes_the_cluster_serves_again_by_itself(lab, eventually):
    lab.deploy("cluster")
    before, loads, boots = lab.everywhere(), lab.loads("node1", "head"), boot(lab)
    for ended in [lab.start("lab", "fault", node, "reboot") for node in NODES]:
        lab.ended(ended)
    assert eventually(lab.serves, 600)
    assert lab.everywhere() == before
    assert lab.loads("node1", "head") == loads + 1
    assert lab.ray_nodes() == 2
    assert boot(lab) != boots
    assert lab.on("node1", "docker", "exec", lab.one("node1", "head"), "cat", BOOT) == boot(lab)
    assert lab.deploy("cluster")["changed"] is False


def counted(lab: Any, node: str, name: str) -> int:
    """A number of this node's server, all its lines together."""
    lines = lab.on(node, "curl", "-sS", "--noproxy", "*", f"http://{lab.address(node)}:8000/metrics").splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith(name)))


FINISHED = "vllm:request_success_total"


def test_a_cluster_serves_without_ray_and_is_serving_while_it_is_busy(lab, eventually):
    lab.deploy("cluster", "--executor", "mp", "--set", "args.max-num-seqs=1")
    words = lab.argv("node2", "worker")
    assert (after(words, "--nnodes"), after(words, "--node-rank"), "--headless" in words) == ("2", "1", True)
    assert after(lab.argv("node1", "head"), "--distributed-executor-backend") == "mp"
    assert is_real(lab, "node1", "head")
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


class Client(threading.Thread):
    """One request after another through the proxy, each a new connection, until told to end."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(daemon=True)
        self.url, self.key = url, key
        self.codes: Counter[str] = Counter()
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            self.codes[self._ask()] += 1
            time.sleep(0.5)

    def _ask(self) -> str:
        body = json.dumps({"model": MODEL, "prompt": "Hello", "max_tokens": 2}).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(urllib.request.Request(f"{self.url}/completions", body, headers), timeout=120) as answer:
                return str(answer.status) if json.loads(answer.read())["choices"] else "empty"
        except urllib.error.HTTPError as error:
            return f"{error.code} {error.read()[:300]!r}"
        except OSError as error:
            return str(error)


def test_two_servers_behind_the_proxy_lose_no_request_when_one_dies(lab, eventually):
    (endpoint,) = lab.deploy("2x-solo")["endpoints"]
    assert lab.roles() == [("node1", "proxy"), ("node1", "server"), ("node2", "server")]
    assert all(is_real(lab, node, "server") for node in NODES)
    assert lab.ask(port=4000, key="sk-wrong").code == 401
    assert lab.ask(node="node2", key="sk-wrong").code == 401, "the servers behind it are protected too"

    client = Client(endpoint["url"], lab.key())
    client.start()
    assert eventually(lambda: client.codes["200"] > 10)
    restarts = lab.restarts("node2", "server")
    lab.fault("node2", "engine-killed")
    assert eventually(lambda: lab.restarts("node2", "server") > restarts)
    assert eventually(lambda: lab.serves("node2"))
    since = counted(lab, "node2", FINISHED)
    assert eventually(lambda: counted(lab, "node2", FINISHED) > since + 2), "it gets requests again"
    client.enough.set()
    client.join(130)
    assert set(client.codes) == {"200"}, client.codes
    assert eventually(lab.serving)
