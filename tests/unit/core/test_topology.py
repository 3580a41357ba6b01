"""Topologies: what the words mean and which node gets which part."""

from __future__ import annotations

import pytest

from sparkops.core.inventory import Node
from sparkops.core.topology import Placement, Shape, Topology, parse, place
from sparkops.errors import UsageError

NODES = tuple(Node(f"spark{n}", f"10.0.0.{n}") for n in range(1, 5))


def roles(placement: Placement) -> list[tuple[str, str, int]]:
    return [(part.node.name, part.role, part.rank) for part in placement.places]


@pytest.mark.parametrize(
    ("text", "topology"),
    [
        ("solo", Topology("solo", 1)),
        ("1x-solo", Topology("solo", 1)),
        ("2x-solo", Topology("n-solo", 2)),
        ("16x-solo", Topology("n-solo", 16)),
        ("cluster", Topology("cluster", None)),
    ],
)
def test_a_topology_is_a_word(text: str, topology: Topology) -> None:
    assert parse(text) == topology


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clutser", "did you mean cluster?"),
        ("2xsolo", "did you mean 2x-solo?"),
        ("0x-solo", "2x-solo"),
        ("ring", "there are: solo, <n>x-solo such as 2x-solo, cluster"),
        ("", "there are: solo"),
    ],
)
def test_an_unknown_topology_is_refused_with_the_nearest(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert message in str(error.value)


def test_a_cluster_takes_all_nodes_and_the_first_is_its_head() -> None:
    placement = place(parse("cluster"), NODES[:3])
    assert roles(placement) == [("spark1", "head", 0), ("spark2", "worker", 1), ("spark3", "worker", 2)]
    assert placement.head.node.name == "spark1"
    assert placement.shape == Shape("cluster", 3, "ray", "cluster")
    assert placement.shape.span == 3
    assert placement.note == ""


def test_several_servers_have_one_proxy_on_the_first_node() -> None:
    placement = place(parse("2x-solo"), NODES[:2])
    assert roles(placement) == [("spark1", "server", 0), ("spark2", "server", 1), ("spark1", "proxy", 0)]
    assert placement.shape == Shape("n-solo", 2, "ray", "2x-solo")
    assert placement.shape.span == 1


def test_every_node_can_have_a_proxy() -> None:
    assert [part.node.name for part in place(parse("2x-solo"), NODES, proxy="all").proxies] == ["spark1", "spark2"]


def test_more_nodes_than_servers_are_left_out_and_that_is_said() -> None:
    assert place(parse("2x-solo"), NODES).note == "2x-solo takes the first 2 nodes of 4 selected: spark1, spark2"
    assert place(parse("solo"), NODES).note == "solo takes the first node of 4 selected: spark1"
    assert roles(place(parse("solo"), NODES)) == [("spark1", "server", 0)]


def test_too_few_nodes_are_refused() -> None:
    with pytest.raises(UsageError, match=r"cluster takes 2 nodes or more, 1 is selected \(spark1\)"):
        place(parse("cluster"), NODES[:1])
    with pytest.raises(UsageError, match="5x-solo takes 5 nodes, 4 are selected") as error:
        place(parse("5x-solo"), NODES)
    assert error.value.hint is not None
    assert "4x-solo" in error.value.hint


def test_more_nodes_than_a_recipe_takes_are_refused_with_the_limit_to_use() -> None:
    with pytest.raises(UsageError, match="at most 2 nodes in a cluster, 4 are selected") as error:
        place(parse("cluster"), NODES, most=2)
    assert error.value.hint == "use --limit spark1,spark2"
