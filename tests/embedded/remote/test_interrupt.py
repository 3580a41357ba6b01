"""Ctrl-C on a real process with real connections: what it did is undone, however often somebody presses."""

import signal
import subprocess
import sys
import time

from support.paths import ROOT

PROGRAM = """
import sys
from pathlib import Path
from sparkops.core.inventory import Node
from sparkops.core.plan import Action, Command, Phase, Plan, Step, Wait
from sparkops.remote.execute import execute
from sparkops.remote.fleet import Fleet
from sparkops.remote.lock import owner_here
from sparkops.remote.ssh import Options

home, port, mark = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
node = Node("spark1", "127.0.0.1", user="me", port=port, key_file=str(home / "id"))
never = Wait(Command(("echo", "wait for ever"), reads=True), every=0.2)
undo = Action(Command(("sh", "-c", 'sleep 0.5; rm "$1"', "undo", mark)), never)
touch = Step("touch", "spark1", "touch", Action(Command(("touch", mark))), undo)
wait = Step("wait", "spark1", "wait", Action(wait=never))
plan = Plan("deploy", None, (Phase("touch", (touch,)), Phase("wait", (wait,))))
with Fleet([node], Options("me", home, (home / "known_hosts",))) as fleet:
    fleet.lock(owner_here("run1", "now"))
    outcome = execute(plan, fleet, lambda event: print(event.kind, event.step, event.text, flush=True))
print("outcome", outcome.status, outcome.undone, outcome.stuck)
"""


def until_line(process: subprocess.Popen[str], word: str) -> None:
    for line in process.stdout:  # type: ignore[union-attr]
        if word in line:
            return
    raise AssertionError(f"{word} was never said")


def test_more_interrupts_end_the_wait_of_the_undo_but_not_the_removal(server, tmp_path):
    mark = tmp_path / "mark"
    program = [sys.executable, "-c", PROGRAM, str(server.home), str(server.port), str(mark)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    until_line(process, "progress wait")
    assert mark.exists()
    process.send_signal(signal.SIGINT)
    until_line(process, "progress touch")
    sent = 0
    while process.poll() is None and (sent == 0 or mark.exists()):
        process.send_signal(signal.SIGINT)
        sent += 1
        time.sleep(0.03)
    out, _ = process.communicate(timeout=60)
    assert "undone touch sparkops did not wait until it was ready" in out
    assert "outcome interrupted ('touch',) ()" in out
    assert not mark.exists()
