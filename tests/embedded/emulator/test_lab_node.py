"""A node looks like a healthy DGX Spark with one cable in port 0."""

from __future__ import annotations

import hashlib
import json

import pytest

SAID = [
    ("uname -m", "aarch64"),
    ("nproc", "20"),
    ("nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader", "NVIDIA GB10, 580.142, 12.1"),
    ("nvidia-smi --query-compute-apps=pid --format=csv,noheader", ""),
    ("ibdev2netdev | head -1", "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)"),
    ("rdma link | head -1", "link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0"),
    ("ethtool enp1s0f0np0 2>/dev/null | grep Speed", "\tSpeed: 200000Mb/s"),
    ('cat "$SPARKOPS_ROOT/sys/class/net/enP2p1s0f0np0/speed"', "200000"),
    ('cat "$SPARKOPS_ROOT/sys/class/net/enp1s0f0np0/phys_port_name"', "p0"),
    ('cat "$SPARKOPS_ROOT/sys/class/infiniband/rocep1s0f0/ports/1/state"', "4: ACTIVE"),
    ('cat "$SPARKOPS_ROOT/sys/class/dmi/id/product_name"', "NVIDIA_DGX_Spark"),
    ('grep -c "DGX Spark" "$SPARKOPS_ROOT/etc/dgx-release"', "2"),
    ("sudo -n id -u", "0"),
    ("id -un", "spark"),
    ("systemctl is-active docker", "active"),
    ("timedatectl show -p NTPSynchronized --value", "yes"),
    ("dpkg --print-architecture", "arm64"),
    ("lscpu | grep -c Cortex", "2"),
    ("ping -c 1 -W 1 $(hostname -I | cut -d' ' -f2) >/dev/null; echo $?", "0"),
    ("ping -c 1 -W 1 10.9.8.7 >/dev/null; echo $?", "1"),
]


@pytest.mark.parametrize(("line", "said"), SAID, ids=[row[0][:40] for row in SAID])
def test_a_node_says(node, line, said):
    assert node.run(line).out == (said + "\n" if said else "")


def test_ip_lists_both_twins_with_their_own_subnets(node):
    links = {link["ifname"]: link for link in json.loads(node.run("ip -j addr").out)}
    twins = [links[name]["addr_info"][0]["local"] for name in ("enp1s0f0np0", "enP2p1s0f0np0")]
    assert twins[0].split(".")[2] != twins[1].split(".")[2]
    assert links["enp1s0f0np0"]["mtu"] == 9000
    assert links["enp1s0f1np1"]["operstate"] == "DOWN"
    assert links["enP7s7"]["addr_info"][0]["local"] == node.address


def test_ss_shows_the_nodes_own_listeners_only(lab, node, eventually):
    node.docker("run", "-d", "--entrypoint=", "vllm-node", "python3", "-c", listener(node.address, 8123))
    eventually(lambda: f"{node.address}:8123 " in node.run("ss -Hltn").out)
    assert ":8123" not in lab.connect(2).run("ss -Hltn").out


def listener(address, port):
    return f"import socket, time; s = socket.create_server(({address!r}, {port})); time.sleep(600)"


def test_dropping_caches_takes_root_and_frees_memory(lab, node):
    lab.fault(1, "page-cache-full")
    free = 'awk \'$1 == "MemFree:" {print $2}\' "$SPARKOPS_ROOT/proc/meminfo"'
    before = int(node.run(free).out)
    assert node.run('echo 3 > "$SPARKOPS_ROOT/proc/sys/vm/drop_caches"').code != 0
    assert int(node.run(free).out) == before
    assert node.run('sync; echo 3 | sudo -n tee "$SPARKOPS_ROOT/proc/sys/vm/drop_caches" >/dev/null').code == 0
    assert int(node.run(free).out) > before + 50_000_000


def test_sudo_takes_the_password_line_and_leaves_the_rest_to_the_command(lab, node):
    lab.fault(1, "sudo-password")
    refused = node.run("sudo -n true")
    assert (refused.code, refused.err) == (1, "sudo: a password is required\n")
    assert node.run("sudo -S -p '' -- cat", stdin="spark\nfor the command\n").out == "for the command\n"
    assert node.run("sudo -S -p '' -- cat", stdin="wrong\n").code == 1


def test_crontab_keeps_what_it_is_given(node):
    assert node.run("crontab -l").err == "no crontab for spark\n"
    node.run("crontab -", stdin="*/30 * * * * true\n")
    assert node.run("crontab -l").out == "*/30 * * * * true\n"
    node.run("crontab -r")
    assert node.run("crontab -l").code == 1


def test_the_models_are_in_the_cache_with_their_real_size(node):
    hub = "~/.cache/huggingface/hub"
    done = node.run(f"du -sL --apparent-size -BG {hub}/models--openai--gpt-oss-120b/snapshots/*/ | cut -f1")
    assert 60 <= int(done.out.rstrip("G\n")) <= 62
    assert (
        json.loads(node.run(f"cat {hub}/models--openai--gpt-oss-120b/snapshots/*/config.json").out)["vocab_size"]
        == 201088
    )
    assert node.run(f"ls {hub}").out.split() == [
        "models--Qwen--Qwen3-Next-80B-A3B-Instruct-FP8",
        "models--openai--gpt-oss-120b",
    ]


def test_a_hash_of_what_comes_on_stdin_is_the_true_one(node):
    said = node.run("printf secret | sha256sum")
    assert said.out.split() == [hashlib.sha256(b"secret").hexdigest(), "-"]


def test_what_was_written_down_is_forgotten_with_every_change(node):
    def containers() -> list[int]:
        return [json.loads(node.docker("info", "--format", "{{json .}}").out)["ContainersRunning"] for _ in "12"]

    assert containers() == [0, 0]
    node.docker("run", "-d", "--name", "e", "--entrypoint=", "vllm-node", "sleep", "600")
    assert containers() == [1, 1]
    node.docker("kill", "e")
    assert containers() == [0, 0]
    node.docker("rm", "e")
    try:
        node.docker("tag", "vllm-node", "kept:latest")
        node.docker("rmi", "vllm-node")
        assert node.docker("image", "inspect", "vllm-node").code == 1
    finally:
        node.docker("tag", "kept:latest", "vllm-node:latest")
        node.docker("rmi", "kept:latest")
    assert node.docker("image", "inspect", "vllm-node").code == 0
