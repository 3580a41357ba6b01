"""What a Fleet decides without any connection: cancels and interrupts."""

import os
import signal
import sys

import pytest

from sparkops.core.inventory import Node
from sparkops.core.plan import Command
from sparkops.remote.fleet import Fleet
from sparkops.remote.ssh import Options


@pytest.fixture
def fleet(tmp_path):
    """Before a node that nobody ever reaches."""
    with Fleet([Node("spark1", "127.0.0.1", port=1)], Options("me", tmp_path, ())) as fleet:
        yield fleet


def test_who_has_not_been_reached_before_a_cancel_is_neither_reached_nor_sent_anything(fleet):
    cancel = fleet.cancel()
    cancel.set()
    fleet.reach("spark1", cancel)
    assert fleet.send("spark1", Command(("true",), reads=True), cancel).ended == "cancelled"
    assert (fleet.connections, fleet.commands) == (0, 0)


def test_an_interrupt_sets_the_cancel_and_is_raised_when_all_tasks_have_ended(fleet):
    ended = []

    def task(cancel):
        fleet.pause(60, cancel)
        ended.append(cancel.is_set())

    def interrupt(cancel):
        """A task begins only when the interrupt would be noted."""
        os.kill(os.getpid(), signal.SIGINT)
        task(cancel)

    with pytest.raises(KeyboardInterrupt) as stop:
        fleet.each({"a": interrupt, "b": task}, fleet.cancel())
    assert (ended, stop.value.args) == ([True, True], (1,))


@pytest.mark.timeout(20)
def test_a_signal_within_the_handling_of_another_one_is_counted_and_waits_for_nothing(fleet):
    more = []

    def at_each_line(_frame, _event, _argument):
        more.append(signal.raise_signal(signal.SIGINT))
        return at_each_line

    def handling(frame, _event, _argument):
        return at_each_line if frame.f_code.co_name in ("_note", "set") else None

    class Tasks(dict):
        """The first signal comes as the main thread reads them: one that came in `handling` would not be traced."""

        def values(self):
            signal.raise_signal(signal.SIGINT)
            return super().values()

    before = sys.gettrace()
    sys.settrace(handling)
    try:
        with pytest.raises(KeyboardInterrupt) as stop:
            fleet.each(Tasks(), fleet.cancel())
    finally:
        sys.settrace(before)
    assert len(more) > 3
    assert stop.value.args == (1 + len(more),)


def test_an_interrupt_between_two_waves_is_seen_by_the_next_and_by_no_other(fleet):
    seen = []
    with fleet.held():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as stop:
            fleet.each({"a": lambda cancel: seen.append(cancel.is_set())}, fleet.cancel())
        fleet.each({"a": lambda cancel: seen.append(cancel.is_set())}, fleet.cancel())
        os.kill(os.getpid(), signal.SIGINT)
    assert (seen, stop.value.args) == ([True, False], (1,))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
