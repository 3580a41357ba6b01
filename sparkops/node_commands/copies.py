"""Commands of a copy from node to node."""

from sparkops.core.copying import Hop
from sparkops.core.plan import Command, Script, Secret, Word
from sparkops.node_commands.images import started

ALIAS = "sparkops-next"
"""The name under which `relay.sh` checks the next node's host key."""

RELAY = Script("relay")


def left(state_dir: str) -> Command:
    return Command((RELAY, "left", state_dir), reads=True)


def close(state_dir: str, *copies: str) -> Command:
    return Command((RELAY, "close", state_dir, *copies))


def admit(state_dir: str, copy: str, origins: tuple[str, ...], public: Secret) -> Command:
    return Command((RELAY, "open", state_dir, copy, ",".join(origins)), stdin=public)


def hand(state_dir: str, copy: str, key: Secret) -> Command:
    """`key` is the next node's host key as a line, then the private key."""
    return Command((RELAY, "hand", state_dir, copy), stdin=key)


def receive(
    state_dir: str, copy: str, size: int, stall: int, next_hop: Hop | None, seconds: int, take: tuple[Word, ...] = ()
) -> Command:
    words: tuple[Word, ...] = (RELAY, "receive", state_dir, copy, str(size), str(stall))
    return started(copy, seconds, (*words, *(next_hop.words if next_hop else ()), *(("--", *take) if take else ())))


def send(
    state_dir: str, copy: str, size: int, stall: int, image: str, next_hop: Hop, seconds: int,
    give: tuple[Word, ...] = (),
) -> Command:  # fmt: skip
    words: tuple[Word, ...] = (RELAY, "send", state_dir, copy, str(size), str(stall), image)
    return started(copy, seconds, (*words, *next_hop.words, *(("--", *give) if give else ())))
