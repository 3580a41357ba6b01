"""The plan that copies an image along chains of nodes: keys, receivers, senders, then the wait for all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sparkops.core.copying import Hop, origins
from sparkops.core.facts import Facts
from sparkops.core.plan import Plan, Secret, Step, Word
from sparkops.core.situation import state_dir
from sparkops.node_commands import copies as commands
from sparkops.phases.images import until_done
from sparkops.phases.steps import QUIETLY, plan, step

PUBLIC = Secret("copy-public-key")
PATIENCE = 3
"""How many times longer a sender waits without progress than its receivers, so that they fail first."""

SLOWEST = 5_000_000
"""Bytes per second; a slower copy is given up."""


@dataclass(frozen=True)
class Copy:
    """One copy of an image or a model. A chain is its hops in order; `left` has earlier copies' IDs to clear, by node.

    For a model, `give` and `take` are the words of the commands that make and that read the stream, by node.
    """

    job: str
    image: str
    size: int
    chains: tuple[tuple[Hop, ...], ...]
    stall: int
    left: Mapping[str, tuple[str, ...]]
    kind: str = "image"
    give: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)
    take: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)

    @property
    def hops(self) -> tuple[Hop, ...]:
        return tuple(hop for chain in self.chains for hop in chain)

    @property
    def seconds(self) -> int:
        return 3600 + self.size // SLOWEST


def key_of(sender: str) -> Secret:
    """The secret for this sender: the next node's host key and the copy's private key."""
    return Secret(f"copy-key-{sender}")


def compile_copy(copy: Copy, facts: Mapping[str, Facts]) -> Plan:
    """The plan; a node that fails is dropped, and nodes that do not receive from it go on."""
    nodes = (*(hop.receiver for hop in copy.hops), *(chain[0].sender for chain in copy.chains))
    phases = {
        "remove leftovers of earlier copies": _cleared(copy, facts),
        "let the nodes connect to each other": (*_admitted(copy, facts), *_handed(copy, facts)),
        "receive": _receiving(copy, facts),
        "send": _sending(copy, facts),
        f"copy the {copy.kind}": awaited(copy.job, copy.image, nodes, copy.stall),
    }
    return plan(f"copy {copy.kind}", phases, on_failure="drop")


def awaited(job: str, image: str, nodes: tuple[str, ...], stall: int) -> Iterator[Step]:
    for node in nodes:
        yield step(f"copy.{node}", node, f"copy {image}", until_done(job, stall=4.0 * stall + 1800, every=0.5))


def _cleared(copy: Copy, facts: Mapping[str, Facts]) -> Iterator[Step]:
    for node, copies in copy.left.items():
        close = commands.close(state_dir(facts[node]), *copies)
        yield step(f"clear.{node}", node, f"remove leftovers of {', '.join(copies)}", close)


def _admitted(copy: Copy, facts: Mapping[str, Facts]) -> Iterator[Step]:
    for hop in copy.hops:
        state, node = state_dir(facts[hop.receiver]), hop.receiver
        admit = commands.admit(state, copy.job, origins(hop, facts[hop.sender]), PUBLIC)
        undo = commands.close(state, copy.job)
        yield step(f"open.{node}", node, f"allow {hop.sender} to send the {copy.kind}", admit, undo, QUIETLY)


def _handed(copy: Copy, facts: Mapping[str, Facts]) -> Iterator[Step]:
    for hop in copy.hops:
        state, node = state_dir(facts[hop.sender]), hop.sender
        hand, undo = commands.hand(state, copy.job, key_of(node)), commands.close(state, copy.job)
        yield step(f"hand.{node}", node, f"write the SSH key for {hop.receiver}", hand, undo, QUIETLY)


def _receiving(copy: Copy, facts: Mapping[str, Facts]) -> Iterator[Step]:
    for chain in copy.chains:
        for hop, following in zip(chain, (*chain[1:], None), strict=True):
            state = state_dir(facts[hop.receiver])
            take = copy.take.get(hop.receiver, ())
            job = commands.receive(state, copy.job, copy.size, copy.stall, following, copy.seconds, take)
            what = f"receive and pass on to {following.receiver}" if following else "receive"
            yield step(f"receive.{hop.receiver}", hop.receiver, what, job)


def _sending(copy: Copy, facts: Mapping[str, Facts]) -> Iterator[Step]:
    for chain in copy.chains:
        hop = chain[0]
        state, patience = state_dir(facts[hop.sender]), PATIENCE * copy.stall
        give = copy.give.get(hop.sender, ())
        job = commands.send(state, copy.job, copy.size, patience, copy.image, hop, copy.seconds, give)
        way = f"{hop.address} over {'the fabric' if hop.fabric else 'the management network'}"
        yield step(f"send.{hop.sender}", hop.sender, f"send to {hop.receiver} ({way})", job)
