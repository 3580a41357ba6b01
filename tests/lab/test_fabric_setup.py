"""New nodes: netplan itself reads what `fabric setup` writes, and a cluster serves over it."""

STANDIN = ("cluster", "--set", "env.LAB_ENGINE=standin")
FILE = "/etc/netplan/99-sparkops-fabric.yaml"


def test_new_nodes_are_set_up_by_netplan_serve_and_are_as_before_after_an_undo(lab):
    lab.clear()
    with lab.trouble("node1", "not-set-up"), lab.trouble("node2", "not-set-up"):
        assert "fabric setup" in str(lab.deploy(*STANDIN, code=3))
        done = lab.json("fabric", "setup", "--yes")
        assert (done["changed"], done["verdict"]) == (True, "pass"), done["order"]
        assert {lab.on(node, "stat", "-c", "%a", FILE).strip() for node in ("node1", "node2")} == {"600"}
        lab.fault("node2", "reboot")
        lab.deploy(*STANDIN)
        assert lab.ask().tokens == 4
        lab.clear()
        assert lab.json("fabric", "setup", "--undo", "--yes")["changed"]
        assert lab.json("fabric", code=3)["verdict"] == "fail"
