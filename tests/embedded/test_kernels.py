"""Which kernels serve is read from the boot log after the start, and said where it is not what was asked for."""

from __future__ import annotations

import pytest

from support.paths import RULE_RECIPES

STOCK = RULE_RECIPES / "stock-image.yml"


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(nodes=1)


def test_a_fall_back_to_marlin_is_reported_after_the_start(empty):
    lab = empty
    deployed = lab.deploy("solo", "--recipe", STOCK)
    (said,) = [warning for warning in deployed["warnings"] if "Marlin" in warning]
    assert said.startswith("node1: the boot log names the Marlin kernels")
    assert "marlin-fallback" in {rule["id"] for rule in deployed["rules"]}
    again = lab.deploy("solo", "--recipe", STOCK)
    assert (again["changed"], again["warnings"]) == (False, []), "what was started before is not read again"


def test_the_kernels_that_were_asked_for_are_nothing_to_report(empty):
    assert not [warning for warning in empty.deploy("solo")["warnings"] if "Marlin" in warning]
