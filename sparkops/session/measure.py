"""What engines hold of the GPU's memory once they serve."""

from collections.abc import Iterable
from contextlib import suppress

from sparkops.core.facts import WHAT_RUNS, Facts, Unreadable, parse
from sparkops.core.memory_beyond import measured
from sparkops.core.notes import Load
from sparkops.core.plan import Result
from sparkops.session.session import Session

READS = ("meminfo", "gpu-processes", *WHAT_RUNS)


def measure(session: Session, nodes: Iterable[str]) -> dict[Load, int]:
    """What they hold beyond their shares, in MiB; a node that does not answer says nothing."""
    asked = {node: session.facts_command(session.nodes[node], only=READS) for node in nodes}
    found: dict[str, Facts] = {}
    for node, result in session.ask(asked).items():
        with suppress(Unreadable):
            found |= {node: parse(result.stdout)} if isinstance(result, Result) else {}
    return measured(found)
