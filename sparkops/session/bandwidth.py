"""Measure how much the cables between some nodes carry, a few seconds for each interface."""

from collections.abc import Iterable, Mapping

from sparkops.core.fabric import Cabling, Fabric
from sparkops.core.fabric.bandwidth import Carried, Couple, Side, average, couples, rounds
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
    each = rounds(able)
    if each:
        session.report.note(f"measuring with ib_write_bw: {len(each)} times about 3 seconds")
    for couples_at_once in each:
        answers = session.ask({side.node: command for one in couples_at_once for side, command in _commands(one)})
        found += (_read(one, answers) for one in couples_at_once)
    return tuple(found)


def _commands(couple: Couple) -> tuple[tuple[Side, Command], ...]:
    """Beside each other, so that in a crowd no receiver waits for the turn of its sender."""
    receiver, sender = couple.receiver, couple.sender
    receive = _command("receive", receiver.device, PORT)
    return (receiver, receive), (sender, _command("send", sender.device, PORT, receiver.address))


def _without_tool(session: Session, nodes: Iterable[str]) -> frozenset[str]:
    answers = session.ask(dict.fromkeys(nodes, _command("there")))
    return frozenset(node for node, answer in answers.items() if isinstance(answer, Result) and answer.code == 127)


def _command(*words: Word) -> Command:
    return Command((Script("bandwidth"), *words), reads=True, timeout=60.0)


def _read(couple: Couple, answers: Mapping[str, Result | NodeLost]) -> Carried:
    """What the sender measured; the receiver may say better why nothing was."""
    sent, received = (answers.get(side.node) for side in (couple.sender, couple.receiver))
    if isinstance(sent, Result) and sent.ok and (gbps := average(sent.stdout)) is not None:
        return Carried(couple, gbps)
    return Carried(couple, None, f"{couple}: {'; '.join(filter(None, map(_said, (received, sent))))}")


def _said(answer: Result | NodeLost | None) -> str:
    """The last words of a side that failed; of a receiver to which nobody came, none."""
    if not isinstance(answer, Result):
        return answer.reason if answer else "not reached"
    last = " ".join((answer.stdout or answer.stderr).split("\n")[-3:]).strip()
    return "" if answer.code in (0, 124) else last[:200] or f"ib_write_bw ended with exit code {answer.code}"
