"""What the main job shows over real connections only: what the nodes receive, and who goes on when an engine dies."""

from functools import partial

from support.person import planned

GPT = "openai-gpt-oss-120b"
QWEN = "qwen3-next-80b-a3b-instruct-fp8"


def test_the_nodes_receive_the_plan_over_one_connection_each_and_nothing_else(empty):
    lab = empty
    plan = lab.json("plan", "--topology", "cluster")
    assert [one.shown[:200] for one in lab.received() if not one.is_frame] == [], "a plan reads facts only"
    lab.mark()
    deployed = lab.deploy("cluster", "--expect", plan["id"])
    assert deployed["id"] == plan["id"]
    assert lab.connections() == dict.fromkeys(lab.names, 1)
    received = [one for one in lab.received() if not one.is_frame]
    probes = set(planned(plan, "until ready: "))
    done = [(one.node, one.shown) for one in received if (one.node, one.shown) not in probes]
    assert done == sorted(planned(plan), key=lambda pair: pair[0]), "each node's in order"
    assert {(one.node, one.shown) for one in received} - set(done) == probes
    assert not [one for one in received if one.changes and (one.node, one.shown) in probes]
    assert len({one.run for one in received if one.changes}) == 1


def test_two_solo_servers_are_one_endpoint_that_outlives_one_of_them(lab, until):
    switched = lab.deploy("2x-solo", "--proxy", "all", "--set", "env.SPARKOPS_BACKOFF=1")
    assert [one["node"] for one in switched["endpoints"]] == lab.names
    first, second = (one["url"] for one in switched["endpoints"])
    key = lab.key()
    assert lab.ask(second, key)[0] == 200
    for node in lab.names:
        assert until(partial(_all_are_asked, lab, first, key)), "the proxy forgot a server that came back"
        lab.fault(node, "engine-killed")
        assert {lab.ask(first, key)[0] for _ in range(8)} == {200}, node
        assert until(partial(lab.serves, node, 8001)), "the killed server did not come back"
    (shown,) = lab.shown()
    assert sorted(node["restarts"] for node in shown["nodes"] if node["role"] == "server") == [1, 1]


def _all_are_asked(lab, url, key):
    """Whether a few requests to the endpoint reach the server of every node.

    More than one of them: a server may write of an earlier request only now.
    """
    servers = sorted((node, name) for node, name in lab.running() if "-server-" in name)

    def counts():
        return [lab.on(node, "docker", "logs", name).count("POST /v1/completions") for node, name in servers]

    before = counts()
    for _ in range(6):
        lab.ask(url, key)
    return all(now > then + 1 for now, then in zip(counts(), before, strict=True))


def test_a_cluster_without_ray_gives_way_to_another_model_and_comes_back(empty):
    lab = empty
    deployed = lab.deploy("cluster", "--executor", "mp")
    before = lab.running()
    assert lab.ask(deployed["endpoints"][0]["url"], lab.key())[0] == 200
    other = lab.deploy("solo", "--limit", "node1", "--recipe", QWEN)["endpoints"][0]
    assert lab.ask(other["url"], lab.key(), other["model"])[0] == 200
    back = lab.json("rollback")
    assert back["deployment"] == GPT
    assert lab.running() == before
    assert lab.ask(back["endpoints"][0]["url"], lab.key())[0] == 200
