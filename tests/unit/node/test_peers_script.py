"""node/peers.sh in real shells: all at once, each within its limit, and what it prints is read."""

import platform
import shutil

from sparkops.core.facts import Unread
from sparkops.core.facts.peers import Peers, peers

PING = """
case "$*" in
    *192.0.2.9*) echo 'connect: Network is unreachable' >&2; exit 2 ;;
    *'-s 8972'*192.0.2.8*) echo 'ping: local error: message too long, mtu=1500' >&2; exit 1 ;;
    *192.0.2.7*) exec sleep 30 ;;
esac
echo "$*" >>"$HOME/asked"
echo '2 packets transmitted, 2 received, 0% packet loss, time 301ms'
"""
ASKED = ("--ping", "enp1s0f1np1", "192.0.2.5", "8972")


def told(node, *words: str) -> Peers:
    ended = node.run("peers", *words)
    assert ended.returncode == 0, ended.stderr
    found = peers(ended.stdout)
    assert isinstance(found, Peers)
    return found


def test_a_ping_is_bound_to_its_interface_and_may_not_be_fragmented(node):
    node.tool("ping", PING)
    (ping,) = told(node, *ASKED).pings
    assert (ping.interface, ping.address, ping.size, ping.answered, ping.small) == (*ASKED[1:3], 8972, True, None)
    asked = (node.home / "asked").read_text()
    assert "-M do -s 8972 -I enp1s0f1np1 192.0.2.5" in asked


LLDP = """
cat <<'END'
lldp.enp1s0f0np0.via=LLDP
lldp.enp1s0f0np0.rid=1
lldp.enp1s0f0np0.chassis.mac=48:a9:8a:00:00:01
lldp.enp1s0f0np0.chassis.name=crs812
lldp.enp1s0f0np0.port.ifname=qsfp56-dd-1-1
lldp.enp1s0f0np0.port.descr=QSFP56 1
lldp.enp1s0f0np0.via=LLDP
lldp.enp1s0f0np0.chassis.name=THIS.lan
lldp.enp1s0f0np0.port.ifname=enP2p1s0f0np0
lldp.enP7s7.via=LLDP
lldp.enP7s7.chassis.name=office
lldp.enP7s7.port.descr=port 12
END
"""


def test_what_lldp_names_is_read_but_not_this_node_itself(node):
    node.tool("lldpcli", LLDP.replace("THIS", platform.node().partition(".")[0]))
    node.tool("ping", PING)
    assert told(node, "--hear", "enp1s0f0np0").lldp == {
        "enp1s0f0np0": "crs812 qsfp56-dd-1-1",
        "enP7s7": "office port 12",
    }
    node.tool("lldpcli", "echo 'unable to connect to socket' >&2; exit 1")
    assert told(node, "--hear", "enp1s0f0np0").lldp == {}


def test_large_packets_that_are_lost_are_told_from_a_lost_link(node):
    node.tool("ping", PING)
    words = ("--ping", "a", "192.0.2.8", "8972", "--ping", "a", "192.0.2.9", "8972", *ASKED)
    found = {ping.address: ping for ping in told(node, *words).pings}
    assert (found["192.0.2.8"].answered, found["192.0.2.8"].small) == (False, True)
    assert "message too long" in found["192.0.2.8"].said
    assert (found["192.0.2.9"].answered, found["192.0.2.9"].reached) == (False, False)
    assert found["192.0.2.5"].answered


def test_a_ping_that_hangs_ends_at_its_limit_and_holds_nobody_up(node):
    """Who does not hang may take as long as a busy machine needs."""
    node.tool("ping", PING)
    limits = 'shift; case "$*" in *192.0.2.7*) set -- 0.1 "$@" ;; *) set -- 60 "$@" ;; esac'
    node.tool("timeout", f'[ "$1" = 3 ] || exit 99; {limits}; exec {shutil.which("timeout")} "$@"')
    node.extra["SPARKOPS_PROBE_LIMIT"] = "3"
    found = {ping.address: ping.answered for ping in told(node, "--ping", "a", "192.0.2.7", "8972", *ASKED).pings}
    assert found == {"192.0.2.7": False, "192.0.2.5": True}


def test_a_node_without_ping_says_so(node):
    node.tool("timeout", "shift; echo \"timeout: failed to run command '$1': No such file\" >&2; exit 127")
    (ping,) = told(node, *ASKED).pings
    assert not ping.answered


def test_a_container_is_run_with_the_gpu_and_removed(node):
    node.tool("docker", 'echo "$*" >>"$HOME/asked"; echo "GPU 0: NVIDIA GB10 (UUID: GPU-1)"')
    assert told(node, "--gpu", "vllm-node-mxfp4").gpu == "GPU 0: NVIDIA GB10 (UUID: GPU-1)"
    asked = (node.home / "asked").read_text().strip()
    assert asked == "run --rm --pull never --gpus all --network none --entrypoint nvidia-smi vllm-node-mxfp4 -L"


def test_a_container_without_the_gpu_is_told_in_the_engines_words_and_not_in_its_advice(node):
    said = "docker: Error response from daemon: could not select device driver"
    node.tool("docker", f"echo '{said}' >&2; exit 125")
    assert told(node, "--gpu", "x").gpu == Unread(f"{said} (exit 125)")
    node.tool("docker", f"printf '%s\\n\\n%s\\n' '{said}' \"Run 'docker run --help' for more\" >&2; exit 125")
    assert said in told(node, "--gpu", "x").gpu.reason


def test_nonsense_is_no_answer():
    assert isinstance(peers("Welcome to FunOS"), Unread)
    assert peers("sparkops-peers 1\n-- x y\n") == Peers(())


ALL = """
echo 'PING ff02::1%enp1 (ff02::1%enp1) 56 data bytes'
for last in 12 17 12; do
    echo "64 bytes from fe80::4ebb:47ff:fe2d:1a$last%enp1: icmp_seq=1 ttl=64 time=0.4 ms (DUP!)"
done
echo "$*" >>"$HOME/asked"
"""


def test_everyone_at_the_other_end_of_a_cable_is_heard_once(node):
    node.tool("ping", ALL)
    heard = told(node, "--among", "fe80::4ebb:47ff:fe2d:1a12 fe80::1", "--hear", "enp1", *ASKED).heard
    assert heard == (("enp1", "fe80::4ebb:47ff:fe2d:1a12"), ("enp1", "fe80::4ebb:47ff:fe2d:1a17"))
    assert "-6 -n -c 2 -W 1 ff02::1%enp1" in (node.home / "asked").read_text(), "users may ask once a second"


MANY = """
for number in $(seq 100 299); do echo "64 bytes from fe80::$number%enp1: icmp_seq=1 ttl=64 time=0.4 ms"; done
"""


def test_of_many_on_a_switch_those_that_are_looked_for_are_told(node):
    node.tool("ping", MANY)
    heard = told(node, "--among", "fe80::120 fe80::133", "--hear", "enp1").heard
    assert {address for _, address in heard} == {"fe80::120", "fe80::133", "fe80::299"}
    everyone = " ".join(f"fe80::{number}" for number in range(100, 300))
    assert len(told(node, "--among", everyone, "--hear", "enp1").heard) == 64


def test_without_ipv6_nobody_is_heard(node):
    node.tool("ping", "echo 'ping: connect: Network is unreachable' >&2; exit 2")
    assert told(node, "--hear", "enp1").heard == ()
