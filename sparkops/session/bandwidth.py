"""Measure how much the cables between some nodes carry, a few seconds for each interface."""

from collections.abc import Iterable

from sparkops.core.fabric import Cabling, Fabric
from sparkops.core.fabric.bandwidth import Carried, Couple, average, couples, turns
from sparkops.core.plan import Command, NodeLost, Result, Script, Word
from sparkops.session.session import Session

PORT = "18515"
"""TCP port at which `ib_write_bw` meets, its own default."""
MISSING = "ib_write_bw is not there: sudo apt install perftest"


def measure(session: Session, fabric: Fabric, cabling: Cabling) -> tuple[Carried, ...]:
    """Each cable in its turn, and at once only those that share no node."""
    wanted = [*couples(fabric, cabling.segments)]
    without = _without_tool(session, {name for couple in wanted for name in couple.nodes})
    able = [couple for couple in wanted if couple.nodes.isdisjoint(without)]
    found = [Carried(one, None, f"{min(one.nodes & without)}: {MISSING}") for one in wanted if one not in able]
    each = turns(able)
    if each:
        session.report.note(f"measuring with ib_write_bw: {len(each)} times about 3 seconds")
    for turn in each:
        asked = {one.receiver.node: _command("receive", one.receiver.device, PORT) for one in turn}
        asked |= {one.sender.node: _command("send", one.sender.device, PORT, one.receiver.address) for one in turn}
        answers = session.ask(asked)
        found += (_read(one, answers.get(one.sender.node)) for one in turn)
    return tuple(found)


def _without_tool(session: Session, nodes: Iterable[str]) -> frozenset[str]:
    answers = session.ask(dict.fromkeys(nodes, _command("there")))
    return frozenset(node for node, answer in answers.items() if isinstance(answer, Result) and answer.code == 127)


def _command(*words: Word) -> Command:
    return Command((Script("bandwidth"), *words), reads=True, timeout=60.0)


def _read(couple: Couple, answer: Result | NodeLost | None) -> Carried:
    if not isinstance(answer, Result):
        return Carried(couple, None, f"{couple}: {answer.reason if answer else 'not reached'}")
    found = average(answer.stdout) if answer.ok else None
    said = " ".join((answer.stdout or answer.stderr).split("\n")[-3:]).strip()
    return Carried(couple, found, "" if found is not None else f"{couple}: ib_write_bw said: {said[:200]}")
