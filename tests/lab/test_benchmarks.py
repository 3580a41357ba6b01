"""Real llama-benchy against real vLLM behind LiteLLM, offline, on a node: interrupts and a death.

The first tests take what `test_real_engines` leaves serving, so that nothing is loaded for them.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

ENDLESS = ("--set", "concurrency=1", "--set", "runs=30", "--set", "pp=64", "--set", "tg=3500", "--skip-coherence")
FEW = ("--set", "runs=3")
"""For a benchmark that goes on after an answer broke off, whatever the proxy made of that."""
ON = ("--on", "node1")
NODES = ("node1", "node2")


def metric(lab, node, name):
    """A counter of this node's engine; none where it does not answer."""
    text = lab.ran_on(node, "curl", "-sS", "--noproxy", "*", f"http://{lab.address(node)}:8000/metrics").stdout
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def made(lab):
    """Tokens, by all engines since they were started."""
    return sum(metric(lab, node, "vllm:generation_tokens_total") for node in NODES)


def working(lab):
    """The nodes whose engines work on a request."""
    return [node for node in NODES if metric(lab, node, "vllm:num_requests_running")]


def measures(lab):
    """The containers of llama-benchy on the node that measures."""
    return lab.on("node1", "docker", "ps", "-aq", "--filter", "ancestor=llama-benchy:0.4.0").split()


@pytest.fixture
def measuring(lab, eventually):
    """Begins a benchmark that is in the middle of answers, as warm-ups make a few tokens only; and who answers."""

    def begin(person, *words):
        since = made(lab)
        process = person.begin("bench", "run", *ENDLESS, *ON, "--json", *words)
        busy = []
        assert eventually(lambda: busy.extend(working(lab)) or (busy and made(lab) > since + 100))
        assert process.poll() is None, process.communicate()
        return process, busy[-1]

    return begin


def test_what_measures_on_a_node_ends_with_whoever_began_it_also_behind_sudo(lab, measuring, eventually, tmp_path):
    lab.deploy("2x-solo")
    process, _ = measuring(lab)
    process.send_signal(signal.SIGINT)
    assert "--resume" in lab.ended(process, 130).document["error"]["hint"]
    assert eventually(lambda: not measures(lab) and not working(lab))
    inventory = tmp_path / "stock.yml"
    inventory.write_text(Path(lab.inventory).read_text().replace("user: spark", "user: spark\n    become: sudo"))
    Path(f"{inventory}.known_hosts").write_text(Path(f"{lab.inventory}.known_hosts").read_text())
    stock = replace(lab, inventory=str(inventory), more={"SPARKOPS_BECOME_PASSWORD": "spark"})
    with lab.trouble("node1", "no-docker-group"), lab.trouble("node1", "sudo-password"):
        process, _ = measuring(stock, "--ask-become-pass")
        process.kill()
        process.communicate()
        assert eventually(lambda: not measures(lab) and not working(lab))


def test_a_server_that_dies_behind_the_proxy_in_the_middle_of_an_answer_is_a_failure_and_no_number(lab, measuring):
    lab.deploy("2x-solo")
    servers = {node: lab.one(node, "server") for node in NODES}
    process, node = measuring(lab, *FEW)
    lab.on(node, "docker", "restart", "-t", "0", servers[node])
    document = lab.ended(process, 5).document
    assert document["ok"] is False
    assert document["rows"] == []
    assert f"{node}: {servers[node]} died in the middle" in document["record"]["problems"], "whatever the proxy did"
    assert lab.json("bench", "show", document["id"])["state"] == "failed"
    assert lab.cli("bench", "export", document["id"], code=3).out == ""
    assert measures(lab) == []
