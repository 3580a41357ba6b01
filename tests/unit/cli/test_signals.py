"""What a signal to this process means; tests/embedded has runs that get one while they work on nodes."""

import os
import subprocess
import sys
from pathlib import Path

import sparkops

PLACE = str(Path(next(iter(sparkops.__path__))).parent)

PROGRAM = """
import signal, sys
from sparkops import signals
from sparkops.errors import Interrupted

signals.listen()
number, ways = getattr(signal, sys.argv[1]), []
try:
    signal.raise_signal(number)
    ways.append("ignored")
except KeyboardInterrupt:
    ways.append("raised")
with signals.noted(lambda: ways.append("noted")):
    signal.raise_signal(number)
try:
    with signals.deferred():
        signal.raise_signal(number)
        ways.append("deferred")
except KeyboardInterrupt:
    ways.append("raised")
signals.over()
signal.raise_signal(number)

class Late:
    def __del__(self, send=signal.raise_signal):
        send(number)  # while Python ends

late = Late()
print(*ways, Interrupted("this became of it").message)
"""


def said(number: str, before: str = "") -> str:
    line = ["sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-c", PROGRAM, number]
    path = os.pathsep.join(filter(None, (PLACE, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(line, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_each_of_them_interrupts_and_the_message_names_it() -> None:
    ways = "raised noted deferred raised"
    assert said("SIGTERM") == f"{ways} interrupted by SIGTERM; this became of it"
    assert said("SIGHUP") == f"{ways} interrupted: the terminal was closed (SIGHUP); this became of it"


def test_one_that_was_ignored_before_stays_ignored() -> None:
    """As `nohup` wants it, and a shell for what it starts in the background."""
    assert said("SIGHUP", "trap '' HUP;") == "ignored deferred interrupted; this became of it"
    assert said("SIGINT", "trap '' INT;") == "ignored deferred interrupted; this became of it"
