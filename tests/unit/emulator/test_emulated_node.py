"""A node looks like a healthy DGX Spark with one cable in port 0, and its faults change what it says."""

import json
import os
import shlex
from pathlib import Path

from sparklab import files
from sparklab.faults import FAULTS
from sparklab.tree import memory, models
from support import golden
from support.paths import ROOT, TESTS

READ = {
    "sys/class/net/enP2p1s0f0np0/speed": "200000\n",
    "sys/class/net/enp1s0f0np0/phys_port_name": "p0\n",
    "sys/class/infiniband/rocep1s0f0/ports/1/state": "4: ACTIVE\n",
    "sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark\n",
}


def test_its_programs_say_what_those_of_a_spark_and_docker_say(nodes):
    """On a node with a container `c` that runs; `!` stands before the lines of stderr."""
    identity = nodes.runs("c").id

    def outcome(line):
        told = nodes.says(*shlex.split(line))
        said = "".join(
            f"{'! ' if stream == 2 else ''}{row}\n" for stream in (1, 2) for row in told.on(stream).splitlines()
        )
        return f"{f'exit {told.code}' if told.code else ''}\n{said.replace(identity, 'ID')}"

    golden.hold_lines(Path(__file__).with_name("said.txt"), outcome)


def test_its_files_are_those_of_a_spark(nodes):
    assert {path: files.read(nodes.one.root(path)) for path in READ} == READ
    assert files.read(nodes.one.root("etc", "dgx-release")).count("DGX Spark") == 2


def test_it_says_that_it_is_emulated(nodes):
    assert "emulated" in files.read(nodes.one.root("etc", "sparkops-lab"))


def test_its_own_fabric_answers_pings_and_no_stranger_does(nodes):
    assert nodes.says("ping", "-c", "1", nodes.two.fabric[0]).code == 0
    assert nodes.says("ping", "-c", "1", "10.9.8.7").code == 1
    for kind in ("pings-lost", "cx7-down"):
        nodes.fault(kind, node=nodes.two)
        assert nodes.says("ping", "-c", "1", nodes.two.fabric[0]).code == 1, kind
        nodes.fault(kind, off=True, node=nodes.two)


def test_ip_lists_both_twins_with_their_own_subnets(nodes):
    links = {link["ifname"]: link for link in json.loads(nodes.says("ip", "-j", "addr").on(1))}
    twins = [links[name]["addr_info"][0]["local"] for name in ("enp1s0f0np0", "enP2p1s0f0np0")]
    assert twins[0].split(".")[2] != twins[1].split(".")[2]
    assert links["enp1s0f0np0"]["mtu"] == 9000
    assert links["enp1s0f1np1"]["operstate"] == "DOWN"
    assert links["enP7s7"]["addr_info"][0]["local"] == nodes.one.address


def test_cx7_down_takes_both_twins_and_their_addresses_away(nodes):
    nodes.fault("cx7-down")
    assert "(Up)" not in nodes.says("ibdev2netdev").on(1)
    links = json.loads(nodes.says("ip", "-j", "addr").on(1))
    assert all(not link["addr_info"] for link in links if link["ifname"].startswith("enp1"))
    assert files.read(nodes.one.root("sys/class/net/enp1s0f0np0/operstate")) == "down\n"
    nodes.fault("cx7-down", off=True)
    assert nodes.says("ibdev2netdev").on(1).count("(Up)") == 2


def test_the_models_are_in_the_cache_with_their_real_size_and_go_away_with_a_fault(nodes):
    hub = models.hub(nodes.one)
    names = ["models--Qwen--Qwen3-Next-80B-A3B-Instruct-FP8", "models--openai--gpt-oss-120b"]
    assert sorted(os.listdir(hub)) == names
    (snapshot,) = (hub / names[1] / "snapshots").iterdir()
    assert 60 <= sum(path.stat().st_size for path in snapshot.iterdir()) / models.GIB <= 62
    assert json.loads((snapshot / "config.json").read_text())["vocab_size"] == 201088
    nodes.fault("no-model")
    assert os.listdir(hub) == []
    nodes.fault("no-model", off=True)
    assert sorted(os.listdir(hub)) == names


def test_a_full_page_cache_leaves_little_free_until_it_is_dropped(nodes):
    def free():
        rows = files.read(nodes.one.root("proc", "meminfo")).splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("MemFree:"))

    nodes.fault("page-cache-full")
    full = free()
    memory.change(nodes.one, cached=memory.CACHE_DROPPED)
    assert free() > full + 50_000_000


def test_every_fault_has_a_line_that_explains_it_and_an_embedded_test_that_names_it():
    assert all(text and "\n" not in text for text in FAULTS.values())
    tests = "".join(path.read_text() for path in (TESTS / "embedded").rglob("*.py"))
    # tests/embedded/test_faults_found.py finds each fault of this table.
    table = (ROOT / "docs" / "reference" / "lab.md").read_text()
    assert [kind for kind in FAULTS if f'"{kind}"' not in tests and f"| `{kind}` |" not in table] == []


def test_a_slow_node_takes_five_times_as_long(nodes):
    healthy = nodes.one.seconds(10)
    nodes.fault("slow")
    assert nodes.one.seconds(10) == 5 * healthy
