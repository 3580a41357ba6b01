"""What engines held when they served decides where the next ones have room."""

import json
from pathlib import Path

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


def place(lab: Lab, *deployments: str, code: int = 0) -> dict[str, dict[str, object]]:
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *(f"  {one}" for one in deployments), ""]))
    return {one["name"]: one for one in lab.json("place", "--limit", "node1", code=code)["deployments"]}


def chat(share: float, recipe: str = GPT, name: str = "chat") -> str:
    more = f"alongside: true, allow: [memory-fits], set: {{args.gpu-memory-utilization: {share}}}"
    return f"{name}: {{recipe: {recipe}, {more}}}"


def noted(lab: Lab) -> list[object]:
    found = [json.loads(text) for text in lab.node("node1").files[history(lab)].splitlines()]
    return [note["load"].get("beyond_mib") for note in found if note.get("load")]


def history(lab: Lab) -> str:
    return f"{lab.node('node1').state_dir}/history"


def test_what_an_engine_holds_beyond_its_share_is_kept_and_counts_when_it_no_longer_serves(lab: Lab) -> None:
    assert place(lab, chat(0.5))["chat"]["measured"] is False
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    assert noted(lab) == [9 * 1024]
    lab.cli("stop", "chat", code=0)
    found = place(lab, chat(0.6))["chat"]
    assert (found["measured"], found["beyond"]) == (True, 0.074)
    assert found["share"] == 0.674
    assert "0.67 measured" in lab.cli("place", "--limit", "node1", code=0).out


def test_another_recipe_is_estimated(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    assert place(lab, chat(0.5, OTHER))["chat"]["measured"] is False


def test_what_fits_by_its_share_but_not_as_measured_has_no_place_and_is_told_what_would_fit(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    found = place(lab, chat(0.5), chat(0.45, name="second"), code=3)
    assert found["chat"]["copies"] == [["node1"]]
    assert "needs 0.52 of the memory of 1 node (0.07 of that beyond what it requests, as measured)" in str(found)
    assert "args.gpu-memory-utilization: 0.30" in str(found["second"]["next"])


def test_what_serves_keeps_its_place_however_little_is_left(lab: Lab) -> None:
    holds(lab, 0.5, 6)
    holds(lab, 0.37, 6)
    fleet = ("deployments:", f"  {chat(0.5)}", f"  {chat(0.37, name='second')}", "")
    (lab.work / "fleet.yml").write_text("\n".join(fleet))
    lab.cli("apply", "--limit", "node1", code=0)
    assert set(noted(lab)) == {6 * 1024}
    assert not lab.json("diff", "--limit", "node1")["changed"]
    lab.cli("stop", "second", code=0)
    assert "beyond what it requests, as measured" in lab.cli("diff", "--limit", "node1", code=3).err


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


def test_of_an_engine_with_a_cache_of_a_given_size_all_counts_that_it_held(lab: Lab) -> None:
    lab.world.boot(BootRule.flag("0.5", EngineBoot(gpu_mib=40 * 1024)))
    size = "args.kv-cache-memory-bytes: 2000000000"
    fleet = chat(0.5).replace("0.5}", f"0.5, {size}}}")
    estimated = place(lab, fleet)["chat"]
    solo(lab, 0.5, "--set", size.replace(": ", "="))
    assert noted(lab) == [40 * 1024]
    found = place(lab, fleet)["chat"]
    assert (found["measured"], found["share"], found["beyond"]) == (True, 0.329, 0.329)
    assert estimated["share"] != found["share"]


def test_what_an_earlier_version_started_is_measured_while_it_serves(lab: Lab) -> None:
    holds(lab, 0.5, 9)
    solo(lab, 0.5)
    del lab.node("node1").files[history(lab)]
    assert place(lab, chat(0.5))["chat"]["measured"] is True
    lab.cli("stop", "chat", code=0)
    assert place(lab, chat(0.5))["chat"]["measured"] is False


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
