"""Who hands an image to whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core.copying import chains

NODES = ("n1", "n2", "n3", "n4", "n5")


@pytest.mark.parametrize(
    ("complete", "wanted"),
    [
        ("n1", [("n1", "n2", "n3", "n4", "n5")]),
        ("n3", [("n3", "n4", "n5", "n1", "n2")]),
        ("n1 n3", [("n1", "n2"), ("n3", "n4", "n5")]),
        ("n2 n4", [("n2", "n3"), ("n4", "n5", "n1")]),
        ("n1 n2 n3 n4 n5", []),
        ("", []),
    ],
)
def test_each_takes_it_from_the_nearest_complete_one_before(complete, wanted):
    assert list(chains(NODES, frozenset(complete.split()))) == wanted


@given(st.sets(st.sampled_from(NODES), min_size=1))
def test_nobody_sends_twice_and_everybody_who_lacks_it_receives_once(complete):
    hops = [hop for chain in chains(NODES, frozenset(complete)) for hop in zip(chain, chain[1:], strict=False)]
    assert sorted(receiver for _, receiver in hops) == sorted(set(NODES) - complete)
    assert len({sender for sender, _ in hops}) == len(hops)
