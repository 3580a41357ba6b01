"""`node/run.sh` alone: however a client goes, nothing of its command stays."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from support.shells import Held, NodeShell, alive, until

INIT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
first = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
while True:
    pid, status = os.wait()
    if pid == first:
        os._exit(os.waitstatus_to_exitcode(status))
"""
"""The first process of a node: it reaps every orphan."""


def framed(node: NodeShell, *words: str, limit: str = "60", count: str = "0") -> list[str]:
    return [sys.executable, "-c", INIT, *node.words("run", limit, count, "-", *words)]


def test_the_end_of_stdin_ends_the_command_and_what_it_started(nodes: list[NodeShell]) -> None:
    """Also in the middle of a payload, where hang-ups are ignored, and a grandchild that knows how to live on."""
    ignoring = ("sh", "-c", 'trap "" HUP; exec "$@"', "nohup")
    for node in nodes:
        mark = f"{node.home}/grandchild".replace(" ", ".")
        grandchild = f"trap : INT; sleep 60; : {mark}"
        for prefix, given in (((), b""), (ignoring, b""), ((), b"part")):
            words = framed(
                node, "sh", "-c", f"sh -c '{grandchild}' & sleep 60; : {mark}", count="1000" if given else "0"
            )
            held = Held([*prefix, *words], given)
            assert until(lambda: alive(f"^sh -c {grandchild}"))  # noqa: B023
            held.hang_up()
            assert not alive(mark)


def test_a_client_that_is_killed_takes_its_command_along(nodes: list[NodeShell]) -> None:
    client = "from subprocess import *; import sys; Popen(sys.argv[1:], stdin=PIPE, start_new_session=True).wait()"
    for node in nodes:
        script = f"sleep 60; : {node.home}/orphan"
        with subprocess.Popen([sys.executable, "-c", client, *framed(node, "sh", "-c", script)]) as process:
            assert until(lambda: alive(f"^sh -c {script}"))  # noqa: B023
            process.kill()
        assert until(lambda: not alive(script))  # noqa: B023


def test_a_command_that_ignores_term_is_killed_some_time_after_its_deadline(nodes: list[NodeShell]) -> None:
    """Five seconds: the node's `timeout` notes them, and takes a moment instead."""
    for node in nodes:
        node.tool("timeout", f'echo "$1 $2" >"$HOME/kills"; shift 2; exec {shutil.which("timeout")} -k 0.1 "$@"')
        held = Held(framed(node, "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", limit="0.5"), env=node.env)
        code, _, errors = held.end()
        assert (code, errors) == (124, b"sparkops-run: timeout\n")
        assert (node.home / "kills").read_text() == "-k 5\n"


def test_what_a_command_leaves_behind_is_ended_and_only_what_detached_itself_lives_on(nodes: list[NodeShell]) -> None:
    """A stubborn process is killed five seconds later."""
    for node in nodes:
        mark = Path(node.tools, "mark")
        stubborn = f"sh -c 'trap \"\" TERM; : >{mark}.stubborn; while :; do sleep 0.1; done; : {mark}' &"
        detached = f"setsid sh -c 'echo $$ >{mark}; sleep 60; : {mark}' </dev/null >/dev/null 2>&1 &"
        started = f"until [ -s {mark} ] && [ -e {mark}.stubborn ]; do sleep 0.05; done; echo started"
        node.tool("sleep", f'case $1 in 60) ;; *) shift; set -- 0.05 ;; esac; exec {shutil.which("sleep")} "$@"')
        script = f"{stubborn} {detached} sh -c 'sleep 60; : {mark}' & {started}"
        assert Held(framed(node, "sh", "-c", script), env=node.env).end() == (0, b"started\n", b"")
        found = subprocess.run(["pgrep", "-f", "--", f": {mark}"], capture_output=True, text=True, check=True)
        assert found.stdout == mark.read_text()
        os.killpg(int(mark.read_text()), signal.SIGKILL)
