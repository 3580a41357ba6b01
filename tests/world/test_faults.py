"""Losses at every send, and what is not asked; what faults look like is typed in `transcripts/faults.txt`."""

import itertools

import pytest

from sparkops.testing import Trouble
from sparkops.testing.boot import BOOT_LINES, BootRule, EngineBoot
from support.world import Lab

GPT = "openai-gpt-oss-120b"
SOLO = ("solo", "--limit", "node1")
OTHER = ("--set", "args.max-model-len=2048")


@pytest.mark.parametrize("kind", ["lost-unapplied", "lost-applied"])
def test_a_connection_lost_after_any_send_ends_in_a_said_and_undone_state(lab: Lab, kind: str) -> None:
    lab.deploy(*SOLO)
    before = lab.containers()
    codes = []
    for at in itertools.count(1):
        lab.anew(troubles=[Trouble(kind, at, away=0)])  # type: ignore[arg-type]
        ran = lab.cli("deploy", "--json", "--topology", "cluster", *OTHER)
        codes.append(ran.code)
        if lab.world.tries < at:
            break
        if ran.code:
            assert ran.document["error"]["kind"] == "unreachable", (at, ran.told)
            assert lab.containers() == before == lab.running(), at
        else:
            assert lab.world.sent[at - 1].command.reads, "only what reads is asked again"
            lab.json("rollback")
        assert lab.serves(), at
    assert set(codes) == {4, 0}


def test_who_looks_or_stops_does_not_wait_for_the_driver(lab: Lab) -> None:
    lab.deploy(*SOLO)
    with lab.trouble("node1", "gpu-hangs"):
        lab.mark()
        assert lab.state() == {GPT: "serving"}
        assert lab.cli("key", code=0).out
        assert lab.cli("logs", code=0).out
        assert lab.json("stop")["stopped"]
    read = [one.shown for one in lab.received() if one.shown.startswith("@facts")]
    beside = [words for words in read if "--patience" in words]
    assert all("--only gpu-load" in words for words in beside)
    assert len(beside) == len(lab.names), "status asks the GPU while it asks the API"
    assert len(read) == 5 * len(lab.names)
    assert not [words for words in read if "--only" not in words or "nvidia" in words]


HALF_AN_HOUR = 900
"""Looks at an engine, two seconds apart."""


@pytest.mark.parametrize(("compiles", "code"), [(True, 0), (False, 5)])
def test_a_silent_start_of_half_an_hour_is_awaited_while_the_engine_compiles(
    lab: Lab, compiles: bool, code: int
) -> None:
    boot = EngineBoot(looks=HALF_AN_HOUR, log=BOOT_LINES[:1], compiles=compiles)
    lab.node("node1").engine.boots.append(BootRule(lambda _image, _words: True, boot))
    ran = lab.cli("deploy", "--topology", *SOLO)
    assert ran.code == code
    assert ("nothing changed for 600 s" in ran.told) is not compiles
