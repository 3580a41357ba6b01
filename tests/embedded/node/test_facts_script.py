"""A capture of a node on which a tool cannot be killed."""

import shutil

from sparkops.core.facts import Unread, parse
from support.shells import NodeShell


def test_a_tool_that_cannot_be_killed_does_not_hold_the_capture(nodes: list[NodeShell]) -> None:
    """It leaves a child that holds its output; whoever reads that gives up too."""
    for node in nodes:
        gate = node.tools / "gate"
        node.tool("nvidia-smi", f"setsid sh -c 'until [ -e {gate} ]; do sleep 0.1; done' & exec sleep 60")
        limits = 'case "$4" in nvidia-smi) limit=0.1 ;; cat) limit=0.5 ;; *) limit=60 ;; esac'
        node.tool("timeout", f'{limits}; shift 3; exec {shutil.which("timeout")} -k 1 $limit "$@"')
        ended = node.run("facts", "--only", "nvidia-smi,meminfo")
        gate.touch()
        got = parse(ended.stdout)
        assert (ended.returncode, isinstance(got.nvidia_smi, Unread), got.took_seconds is not None) == (0, True, True)
