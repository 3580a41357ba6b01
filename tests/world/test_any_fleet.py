"""Random fleets, edits of their file, kills and lost nodes: what holds whatever the file says.

`SPARKOPS_FLEETS=2000` tries so many.
"""

import os
import random
from collections.abc import Callable

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from sparkops.testing.node import TOTAL_KIB
from support.world import Lab

GPT = "openai-gpt-oss-120b"
KINDS = ("recipe: %s, topology: cluster", "recipe: %s", "recipe: %s, replicas: 2")
SEEDS = range(int(os.environ.get("SPARKOPS_FLEETS", "40")))


def deployment(chance: random.Random, nodes: list[str], number: int) -> str:
    text = chance.choice(KINDS) % GPT
    share = chance.choice((None, 0.2, 0.4, 0.6))
    sets = [f"args.max-num-seqs: {number}"]
    if share:
        text += ", alongside: true, allow: [memory-fits]" if chance.random() < 0.8 else ", allow: [memory-fits]"
        sets.append(f"args.gpu-memory-utilization: {share}")
    if chance.random() < 0.2:
        text += f", nodes: [{', '.join(chance.sample(nodes, chance.randint(2, len(nodes))))}]"
    return f"{{{text}, set: {{{', '.join(sets)}}}}}"


def edited(chance: random.Random, fleet: dict[str, str], nodes: list[str], number: int) -> dict[str, str]:
    """The fleet with some deployments changed, added and removed, in another order; new ones have the number."""
    found = {name: text for name, text in fleet.items() if chance.random() < 0.8}
    for name in chance.sample("abcde", chance.randint(1, 2)):
        found[name] = deployment(chance, nodes, number)
    names = chance.sample(sorted(found), len(found))
    return {name: found[name] for name in names}


def endpoint(chance: random.Random, nodes: list[str], fleet: dict[str, str]) -> str:
    """The endpoint's line of the file; empty for a fleet without one."""
    if chance.random() < 0.3:
        return ""
    names = f"names: {{auto: {chance.choice(sorted(fleet))}}}"
    return f"endpoint: {{node: {chance.choice(nodes)}, port: {chance.choice((4000, 4000, 4100))}, {names}}}"


def write(lab: Lab, fleet: dict[str, str], front: str) -> None:
    lines = [f"  {name}: {text}" for name, text in fleet.items()]
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *lines, front, ""]))


def routes(lab: Lab) -> dict[str, str]:
    """The configurations that the endpoints read that run, by container."""
    found = {}
    for node in lab.world.nodes.values():
        for one in (one for one in node.engine.listed() if one.running and "-gateway-" in one.name):
            place = f"gateways/fleet-gateway-{one.name.rpartition('-')[2]}/routes.json"
            found[one.name] = node.files[f"{node.state_dir}/{place}"]
    return found


def holding(share: float, beyond_gib: float) -> BootRule:
    """Engines that request this share hold that much more, once they are up."""
    return BootRule.flag(f"{share:g}", EngineBoot(gpu_mib=round(share * TOTAL_KIB / 1024 + beyond_gib * 1024)))


def serving(lab: Lab) -> set[str]:
    return {one["name"] for one in lab.json("status")["deployments"] if one["state"] == "serving"}


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_file_says_and_whatever_fails(lab_of: Callable[[int], Lab], seed: int) -> None:
    chance = random.Random(seed)
    lab = lab_of(chance.choice((2, 4, 5)))
    if chance.random() < 0.5:
        beyond = chance.choice((0, 1, 3))
        lab.world.boot(*(holding(share, beyond) for share in (0.2, 0.4, 0.6, 0.7, 0.9)))
    lab.deploy("solo", "--name", "stranger", "--limit", lab.names[0], "--set", "args.gpu-memory-utilization=0.6")
    strangers = lab.starts()
    fleet: dict[str, str] = {}
    for number in range(11, 15):
        fleet, before = edited(chance, fleet, lab.names[:4], number), (lab.running(), routes(lab))
        front = endpoint(chance, lab.names[:4], fleet)
        write(lab, fleet, front)
        shown = lab.cli("diff", "--json")
        assert shown.document == lab.cli("diff", "--json").document | {"seconds": shown.document["seconds"]}
        ended = troubled(lab, chance, seed, number)
        assert strangers.items() <= lab.starts().items(), "a stranger's container was touched"
        assert lab.crowded() == []
        if ended in (2, 3, 5):
            assert before == (lab.running(), routes(lab)), ended
        if ended == 0:
            assert not lab.json("diff")["changed"], "one apply is enough"
        if shown.code == 0:
            lab.cli("apply", code=0)
            assert serving(lab) == {*fleet, "stranger", *(["fleet-gateway"] if front else [])}
            assert len(routes(lab)) == bool(front)
            assert not lab.json("diff")["changed"]
            assert lab.crowded() == []


def troubled(lab: Lab, chance: random.Random, seed: int, number: int) -> int:
    """Apply with a kill, an interrupt, a lost node or new engines that die; the exit code, -1 if nobody may know it."""
    kind = chance.choice(("none", "none", "crash-before", "crash-after", "interrupt", "lost-applied", "dies"))
    at = chance.randint(2, 60)
    if kind.startswith("crash"):
        lab.killed(at, "apply", kind=kind, seed=seed)
        return -1
    if kind == "dies":
        for node in lab.world.nodes.values():
            node.engine.boots.insert(0, BootRule.flag(str(number), EngineBoot(looks=3, crashes=True)))
        code = lab.cli("apply").code
        for node in lab.world.nodes.values():
            del node.engine.boots[0]
        return code
    lab.anew(seed=seed, troubles=[Trouble(kind, at, 1000.0)] if kind != "none" else [])  # type: ignore[arg-type]
    code = lab.cli("apply").code
    for name in lab.names:
        lab.world.heal(name)
    lab.anew()
    return code if kind != "lost-applied" else -1
