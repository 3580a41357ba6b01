"""Routes of a copy from node to node: chains, a key for this copy alone, and what earlier copies left."""

from collections.abc import Mapping, Sequence

from sparkops.core import copying
from sparkops.core.copying import Hop
from sparkops.core.facts import Facts
from sparkops.core.plan import NodeLost
from sparkops.core.situation import state_dir
from sparkops.node_commands import copies as commands
from sparkops.phases.copies import PUBLIC, Copy, compile_copy, key_of
from sparkops.phases.sudo import with_sudo
from sparkops.remote.ssh_keys import new_pair
from sparkops.session.execute import execute
from sparkops.session.host_keys import host_key
from sparkops.session.session import Session

Chains = tuple[tuple[Hop, ...], ...]


def transfer_routes(
    session: Session, names: Sequence[str], complete: frozenset[str], facts: Mapping[str, Facts]
) -> Chains:
    """Chains from the nodes in `complete` to the others; warns of each hop that does not use the fabric."""
    chains = tuple(
        tuple(copying.hop(a, session.nodes[b], facts, session.nodes) for a, b in zip(chain, chain[1:], strict=False))
        for chain in copying.chains(names, complete)
    )
    for one in (hop for chain in chains for hop in chain if not hop.fabric):
        session.report.warn(f"copy {one.sender} -> {one.receiver} uses the management network: {one.why}", one.receiver)
    return chains


def give_keys(session: Session, chains: Chains) -> None:
    """Make a new key and put it into the secrets of all senders and receivers."""
    public, private = new_pair()
    session.secrets[PUBLIC.name] = public
    for one in (hop for chain in chains for hop in chain):
        session.secrets[key_of(one.sender).name] = f"{commands.ALIAS} {host_key(session, one.receiver)}\n{private}"
    session.report.hide(private)


def clear(session: Session, facts: Mapping[str, Facts], sudo: bool = True) -> None:
    """Remove keys and pipes that killed copies left, if there are any."""
    answers = session.ask({name: commands.left(state_dir(found)) for name, found in facts.items()})
    left = {n: tuple(r.stdout.split()) for n, r in answers.items() if not isinstance(r, NodeLost) and r.stdout.split()}
    if left:
        whole = compile_copy(Copy("", "", 0, (), 0, left), facts)
        execute(with_sudo(whole, session.sudo) if sudo else whole, session)
