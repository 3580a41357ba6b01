"""What `preflight --fix` may do: safe, reversible, each for one check. Nothing here stops or replaces anything."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from sparkops.core.facts import Sudo, User, known
from sparkops.core.inventory import Node
from sparkops.core.plan import Action, Phase, Plan, Step
from sparkops.core.rights import may_drop, may_sudo, missing_caches
from sparkops.core.situation import Situation
from sparkops.node_commands import caches, rights, scripts
from sparkops.phases.cache import permit_and_check

EARLYOOM = "earlyoom"


def make_caches(s: Situation, node: Node) -> Iterator[Step]:
    if missing := missing_caches(s, node):
        made = Action(scripts.directories(*missing))
        yield Step(f"directories.{node.name}", node.name, "make the cache directories", made)


def drop(s: Situation, node: Node) -> Iterator[Step]:
    """With the password that was given, for good: the narrow line in sudoers first."""
    rights = s.facts[node.name].sudo
    permits = isinstance(rights, Sudo) and not (rights.able or rights.drop_caches) and may_sudo(s, node)
    if permits:
        yield from permit_and_check(s.facts[node.name], node.name)
    if permits or may_drop(s, node):
        yield Step(f"drop.{node.name}", node.name, "drop the page cache", Action(caches.drop(node.cache_dir)))


def permit(s: Situation, node: Node) -> Iterator[Step]:
    if may_sudo(s, node):
        yield from permit_and_check(s.facts[node.name], node.name)


def linger(s: Situation, node: Node) -> Iterator[Step]:
    user = s.facts[node.name].id
    if isinstance(user, User) and may_sudo(s, node):
        yield _note(node, "linger", user.name)
        on, off = Action(rights.let_linger(user.name)), Action(rights.unlinger(user.name))
        yield Step(f"linger.{node.name}", node.name, f"let {user.name} linger", on, off)


def start_earlyoom(s: Situation, node: Node) -> Iterator[Step]:
    """One that is installed; installing is for the person."""
    package = known(s.facts[node.name].packages, {}).get(EARLYOOM)
    if package is not None and package.installed and may_sudo(s, node):
        yield _note(node, "service", EARLYOOM)
        on, off = Action(rights.start_service(EARLYOOM)), Action(rights.stop_service(EARLYOOM))
        yield Step(f"earlyoom.{node.name}", node.name, "start earlyoom", on, off)


def _note(node: Node, kind: str, what: str) -> Step:
    """First, so that `cleanup` knows of it whatever happens then."""
    note, forget = Action(scripts.record(kind, what)), Action(scripts.forget(kind, what))
    return Step(f"note-{kind}.{node.name}", node.name, "note it in the manifest", note, forget)


FIXES: Mapping[str, Callable[[Situation, Node], Iterator[Step]]] = {
    "caches-owned": make_caches,
    "drop-permitted": permit,
    "page-cache": drop,
    "linger": linger,
    "earlyoom": start_earlyoom,
}
"""By the check that the steps satisfy."""


ALWAYS = ("caches-owned",)
"""Nothing is held against a node that lacks them, and making them is worth it all the same."""


def fixes(
    s: Situation, nodes: Iterable[Node], held: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Step, ...]]:
    """Steps by (node, check), for what is held against nodes; what cannot be done here has none."""
    wanted = set(held)
    found = {
        (node.name, check): tuple(fix(s, node))
        for node in nodes
        for check, fix in FIXES.items()
        if (node.name, check) in wanted or (check in ALWAYS and node.name not in s.away)
    }
    return {where: steps for where, steps in found.items() if steps}


def compile_fix(steps: Iterable[tuple[Step, ...]]) -> Plan:
    """Each node's trouble is its own, and each step's: the others are fixed all the same."""
    unique = {step.id: step for some in steps for step in some}
    phases = (Phase("fix", tuple(unique.values())),) if unique else ()
    return Plan("preflight --fix", None, phases, on_failure="go-on")
