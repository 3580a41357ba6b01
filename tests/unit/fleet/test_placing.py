"""Where the deployments of a fleet go: never worse than the best of all ways, and why one has no place."""

from dataclasses import replace

import pytest
from unit.fleet import fleets

from sparkops.core.fleet.demand import Demand, Host, Pool
from sparkops.core.fleet.place import NoPlace, place
from sparkops.core.fleet.search import search

NODES = ("a", "b", "c", "d")
HOSTS = [Host(node, 970) for node in NODES]
SWITCH = [Pool(NODES)]


def demand(name: str, need: int, copies: int = 1, span: int = 1, **more: object) -> Demand:
    return replace(Demand(name, dict.fromkeys(NODES, need), copies, span), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(300))
def test_no_placement_of_a_small_fleet_is_better(seed: int) -> None:
    demands, hosts, pools = fleets.case(seed, hosts=2 + seed % 4, demands=1 + seed % 4)
    found = search(demands, hosts, pools)
    assert found == search(list(demands), list(hosts), list(pools))
    cost = found and fleets.cost(demands, hosts, [found[one.name] for one in demands])
    assert cost == fleets.best(demands, hosts, pools)


def test_a_fleet_of_100_nodes_and_60_deployments_is_placed() -> None:
    hosts = [Host(f"n{at}", 970 - 10 * (at % 3)) for at in range(100)]
    needs = {host.name: 0 for host in hosts}
    shapes = [(1 + at % 2, (1, 1, 2, 4)[at % 4], (100, 200, 400, 450)[at % 3]) for at in range(60)]
    demands = [
        Demand(f"d{at}", dict.fromkeys(needs, need), copies, span, alongside=True)
        for at, (copies, span, need) in enumerate(shapes)
    ]
    found = search(demands, hosts, [Pool(tuple(needs))])
    assert found is not None
    assert fleets.cost(demands, hosts, [found[one.name] for one in demands]) is not None


def test_what_serves_stays_and_the_rest_goes_where_most_is_left() -> None:
    chat, coder = demand("chat", 700, span=2, keeps=(("c", "b"),)), demand("coder", 700)
    embed = demand("embed", 50, 2, alongside=True)
    assert search([chat, coder, embed], HOSTS, SWITCH) == {
        "chat": (("c", "b"),),
        "coder": (("a",),),
        "embed": (("a",), ("d",)),
    }


def test_of_equal_nodes_those_with_image_and_model_are_taken() -> None:
    assert search([demand("one", 900, lacks={"a": 60_000, "b": 60_000})], HOSTS, []) == {"one": (("c",),)}


def test_a_triangle_is_taken_whole_and_in_its_order() -> None:
    circle = [Pool(("c", "a", "b"), whole=True), Pool(("a", "b")), Pool(("b", "c")), Pool(("a", "c"))]
    assert search([demand("one", 900, span=3)], HOSTS, circle) == {"one": (("c", "a", "b"),)}


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (demand("last", 900, 5), NoPlace("nodes")),
        (demand("last", 900, span=3), NoPlace("cables")),
        (demand("last", 200, 3), NoPlace("shared")),
        (demand("last", 900, 2, alongside=True), NoPlace("memory", 270)),
        (demand("last", 990, 4, alongside=True), NoPlace("memory", 270)),
    ],
)
def test_what_has_no_place_is_told_why_and_what_would_fit(last: Demand, why: NoPlace) -> None:
    pairs = [Pool(("a", "b")), Pool(("c", "d"))]
    found = place([demand("first", 700, 3), last], HOSTS, pairs)
    assert found.without == {"last": why}
    assert found.copies["first"] == (("a",), ("b",), ("c",))
    alone = place([last, demand("first", 700, 3)], HOSTS, pairs)
    assert ("last" in alone.copies) == (why.reason in ("shared", "memory") and last.least_need < 970)


def test_nodes_that_all_differ_and_a_fleet_without_nodes_are_no_trouble() -> None:
    hosts = [Host(f"n{at}", 970 - 10 * at) for at in range(16)]
    needs = [host.name for host in hosts]
    demands = [Demand(f"d{at}", dict.fromkeys(needs, 300 - 50 * at), 6 - at, alongside=True) for at in range(4)]
    assert search(demands, hosts, []) is not None
    assert search(demands, [], []) is None


def test_above_16_nodes_what_may_go_anywhere_leaves_room_for_what_may_not() -> None:
    hosts = [Host(f"n{at}", 960) for at in range(17)]
    anywhere = Demand("anywhere", {host.name: 900 for host in hosts}, 2)
    pinned = Demand("pinned", {f"n{at}": 300 for at in range(6)}, 5)
    assert search([anywhere, pinned], hosts, []) is not None


def test_of_two_pairs_the_one_with_the_model_is_taken() -> None:
    pairs = [Pool(("a", "b")), Pool(("c", "d"))]
    assert search([demand("one", 900, span=2, lacks={"a": 9, "b": 9})], HOSTS, pairs) == {"one": (("c", "d"),)}


def test_beside_the_deployment_of_somebody_else_only_what_is_alongside_goes() -> None:
    hosts = [replace(host, owned=host.name == "a", room=600) for host in HOSTS[:2]]
    two = [Demand("one", {"a": 500, "b": 500}), Demand("two", {"a": 50, "b": 50}, 2, alongside=True)]
    assert search(two, hosts, []) == {"one": (("b",),), "two": (("a",), ("b",))}
