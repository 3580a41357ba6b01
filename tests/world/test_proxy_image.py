"""The proxy's image: pinned by default, moved by a key of the inventory, and never replaced by an upgrade alone."""

import json

import pytest

from sparkops.core.proxy_image import DEFAULT, EARLIER, called

OLD = EARLIER[0]


@pytest.fixture
def old(lab):
    """A deployment that an earlier release started, with its default for the proxy."""
    for node in lab.world.nodes.values():
        node.engine.add_image(OLD)
    lab.write_inventory(proxy_image=OLD)
    lab.json("deploy", "--topology", "2x-solo")
    lab.write_inventory()
    return lab


def proxy(lab):
    """The name of the running proxy, and its image as its label has it."""
    found = [
        one for one in lab.world.nodes["node1"].engine.listed() if one.state == "running" and "-proxy-" in one.name
    ]
    (one,) = found
    return one.name, json.loads(one.labels["sparkops.revision"])["proxy_image"]["reference"]


def test_an_unchanged_deploy_after_an_upgrade_keeps_the_proxy_and_its_image(old):
    before = proxy(old)
    assert before[1] == OLD
    assert old.json("deploy", "--topology", "2x-solo")["changed"] is False
    assert proxy(old) == before
    assert old.json("preflight", "--topology", "2x-solo")["verdict"] == "pass"


def test_another_change_of_the_deployment_moves_the_proxy_to_the_new_default(old):
    old.json("deploy", "--topology", "2x-solo", "--set", "args.max-num-seqs=4")
    assert proxy(old)[1] == called(DEFAULT)


def test_the_key_of_the_inventory_moves_it_alone(old):
    old.write_inventory(proxy_image=DEFAULT)
    assert old.json("deploy", "--topology", "2x-solo")["changed"] is True
    assert proxy(old)[1] == called(DEFAULT)


def test_a_missing_proxy_image_is_pulled_by_the_digest_as_the_remedy_says(lab):
    for node in lab.world.nodes.values():
        node.engine.store.remove(called(DEFAULT))
    refused = lab.json("deploy", "--topology", "2x-solo", code=3)["error"]
    assert f"image pull {DEFAULT}; copy it to the other nodes: " in refused["hint"]
    lab.json("image", "pull", DEFAULT)
    assert lab.json("deploy", "--topology", "2x-solo")["changed"] is True


def test_setup_pulls_the_proxys_image_by_its_digest(lab):
    lab.world.nodes["node1"].engine.store.remove(called(DEFAULT))
    lab.cli("trust", "--yes", code=0)
    done = lab.json("deploy", "--topology", "2x-solo", "--setup")
    assert done["setup"][0] == f"pulled {called(DEFAULT)} on node1"
    digest = DEFAULT.partition("@")[2]
    assert any(f"ghcr.io/berriai/litellm@{digest} {called(DEFAULT)}" in one.shown for one in lab.received())


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_versions_that_steal_credentials_are_refused_by_tag_and_by_label(lab, version):
    bad = f"ghcr.io/berriai/litellm:v{version}"
    lab.write_inventory(proxy_image=bad)
    assert f"LiteLLM {version} steals credentials" in lab.json("status", code=2)["error"]["message"]
    lab.write_inventory(proxy_image=OLD)
    for node in lab.world.nodes.values():
        node.engine.store.add(OLD, {"org.opencontainers.image.version": f"v{version}"}, seed="moved")
    refused = lab.json("deploy", "--topology", "2x-solo", code=3)["error"]["message"]
    assert "steals credentials [proxy-version]" in refused
