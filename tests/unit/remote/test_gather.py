"""What is asked of all nodes at once, over a world whose clock shows what has been done."""

import threading

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.remote.gather import connect, gather

QUESTION = Command(("uname",), reads=True)


class Slow:
    """Letting somebody in takes 100 seconds, an answer one; `away` lets nobody in. Everything in turn."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def reach(self, node: str, cancel: object) -> None:
        self.seconds += 100
        if node == "away":
            raise NodeLost(node, "connection refused", sent=False)

    def send(self, node, command, cancel):
        self.seconds += 1
        return Result("exited", 0, stdout=f"{node}\n")

    def now(self):
        return self.seconds

    def each(self, tasks, cancel):
        for task in tasks.values():
            task(cancel)

    def cancel(self):
        return threading.Event()


def test_the_time_of_an_answer_does_not_hold_that_of_the_login():
    spans: dict[str, tuple[float, float]] = {}
    answers = gather(Slow(), {"there": QUESTION, "away": QUESTION}, spans)
    assert (answers["there"].stdout, answers["away"].reason) == ("there\n", "connection refused")
    assert spans == {"there": (100.0, 101.0)}


def test_who_cannot_be_reached_is_told_and_keeps_nobody_from_being_reached():
    world = Slow()
    assert {name: lost.reason for name, lost in connect(world, ("away", "there")).items()} == {
        "away": "connection refused"
    }
    assert world.seconds == 200
