"""`node/lock.sh` alone: one holder a machine, and nothing to clean up after a holder that died."""

import shutil

from support.shells import Held, NodeShell


def test_the_lock_goes_from_holder_to_holder_however_the_first_one_ends(nodes: list[NodeShell]) -> None:
    """Who waits for another run gives up in a moment; the same run waits for its own dying connection."""
    for node in nodes:
        shorter = '[ "$1 $2" != "-w 3" ] || { shift 2; set -- -w 0.1 "$@"; }'
        node.tool("flock", f'{shorter}; exec {shutil.which("flock")} "$@"')

        def take(run: str) -> Held:
            return Held(node.words("lock", run, "90", f'{{"run":"{run}"}}'), env=node.env)  # noqa: B023

        first = take("run1")
        assert first.line() == "held"
        assert take("run2").end() == (75, b'{"run":"run1"}\n', b"")
        again = take("run1")
        assert again.line() == "waiting"
        first.hang_up()
        assert again.line() == "held"
        again.process.kill()
        again.process.wait(60)
        third = take("run2")
        assert third.line() == "held"
        third.hang_up()
        again.hang_up()
