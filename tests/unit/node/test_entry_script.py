"""The first process of every container, from its start to the engine's end; no sleep takes its time."""

import json
import socket

import pytest

from support.shells import NodeShell

STATUS = """======== Autoscaler status: 2026-11-20 11:49:05.237283 ========
Node status
---------------------------------------------------------------
Active:
{nodes}
Pending:
 (no pending nodes)
Recent failures:
 (no failures)

Resources
---------------------------------------------------------------
Total Usage:
 0.0/2.0 GPU
"""


@pytest.fixture
def node(node: NodeShell) -> NodeShell:
    node.hurry()
    return node


def started(node: NodeShell, *engine: str) -> tuple[int, list[str]]:
    ended = node.run("entry", "server", "--", *engine)
    return ended.returncode, ended.stdout.splitlines()


def test_the_engine_gets_its_words_and_the_key_and_its_end_is_a_failed_start_whatever_the_code(
    node: NodeShell,
) -> None:
    words = ["a b", "it's", "$HOME", '{"a": [1]}', "", "--", "x;y"]
    (node.root / "run/sparkops").mkdir(parents=True)
    (node.root / "run/sparkops/key").write_text("sk-secret")
    script = 'for w; do echo "<$w>"; done; echo "$VLLM_API_KEY $LITELLM_MASTER_KEY"; exit 7'
    said = [*(f"<{word}>" for word in words), "sk-secret sk-secret"]
    ended = "sparkops: the engine ended with exit code 7 (failed start 1 of 5)"
    assert started(node, "sh", "-c", script, "engine", *words) == (7, [*said, ended])
    assert started(node, "true")[0] == 1


def test_a_page_gets_the_key_in_the_variables_that_it_reads(node: NodeShell) -> None:
    (node.root / "run/sparkops").mkdir(parents=True)
    (node.root / "run/sparkops/key").write_text("sk-a'b $c\n")
    script = 'echo "$OPENAI_API_KEY|$PASSWORD"'
    ended = node.run("entry", "page", "--keys", "OPENAI_API_KEY,PASSWORD", "--", "sh", "-c", script)
    assert ended.stdout.splitlines()[0] == "sk-a'b $c|sk-a'b $c"


def test_failed_starts_are_counted_for_each_boot_with_longer_waits(node: NodeShell) -> None:
    boot_id = node.root / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    for boot in ("first\n", "second\n"):
        boot_id.write_text(boot)
        for number in (1, 2, 3):
            waits = [f"sparkops: start {number} of 5 in {10 * 2 ** (number - 2)} seconds"] if number > 1 else []
            ended = f"sparkops: the engine ended with exit code 1 (failed start {number} of 5)"
            assert started(node, "false") == (1, [*waits, ended])


def test_a_ray_head_waits_for_all_nodes_and_names_the_cluster_to_the_engine(node: NodeShell) -> None:
    shape = ("--fabric", "127.0.0.1", "--nodes", "2", "--port", "6399", "--id", "65b90a06")
    for count in (1, 2):
        (node.home / f"status{count}").write_text(STATUS.format(nodes="\n".join([" 1 node_abc"] * count)))
    told = 'cat "$HOME/status1"; mv "$HOME/status2" "$HOME/status1"'
    node.tool("ray", f'echo "$*" >>"$HOME/ray.log"; [ "$1" = start ] || {{ {told}; }} 2>/dev/null')
    ended = node.run("entry", "ray-head", *shape, "--", "sh", "-c", 'echo "ray at $RAY_ADDRESS"')
    assert "sparkops: Ray has 1 of 2 nodes; waiting for the others" in ended.stdout
    assert "ray at 127.0.0.1:6399" in ended.stdout
    start = (node.home / "ray.log").read_text().splitlines()[0].split()
    assert start[:4] == ["start", "--head", "--node-ip-address=127.0.0.1", "--port=6399"]
    assert '--resources={"sparkops-id-65b90a06": 1}' in " ".join(start)
    assert {"--num-cpus=2", "--object-store-memory=1000000000", "--include-dashboard=false"} <= set(start)


@pytest.mark.parametrize(
    ("shown", "waits"),
    [
        ((" 0.0/1.0 sparkops-id-aaaaaaaa",), False),
        ((" 0.0/1.0 sparkops-id-bbbbbbbb", " 0.0/1.0 sparkops-id-aaaaaaaa"), True),
        ((" 0B/106.42GiB memory",), False),
    ],
)
def test_a_worker_joins_no_head_of_another_deployment(node: NodeShell, shown: tuple[str, ...], waits: bool) -> None:
    """A head of an older version has no ID."""
    for number, line in enumerate(shown):
        (node.home / f"status{number}").write_text(STATUS.format(nodes=" 1 node_abc") + line + "\n")
    node.tool(
        "ray",
        f'''[ "$1" = status ] || exit 7
cat "$HOME/status0"
[ ! -e "$HOME/status{len(shown) - 1}" ] || mv "$HOME/status{len(shown) - 1}" "$HOME/status0"''',
    )
    with socket.create_server(("127.0.0.1", 0)) as head:
        shape = ("--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", str(head.getsockname()[1]))
        ended = node.run("entry", "ray-worker", *shape, "--id", "aaaaaaaa")
    assert ("is of another deployment; waiting for our own" in ended.stdout) is waits
    assert "joining the Ray head" in ended.stdout


def test_the_head_keeps_its_interfaces_and_the_key_from_data_parallel_ranks_elsewhere(node: NodeShell) -> None:
    (node.home / "status").write_text(STATUS.format(nodes=" 1 node_abc"))
    node.tool("ray", '[ "$1" = start ] || cat "$HOME/status"')
    shape, place = ("--fabric", "127.0.0.1", "--nodes", "1"), "ray_non_carry_over_env_vars.json"
    for words in (("true",), ("true", "--data-parallel-backend", "ray")):
        assert not list(node.home.parent.rglob(place))
        node.run("entry", "ray-head", *shape, "--", *words)
    (written,) = node.home.parent.rglob(place)
    assert {"VLLM_API_KEY", "NCCL_IB_HCA", "VLLM_HOST_IP"} < set(json.loads(written.read_text()))
