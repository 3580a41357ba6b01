"""Signals to the real tool, and two of its processes at once; tests/world has every send of theirs."""

import signal

SHORT = ("--set", "args.max-model-len=2048")
SOLO = ("solo", "--limit", "node1")


def killed(lab, k, *wish):
    """SIGKILL for the real process after the nodes' k-th command; whether there is one."""
    lab.mark()
    process = lab.start("deploy", "--topology", *wish)
    sent = lab.kill_after(process, k)
    lab.killed(process)
    return sent


def deployed(lab):
    """The containers of a deployment that run; the one that reads the versions in an image is not named by us."""
    return {one for one in lab.running() if one[1].startswith("sparkops-")}


def test_a_switch_killed_on_its_way_is_mended_by_the_next_deploy_and_ended_by_a_stop(empty, until):
    lab = empty
    lab.deploy(*SOLO)
    first = lab.containers()
    assert killed(lab, 12, "cluster", *SHORT)
    mended = lab.deploy("cluster", *SHORT)
    assert {name.rsplit("-", 1)[1] for _, name in lab.running()} == {mended["hash"][:8]}
    assert len(lab.running()) == 2
    assert lab.serves()
    assert first <= lab.containers(), "what served before the kill is kept for rollback"

    lab.clear()
    assert killed(lab, 16, "2x-solo")
    lab.json("stop")
    assert lab.running() == set()
    assert until(lambda: not lab.processes())


def test_an_interrupt_undoes_and_the_previous_revision_serves_again(empty):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node2", "worker-never-joins"):
        process = lab.start("deploy", "--json", "--topology", "cluster")
        lab.brings(process, lambda: len(deployed(lab)) == 2)
        process.send_signal(signal.SIGINT)
        ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert lab.containers() == before == lab.running()
    assert lab.serves(), "130 is only said once it serves again"


def test_an_interrupt_before_anything_changed_changes_nothing(empty):
    lab = empty
    with lab.trouble("node1", "gpu-hangs"):  # so that its facts take ten seconds
        process = lab.start("deploy", "--json", "--topology", *SOLO)
        assert lab.kill_after(process, 2, signal.SIGINT)
        ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert "Traceback" not in ran.err
    assert not lab.changed()


def test_of_two_deploys_at_once_one_names_the_other_and_waits_for_what_that_one_began_when_it_dies(empty):
    lab = empty
    with lab.trouble("node2", "worker-never-joins"):
        first = lab.start("deploy", "--json", "--topology", "cluster")
        lab.brings(first, lambda: len(deployed(lab)) == 2)
        begun = deployed(lab)
        for error in (lab.deploy(*SOLO, *SHORT, code=6)["error"], lab.json("stop", code=6)["error"]):
            assert error["kind"] == "locked"
            assert f"pid {first.pid}" in error["message"]
            assert "@" in error["message"]
        (shown,) = lab.json("status", code=5)["deployments"]
        assert shown["state"] == "starting", "reading needs no lock"
        lab.killed(first)
        second = lab.start("deploy", "--json", "--topology", "cluster")
        lab.mark()
        lab.brings(second, lambda: any(one.shown.startswith("@probe") for one in lab.received()))
    assert lab.ended(second, 0).document["endpoints"]
    assert lab.running() == begun


def test_a_killed_deploy_is_told_by_the_nodes_until_the_next_one_serves(empty):
    lab = empty
    assert killed(lab, 6, *SOLO)
    (cut,) = lab.cli("status", "--json").document["cut_off"]
    assert (cut["verb"], cut["state"], cut["nodes"]) == ("deploy", "cut off", ["node1"])
    assert f"run {cut['run']} by" in lab.cli("status").out
    assert "was cut off" in lab.cli("deploy", "--topology", *SOLO, code=0).err
    assert lab.json("status")["cut_off"] == []
    runs = [(one["verb"], one["state"], one["exit_code"]) for one in lab.json("history")["runs"]]
    assert runs == [("deploy", "cut off", None), ("deploy", "ended", 0)]
    lab.cli("stop", code=0)
    lab.cli("cleanup", "--yes", code=0)
    assert not lab.node("node1", "home", ".local", "state", "sparkops").exists()


def test_who_waits_for_a_lock_can_be_interrupted_and_goes_on_when_the_holder_is_gone(empty):
    lab = empty
    with lab.trouble("node2", "worker-never-joins"):
        first = lab.start("deploy", "--json", "--topology", "cluster")
        lab.brings(first, lambda: len(deployed(lab)) == 2)
        (now,) = lab.json("history")["runs"]
        assert (now["state"], now["exit_code"]) == ("running", None)
        for number in (signal.SIGINT, None):
            lab.mark()
            waiting = lab.start("stop", "--json", "--wait")
            lab.brings(waiting, lambda: sum(one.run == "lock" for one in lab.received()) > len(lab.names))
            if number:
                waiting.send_signal(number)
                lab.ended(waiting, 130)
                assert not lab.changed()
        lab.killed(first)
        ran = lab.ended(waiting, 0)
    assert ran.document["changed"]
    assert '"sparkops -i lab deploy --json --topology cluster"' in ran.err
    assert lab.running() == set()
    assert [one["verb"] for one in lab.json("history")["runs"]] == ["deploy", "stop"]
