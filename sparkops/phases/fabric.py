"""Give the nodes their addresses of the fabric, and take them away: a node that is lost has its old ones again."""

from collections.abc import Iterable, Iterator, Mapping

from sparkops.core.fabric.netplan import PATH
from sparkops.core.manifest import Entry
from sparkops.core.plan import Phase, Plan, Step
from sparkops.node_commands import netplan, scripts
from sparkops.phases.steps import step

ENTRY = Entry("netplan", PATH)
"""What the manifest says of the file."""


def compile_setup(texts: Mapping[str, str]) -> Plan:
    """`texts` has the new file of each node. The nodes take their turns, and the first failure ends the run."""
    return _in_turn("fabric setup", "write and apply the netplan files", map(_keeping, texts, texts.values()))


def compile_undo(nodes: Iterable[str]) -> Plan:
    return _in_turn("fabric setup", "remove the netplan files", map(removing, nodes))


def removing(node: str) -> Iterator[Step]:
    without = netplan.attempt("")
    yield step(f"try-without.{node}", node, "apply the network configuration without it, for a minute", without)
    yield step(f"drop.{node}", node, f"remove {PATH}, because the node answers", netplan.drop())
    yield step(f"forget-netplan.{node}", node, "note it in the manifest", scripts.forget(ENTRY.kind, PATH))


def _keeping(node: str, text: str) -> Iterator[Step]:
    """The manifest comes first, so that `cleanup` knows of the file even if a later step fails."""
    yield step(f"note-netplan.{node}", node, "note it in the manifest", scripts.record(ENTRY.kind, PATH))
    yield step(f"try.{node}", node, "apply the new network configuration, for a minute", netplan.attempt(text))
    yield step(f"keep.{node}", node, f"keep it as {PATH}, because the node answers", netplan.keep())


def _in_turn(verb: str, title: str, steps: Iterable[Iterable[Step]]) -> Plan:
    each = tuple(one for node in steps for one in node)
    return Plan(verb, None, (Phase(title, each, serial=True),), on_failure="stop")
