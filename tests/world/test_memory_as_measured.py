"""What engines held when they served decides where the next ones have room."""

import json
from pathlib import Path

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from sparkops.testing.node import TOTAL_KIB
from support.world import Lab

GPT, OTHER = "openai-gpt-oss-120b", "openai-gpt-oss-120b-ngc"


def holds(lab: Lab, share: float, beyond_gib: int) -> None:
    held = round(share * TOTAL_KIB / 1024) + beyond_gib * 1024
    lab.world.boot(BootRule.flag(f"{share:g}", EngineBoot(gpu_mib=held)))


def solo(lab: Lab, share: float, *more: str) -> None:
    asked = ("--set", f"args.gpu-memory-utilization={share}", "--allow", "memory-fits")
    lab.deploy("solo", "--name", "chat", "--limit", "node1", *asked, *more)


def write(lab: Lab, *deployments: str) -> None:
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *(f"  {one}" for one in deployments), ""]))


def place(lab: Lab, *deployments: str, on: str = "node2", code: int = 0) -> dict[str, dict[str, object]]:
    write(lab, *deployments)
    return {one["name"]: one for one in lab.json("place", "--limit", on, code=code)["deployments"]}


def chat(share: float, recipe: str = GPT, name: str = "chat") -> str:
    more = f"alongside: true, allow: [memory-fits], set: {{args.gpu-memory-utilization: {share}}}"
    return f"{name}: {{recipe: {recipe}, {more}}}"


def noted(lab: Lab) -> list[object]:
    found = [json.loads(text) for text in lab.node("node1").files[history(lab)].splitlines()]
    return [note["load"].get("beyond_mib") for note in found if note.get("load")]


def history(lab: Lab) -> str:
    return f"{lab.node('node1').state_dir}/history"


def test_what_an_engine_holds_beyond_its_share_is_kept_and_counts_at_another_place(lab: Lab) -> None:
    assert place(lab, chat(0.5))["chat"]["measured"] is False
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    assert noted(lab) == [9 * 1024]
    lab.cli("stop", "chat", code=0)
    found = place(lab, chat(0.6))["chat"]
    assert (found["measured"], found["share"], found["beyond"]) == (True, 0.674, 0.074)
    assert "0.67 measured" in lab.cli("place", "--limit", "node2", code=0).out
    assert place(lab, chat(0.6), on="node1")["chat"]["share"] == 0.6, "it comes back to where it was"
    assert place(lab, chat(0.6, OTHER))["chat"]["measured"] is False


def test_what_was_measured_with_one_copy_counts_for_each_of_several(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    found = place(lab, chat(0.5).replace("alongside", "replicas: 2, alongside"), on="node1,node2")["chat"]
    assert (found["measured"], found["share"]) == (True, 0.574)


def test_what_fits_by_its_share_but_not_as_measured_has_no_place_and_is_told_what_would_fit(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    found = place(lab, chat(0.5), chat(0.45, name="second"), on="node1", code=3)
    assert found["chat"]["copies"] == [["node1"]]
    assert "needs 0.52 of the memory of 1 node (0.07 of that beyond what it requests, as measured)" in str(found)
    assert "args.gpu-memory-utilization: 0.30" in str(found["second"]["next"])


def test_what_takes_all_of_a_node_has_a_place_on_each_that_nobody_else_has(lab: Lab) -> None:
    holds(lab, 0.9, 9)
    solo(lab, 0.9)
    assert place(lab, chat(0.9))["chat"]["copies"] == [["node2"]]
    assert place(lab, chat(0.9), chat(0.05, name="second"), code=3)["second"]["problem"]


TIGHT = (chat(0.5), chat(0.37, name="second"))


def tight(lab: Lab, first: int = 6, second: int = 6) -> None:
    """Two deployments that serve beside each other on node1, and together hold more than would be placed there."""
    holds(lab, 0.5, first)
    holds(lab, 0.37, second)
    write(lab, *TIGHT)
    lab.cli("apply", "--limit", "node1", code=0)


@pytest.mark.parametrize("second", [3, 6])
def test_what_serves_keeps_its_place_however_little_is_left(lab: Lab, second: int) -> None:
    tight(lab, 6, second)
    assert set(noted(lab)) == {6 * 1024}, "the most of those that are alike"
    assert not lab.json("diff", "--limit", "node1")["changed"]
    for told in ((9, "NVIDIA-SMI has failed"), (0, "")):
        lab.node("node1").probes["gpu-processes"] = told
        assert not lab.json("diff", "--limit", "node1")["changed"], told


def test_copies_that_hold_different_amounts_stay(lab: Lab) -> None:
    for name, beyond in (("node1", 9), ("node2", 3)):
        held = round(0.9 * TOTAL_KIB / 1024) + beyond * 1024
        lab.node(name).engine.boots.append(BootRule.flag("0.9", EngineBoot(gpu_mib=held)))
    write(lab, chat(0.9).replace("alongside", "replicas: 2, alongside"))
    lab.cli("apply", code=0)
    assert not lab.json("diff")["changed"]


def test_what_was_stopped_comes_back_to_its_place_also_with_other_settings(lab: Lab) -> None:
    tight(lab)
    lab.cli("stop", "second", code=0)
    write(lab, TIGHT[0], TIGHT[1].replace("0.37", "0.37, args.max-num-seqs: 4"))
    lab.cli("apply", "--limit", "node1", code=0)
    assert lab.state() == {"chat": "serving", "second": "serving"}


def test_an_apply_that_was_killed_is_repeated_however_tight_the_node_is(tmp_path: Path) -> None:
    for at in range(6, 40, 3):
        lab = Lab(tmp_path / str(at))
        tight(lab)
        write(lab, TIGHT[0], TIGHT[1].replace("0.37", "0.37, args.max-num-seqs: 4"))
        lab.killed(at, "apply", "--limit", "node1")
        lab.cli("apply", "--limit", "node1", code=0)
        assert not lab.json("diff", "--limit", "node1")["changed"], at


def test_what_ends_gives_no_more_than_the_node_has_to_what_comes(lab: Lab) -> None:
    tight(lab, 8, 8)
    found = place(lab, TIGHT[0], chat(0.43, OTHER, name="third"), on="node1", code=3)
    assert found["third"]["problem"]


def test_what_is_not_loaded_or_not_told_is_not_measured(lab: Lab) -> None:
    holds(lab, 0.5, -40)
    solo(lab, 0.5)
    assert noted(lab) == [None]
    assert place(lab, chat(0.5))["chat"]["measured"] is False
    lab.node("node1").probes["gpu-processes"] = (9, "NVIDIA-SMI has failed")
    solo(lab, 0.4)
    assert noted(lab) == [None, None]


def test_what_was_measured_warns_of_a_node_that_would_freeze(lab: Lab) -> None:
    holds(lab, 0.9, 9)
    solo(lab, 0.9)
    lab.cli("stop", "chat", code=0)
    told = lab.cli("preflight", "--topology", "solo", "--limit", "node1", "--json").out
    assert "to the system; with less than" in told


def test_a_damaged_note_of_memory_counts_for_nothing(lab: Lab, tmp_path: Path) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    lab.cli("stop", "chat", code=0)
    files = lab.node("node1").files
    for odd in ("-5", "1e9", "true", '"9"', "999999999", "null", "[]"):
        files[history(lab)] = files[history(lab)].replace('"beyond_mib":9216', f'"beyond_mib":{odd}')
        assert place(lab, chat(0.5))["chat"]["measured"] is False, odd
        files[history(lab)] = files[history(lab)].replace(f'"beyond_mib":{odd}', '"beyond_mib":9216')


def test_an_engine_with_a_cache_of_a_given_size_is_estimated_and_its_share_must_be_free(lab: Lab) -> None:
    lab.world.boot(BootRule.flag("0.5", EngineBoot(gpu_mib=90 * 1024)))
    given = ("args.kv-cache-memory-bytes: 4G", "args.kv-cache-memory-bytes: 40G")
    solo(lab, 0.5, "--set", given[1].replace(": ", "="))
    assert noted(lab) == [None]
    shares = [place(lab, chat(0.5).replace("0.5}", f"0.5, {size}}}"))["chat"]["share"] for size in given]
    assert shares == [0.616, 0.912], "weights, overhead and the cache"
    assert place(lab, chat(0.8).replace("0.8}", f"0.8, {given[0]}}}"))["chat"]["share"] == 0.8


def test_what_nobody_wrote_as_a_share_or_a_size_measures_nothing(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    (name,) = (one for one in lab.node("node1").engine.containers)
    labels = lab.node("node1").engine.containers[name].labels
    for odd in ("NaN", "Infinity", '"nan"', "1e308", "-1", "0"):
        text = labels["sparkops.revision"].replace(":0.5", f":{odd}")
        assert text != labels["sparkops.revision"]
        lab.node("node1").engine.containers[name].labels = {**labels, "sparkops.revision": text}
        assert "bug" not in lab.cli("plan", "--topology", "solo", "--limit", "node2").err, odd
        assert "bug" not in lab.cli("place", "--limit", "node2").err, odd
    lab.node("node1").engine.containers[name].labels = labels
    lab.node("node1").probes["meminfo"] = (1, "")
    del lab.node("node1").files[history(lab)]
    assert place(lab, chat(0.5), on="node1,node2")["chat"]["measured"] is False


def test_the_last_value_of_a_node_counts(lab: Lab) -> None:
    for beyond in (9, 1):
        lab.node("node1").engine.boots.clear()
        holds(lab, 0.5, beyond)
        solo(lab, 0.5, "--set", f"args.max-num-seqs={beyond}")
    lab.cli("stop", "chat", code=0)
    assert place(lab, chat(0.5))["chat"]["share"] == 0.509


def test_an_interrupt_while_memory_is_read_undoes_nothing(lab: Lab) -> None:
    (lab.work / "fleet.yml").write_text(f"deployments:\n  {chat(0.6)}\n")
    lab.cli("apply", "--limit", "node1", code=0)
    at = next(
        number
        for number in range(1, len(lab.world.sent) + 1)
        if lab.was_deployed(number) and "facts" in str(lab.world.sent[number - 1].command.words[0])
    )
    lab.cli("stop", "chat", code=0)
    lab.cli("cleanup", "--yes", code=0)
    lab.anew(troubles=[Trouble("interrupt", at)])
    ran = lab.cli("apply", "--limit", "node1")
    assert (ran.code, lab.state()) == (130, {"chat": "serving"})
    assert noted(lab) == [None]
