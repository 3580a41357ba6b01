"""A fleet of five deployments on six nodes: applied, changed, one removed, a node lost, killed on its way."""

import pytest

GPT = "openai-gpt-oss-120b"
SMALL = "recipe: nemotron-3-nano-nvfp4, nodes: [node6], alongside: true, set: {args.gpu-memory-utilization: 0.4}"
FLEET = {
    "chat": f"recipe: {GPT}, topology: cluster",
    "twice": f"recipe: {GPT}, replicas: 2",
    "coder": f"recipe: {GPT}",
    "embed": SMALL,
    "rank": SMALL,
}
ANOTHER = FLEET["coder"] + ", set: {args.max-num-seqs: 4}"


@pytest.fixture(scope="module")
def lab_of_six(lab_with):
    return lab_with(nodes=6)


@pytest.fixture
def six(lab_of_six):
    """The same with nothing on the nodes."""
    lab_of_six.clear()
    return lab_of_six


def write(lab, fleet):
    lines = [f"  {name}: {{{text}}}" for name, text in fleet.items()]
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *lines, "caches: {every: 30m}", ""]))


def serving(lab):
    return {name for name, state in lab.state().items() if state == "serving"}


def settled(lab):
    """Whether a further apply changes nothing, and the nodes get no command that changes something."""
    starts = lab.starts()
    return not lab.json("apply")["changed"] and lab.starts() == starts


def test_a_fleet_is_applied_changed_and_brought_back(six):
    lab = six
    write(lab, FLEET)
    applied = lab.json("apply", "--setup")
    assert {one["name"]: one["action"] for one in applied["deployments"]} == dict.fromkeys(FLEET, "new")
    assert {one["every_seconds"] for one in lab.json("cache", "status")["nodes"]} == {1800}
    assert serving(lab) == {*FLEET}
    assert settled(lab)

    starts = lab.starts()
    write(lab, FLEET | {"coder": ANOTHER})
    assert lab.json("diff", "--exit-code", code=3)["changed"]
    lab.json("apply")
    replaced = {(node, name.rsplit("-", 1)[0]) for node, name in starts.keys() ^ lab.starts().keys()}
    assert len(replaced) == 1, "one flag, one container"
    assert settled(lab)

    write(lab, FLEET)
    lab.json("apply")
    assert lab.starts().keys() == starts.keys(), "the file as before gives the containers as before"
    assert settled(lab)

    starts = lab.starts()
    write(lab, {name: text for name, text in FLEET.items() if name != "twice"})
    assert [one["name"] for one in lab.json("apply")["ends"]] == ["twice"]
    assert serving(lab) == {*FLEET} - {"twice"}
    assert settled(lab)
    write(lab, FLEET)
    lab.json("apply")
    assert serving(lab) == {*FLEET}
    kept = {one: at for one, at in starts.items() if "-twice-" not in one[1]}
    assert kept.items() <= lab.starts().items(), "the others were never touched"

    (lab.work / "fleet.yml").unlink()
    assert set(lab.json("init", "--fleet")["deployments"]) == {*FLEET}
    assert not lab.json("diff")["changed"]


def test_with_a_lost_node_status_tells_what_moves_and_apply_moves_it(six, until):
    lab = six
    write(lab, {name: FLEET[name] for name in ("chat", "coder")})
    found = {one["name"]: one["copies"] for one in lab.json("apply")["deployments"]}
    ((lost,),) = found["coder"]
    with lab.trouble(lost, "unreachable"):
        told = [one["text"] for one in lab.json("status", code=None)["warnings"] if one["id"] == "fleet-moves"]
        assert [text.startswith(f"without {lost}, coder would serve on ") for text in told] == [True]
        assert "--limit" in lab.json("apply", code=4)["error"]["hint"]
        others = ",".join(name for name in lab.names if name != lost)
        lab.json("apply", "--limit", others)
        moved = {one["name"]: one["copies"] for one in lab.json("diff", "--limit", others)["deployments"]}
        assert moved["chat"] == found["chat"]
        assert moved["coder"] != found["coder"]
    assert until(lambda: lab.cli("status", "--json", code=None).document["unreachable"] == {})
    lab.json("apply")
    assert serving(lab) == {"chat", "coder"}
    assert len([name for _, name in lab.running() if "-coder-" in name]) == 1


def test_after_a_kill_the_next_apply_reaches_the_file(six):
    """In the middle of its changes; tests/world kills it at every command."""
    lab = six
    write(lab, {name: FLEET[name] for name in ("chat", "coder", "embed")})
    lab.json("apply", "--setup")
    wanted = {"chat": FLEET["chat"], "coder": ANOTHER, "rank": FLEET["rank"], "twice": FLEET["twice"]}
    write(lab, wanted)
    lab.mark()
    process = lab.start("apply", "--json")
    lab.kill_after(process, 44)
    lab.killed(process)
    lab.json("apply")
    assert serving(lab) == {*wanted}
    assert settled(lab)
