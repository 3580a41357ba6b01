"""The control machine dies, is interrupted, or meets another run; the nodes end in a right state all the same."""

import contextlib
import itertools
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sparkops import signals
from sparkops.errors import Interrupted
from sparkops.testing import EngineBoot, Trouble
from sparkops.testing.store import Store
from support.world import Lab, Ran

GPT = "openai-gpt-oss-120b"
SHORT = ("--set", "args.max-model-len=2048")
SOLO = ("solo", "--limit", "node1")


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[tuple[int, Lab]]:
    """One fresh lab for each send: 1, 2, …; whoever takes them ends when there is no such send."""
    return ((at, Lab(tmp_path / f"send {at}")) for at in itertools.count(1))


def heals(lab: Lab, *wish: object) -> None:
    """The next deploy ends serving, with exactly its containers."""
    deployed = lab.deploy(*wish)  # type: ignore[arg-type]
    assert {name.rsplit("-", 1)[1] for _, name in lab.running()} == {deployed["hash"][:8]}
    assert lab.state()[GPT] == "serving"


@pytest.mark.parametrize("topology", ["solo", "2x-solo", "cluster"])
def test_a_deploy_killed_at_any_send_is_mended_by_the_next_one(labs: Iterator[tuple[int, Lab]], topology: str) -> None:
    parts = {"solo": 1, "2x-solo": 3, "cluster": 2}[topology]
    for at, lab in labs:
        if not lab.killed(at, "deploy", "--topology", topology):
            break
        heals(lab, topology)
        assert len(lab.containers()) == parts, at
    assert at > 8, "there are so many sends in the smallest deploy"


def test_after_a_deploy_killed_at_any_send_stop_ends_all_and_can_remove_all(labs: Iterator[tuple[int, Lab]]) -> None:
    for at, lab in labs:
        if not lab.killed(at, "deploy", "--topology", "2x-solo"):
            break
        lab.json("stop")
        assert lab.running() == set(), at
        lab.json("stop", "--remove")
        assert lab.containers() == set(), at
    assert at > 20


@pytest.mark.parametrize("kind", ["crash-before", "crash-after"])
def test_a_switch_killed_at_any_send_is_mended_by_the_next_deploy(labs: Iterator[tuple[int, Lab]], kind: str) -> None:
    for at, lab in labs:
        lab.deploy(*SOLO)
        first = lab.containers()
        if not lab.killed(at, "deploy", "--topology", "cluster", *SHORT, kind=kind):
            break
        heals(lab, "cluster", *SHORT)
        assert len(lab.running()) == 2
        assert first <= lab.containers(), "what served before the kill is kept for rollback"
    assert at > 15


def test_an_interrupt_at_any_send_undoes_and_the_previous_revision_serves_again(
    labs: Iterator[tuple[int, Lab]],
) -> None:
    for at, lab in labs:
        lab.deploy(*SOLO)
        before = lab.containers()
        lab.anew(troubles=[Trouble("interrupt", at)])
        ran = lab.cli("deploy", "--json", "--topology", "cluster", *SHORT)
        if lab.world.tries < at:
            break
        assert (ran.code, ran.document["error"]["kind"]) == (130, "interrupted")
        assert "Traceback" not in ran.err
        if lab.was_deployed(at):
            assert "is deployed and serves" in ran.document["error"]["hint"], "nothing is undone any more"
            continue
        assert lab.containers() == before == lab.running()
        assert lab.serves(), "130 is only said once it serves again"
        if at <= 3:
            assert not lab.changed(), "it came before anything was changed"
    assert at > 15


@pytest.mark.parametrize("to", [(), ("--to",)])
def test_a_rollback_killed_at_any_send_goes_on_when_it_is_run_again(
    labs: Iterator[tuple[int, Lab]], to: tuple[str, ...]
) -> None:
    for at, lab in labs:
        first = str(lab.deploy(*SOLO)["hash"])
        before = lab.running()
        lab.deploy("cluster", *SHORT)
        line = ("rollback", *to, *([first] if to else []))
        if not lab.killed(at, *line):
            break
        lab.cli(*line, code=0)
        assert lab.running() == before, at
    assert at > 10


def test_a_rollback_that_goes_on_after_a_kill_remembers_all_that_was_stopped(labs: Iterator[tuple[int, Lab]]) -> None:
    for at, lab in labs:
        cluster = str(lab.deploy("cluster")["hash"])
        lab.deploy(*SOLO, "--name", "one")
        lab.deploy("solo", "--limit", "node2", "--name", "two")
        before = lab.running()
        if not lab.killed(at, "rollback", "--to", cluster):
            break
        lab.cli("rollback", "--to", cluster, code=0)
        assert lab.json("status")["cut_off"] == [], at
        lab.cli("rollback", code=0)
        assert lab.running() == before, at
    assert at > 10


@pytest.mark.parametrize("at", range(1, 3000, 200))
def test_a_signal_after_a_deploy_was_checked_leaves_one_exit_code_and_no_doubt(lab: Lab, at: int) -> None:
    with _hang_up_at(at):
        ran = lab.cli("deploy", "--topology", "solo")
    (log,) = lab.home.glob("state/sparkops/runs/*.jsonl")
    end = json.loads(log.read_text().splitlines()[-1])
    assert end["exit_code"] == ran.code
    assert ran.code == 0 or "is deployed and serves" in end["error"]["hint"]


@contextlib.contextmanager
def _hang_up_at(at: int) -> Iterator[None]:
    """SIGHUP at so many lines of our code after `confirm` returned."""
    ours, lines = str(Path(signals.__file__).parent), itertools.count(1)
    begun = False

    def look(frame: FrameType, event: str, _: object) -> Any:
        nonlocal begun
        if frame.f_code.co_filename.startswith(ours):
            begun = begun or (event == "return" and frame.f_code.co_name == "confirm")
            if begun and event == "line" and next(lines) == at:
                signal.raise_signal(signal.SIGHUP)
            return look
        return None

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signals.listen()
    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(None)
        Interrupted.how = ""
        for number, handler in before.items():
            signal.signal(number, handler)


def test_of_two_deploys_at_once_the_second_names_the_first_and_changes_nothing(
    labs: Iterator[tuple[int, Lab]],
) -> None:
    for at, lab in labs:
        seen: list[tuple[Lab, Ran, Ran, Ran]] = []

        def second(other: Lab, seen: list[tuple[Lab, Ran, Ran, Ran]] = seen) -> None:
            deploy = other.cli("deploy", "--json", "--topology", *SOLO, *SHORT)
            seen.append((other, deploy, other.cli("stop", "--json"), other.cli("status", "--json")))

        lab.meets(at, second)
        assert lab.deploy("cluster")["changed"]
        if not seen:
            break
        ((other, deploy, stop, status),) = seen
        assert (deploy.code, stop.code) == (6, 6), (at, deploy.told, stop.told)
        assert {one.document["error"]["kind"] for one in (deploy, stop)} == {"locked"}
        assert not other.changed(), at
        assert status.code in (0, 5), "reading needs no lock"
        assert lab.state() == {GPT: "serving"}
        assert lab.deploy("cluster")["changed"] is False
    assert at > 10


def test_deploys_on_different_nodes_do_not_wait_for_each_other(lab: Lab) -> None:
    ran: list[Ran] = []
    lab.meets(5, lambda other: ran.append(other.cli("deploy", "--json", "--topology", "solo", "--limit", "node2")))
    assert lab.deploy(*SOLO)["changed"]
    assert [one.document["changed"] for one in ran] == [True]
    assert {node for node, _ in lab.running()} == set(lab.names)


def test_a_deploy_of_what_another_one_began_waits_for_it(lab: Lab) -> None:
    with lab.trouble("node2", "worker-never-joins"):
        begun_at = next(at for at in itertools.count(1) if _begun(lab, at))
        begun = lab.running()
        assert begun_at > 8
    lab.mark()
    assert lab.deploy("cluster")["endpoints"]
    assert [one.shown for one in lab.received() if one.shown.startswith("@probe")]
    assert not [one.shown for one in lab.changed() if one.shown.startswith("docker run")]
    assert lab.running() == begun


def _begun(lab: Lab, at: int) -> bool:
    """Kill a deploy at this send; whether both containers run by then."""
    lab.cli("stop", code=0)
    lab.killed(at, "deploy", "--topology", "cluster")
    return len(lab.running()) == 2


def test_after_a_switch_killed_at_any_send_a_rollback_starts_what_served_last_whole(
    labs: Iterator[tuple[int, Lab]],
) -> None:
    back: list[str] = []
    for at, lab in labs:
        lab.deploy("cluster")
        first = lab.running()
        if not lab.killed(at, "deploy", "--topology", "2x-solo"):
            break
        second = lab.running() - first
        lab.deploy(*SOLO, *SHORT)
        kept = lab.containers() - lab.running()
        back.append("first" if kept == first else "second")
        assert kept == first or (kept == second and len(second) == 3), (at, kept)
        lab.json("rollback")
        assert lab.running() == kept, at
        assert len(lab.containers()) == len(kept) + 1, "and the deploy can come back"
    assert back == sorted(back)
    assert set(back) == {"first", "second"}, "the pair counts once it answers"


@pytest.mark.parametrize(("item", "sends"), [("image", 12), ("model", 27)])
def test_a_copy_interrupted_at_any_send_is_completed_by_the_same_command(
    labs: Iterator[tuple[int, Lab]], item: str, sends: int
) -> None:
    """An interrupt may come between the jobs that receive and the one that sends."""
    words = ("image", "distribute", "vllm-node-mxfp4") if item == "image" else ("model", "fetch", "acme/tiny")
    for at, lab in itertools.islice(labs, sends):
        lab.cli("trust", "--yes", code=0)
        if item == "image":
            lab.node("node2").engine.store = Store(lambda _image: False)
        else:
            lab.cli(*words, "--limit", "node1", code=0)
        lab.anew(troubles=[Trouble("interrupt", at)])
        assert lab.cli(*words).code == 130, at
        lab.anew()
        lab.cli(*words, code=0)


def test_a_deploy_removes_nothing_on_nodes_on_which_it_does_nothing_else(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.deploy(*SOLO)
    elsewhere = {one for one in lab.containers() if one[0] == "node2"}
    assert lab.deploy(*SOLO, *SHORT)["changed"]
    assert {one for one in lab.containers() if one[0] == "node2"} == elsewhere


@pytest.mark.parametrize(
    ("cut", "noted", "kept"),
    [(("key", "rotate"), False, True), (("stop", GPT), True, True), (("stop", GPT), False, False)],
    ids=["another command", "its deploy ended well", "nothing speaks for it"],
)
def test_what_does_not_answer_is_kept_for_a_rollback_unless_a_cut_off_run_may_have_begun_it(
    lab: Lab, cut: tuple[str, ...], noted: bool, kept: bool
) -> None:
    lab.deploy(*SOLO)
    lab.deploy(*SOLO, "--set", "args.max-num-seqs=4")
    node = lab.node("node1")
    if not noted:
        del node.files[f"{node.state_dir}/history"]
    ((_, name),) = running = lab.running()
    assert any(lab.killed(at, *cut) and lab.json("status", code=None)["cut_off"] for at in range(1, 6))
    assert lab.running() == running, "it was cut off before it stopped anything"
    node.engine.containers[name].boot = EngineBoot(never=True)
    lab.deploy(*SOLO, *SHORT)
    assert (running < lab.containers()) is kept


def test_a_deploy_that_left_nothing_can_be_settled_by_its_name(lab: Lab) -> None:
    lab.deploy("solo")
    assert lab.killed(3, "deploy", "--topology", "solo", "--name", "x", "--alongside", "--limit", "node2")
    assert len(lab.json("status")["cut_off"]) == 1
    lab.json("stop", "x")
    assert lab.json("status")["cut_off"] == []
    assert lab.json("stop", "x", code=2)["error"]["message"].startswith("no deployment")


def test_an_interrupt_before_the_first_change_says_that_nothing_was_changed(lab: Lab) -> None:
    lab.deploy("solo")
    lab.anew(troubles=[Trouble("interrupt", 3)])
    ran = lab.cli("deploy", "--topology", "cluster", code=130)
    assert "Nothing was changed." in ran.err
    assert "Rolled back" not in ran.err
