"""`monitor targets`: what Prometheus is to ask."""

from support.world import Lab


def test_watch_and_every_engine_with_an_api_are_targets(lab: Lab) -> None:
    ours = {"targets": ["10.0.0.9:9466"], "labels": {"job": "sparkops"}}
    assert lab.json("monitor", "targets", "--metrics", "10.0.0.9:9466")["targets"] == [ours]
    deployment = lab.deploy("2x-solo")["deployment"]
    found = lab.json("monitor", "targets", "--metrics", "[::1]:9466")["targets"]
    assert [one["targets"] for one in found] == [["[::1]:9466"], *([f"{lab.address(name)}:8001"] for name in lab.names)]
    assert [one["labels"] for one in found[1:]] == [
        {"job": "vllm", "deployment": deployment, "node": name} for name in lab.names
    ]
    lab.cli("stop", code=0)
    assert len(lab.json("monitor", "targets")["targets"]) == 1


def test_a_cluster_has_one_target_at_its_head(lab: Lab) -> None:
    lab.deploy("cluster")
    found = lab.json("monitor", "targets")["targets"]
    assert [one["targets"] for one in found[1:]] == [[f"{lab.address('node1')}:8000"]]


def test_a_proxy_counts_and_is_a_target_where_the_inventory_says_so(lab: Lab) -> None:
    lab.json("deploy", "--topology", "2x-solo")
    assert not [one for one in lab.json("monitor", "targets")["targets"] if one["labels"]["job"] == "litellm"]
    lab.write_inventory(proxy_metrics=True)
    lab.json("deploy", "--topology", "2x-solo")
    (proxy,) = [one for one in lab.json("monitor", "targets")["targets"] if one["labels"]["job"] == "litellm"]
    assert proxy["targets"] == [f"{lab.address('node1')}:8000"]
    assert proxy["labels"]["__metrics_path__"] == "/metrics/"
    assert lab.json("deploy", "--topology", "2x-solo")["changed"] is False
