"""What `preflight --fix` may do: safe, reversible, each for one check. No step stops or replaces a container."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from sparkops.core.facts import Sudo, User, known
from sparkops.core.inventory import Node
from sparkops.core.plan import Plan, Step
from sparkops.core.rights import may_drop, may_sudo, missing_caches
from sparkops.core.situation import Situation
from sparkops.node_commands import caches, rights, scripts
from sparkops.phases.cache import permit_and_check
from sparkops.phases.steps import plan, step

EARLYOOM = "earlyoom"


def make_caches(s: Situation, node: Node) -> Iterator[Step]:
    if missing := missing_caches(s, node):
        made = scripts.directories(*missing)
        yield step(f"directories.{node.name}", node.name, "make the cache directories", made)


def drop(s: Situation, node: Node) -> Iterator[Step]:
    """Drop the page cache; if sudo needed a password, first install the one-command sudoers rule."""
    rights = s.facts[node.name].sudo
    permits = isinstance(rights, Sudo) and not (rights.able or rights.drop_caches) and may_sudo(s, node)
    if permits:
        yield from permit_and_check(s.facts[node.name], node.name)
    if permits or may_drop(s, node):
        yield step(f"drop.{node.name}", node.name, "drop the page cache", caches.drop(node.cache_dir))


def permit(s: Situation, node: Node) -> Iterator[Step]:
    if may_sudo(s, node):
        yield from permit_and_check(s.facts[node.name], node.name)


def linger(s: Situation, node: Node) -> Iterator[Step]:
    user = s.facts[node.name].id
    if isinstance(user, User) and may_sudo(s, node):
        yield _note(node, "linger", user.name)
        on, off = rights.let_linger(user.name), rights.unlinger(user.name)
        yield step(f"linger.{node.name}", node.name, f"enable lingering for {user.name}", on, off)


def start_earlyoom(s: Situation, node: Node) -> Iterator[Step]:
    """Start earlyoom if it is installed; installing it is left to the user."""
    package = known(s.facts[node.name].packages, {}).get(EARLYOOM)
    if package is not None and package.installed and may_sudo(s, node):
        yield _note(node, "service", EARLYOOM)
        on, off = rights.start_service(EARLYOOM), rights.stop_service(EARLYOOM)
        yield step(f"earlyoom.{node.name}", node.name, "start earlyoom", on, off)


def _note(node: Node, kind: str, what: str) -> Step:
    """Comes first, so that `cleanup` knows of the change even if a later step fails."""
    note, forget = scripts.record(kind, what), scripts.forget(kind, what)
    return step(f"note-{kind}.{node.name}", node.name, "record the change in the manifest", note, forget)


FIXES: Mapping[str, Callable[[Situation, Node], Iterator[Step]]] = {
    "caches-owned": make_caches,
    "drop-permitted": permit,
    "page-cache": drop,
    "linger": linger,
    "earlyoom": start_earlyoom,
}
"""Steps by the check that they satisfy."""


ALWAYS = ("caches-owned",)
"""Checks that are fixed even if they pass: missing cache directories are no finding."""


def fixes(
    s: Situation, nodes: Iterable[Node], held: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Step, ...]]:
    """Steps by (node, check) for the findings in `held`; findings that cannot be fixed are left out."""
    wanted = set(held)
    found = {
        (node.name, check): tuple(fix(s, node))
        for node in nodes
        for check, fix in FIXES.items()
        if (node.name, check) in wanted or (check in ALWAYS and node.name not in s.away)
    }
    return {where: steps for where, steps in found.items() if steps}


def compile_fix(steps: Iterable[tuple[Step, ...]]) -> Plan:
    """The plan; if a step fails, all others still run."""
    unique = {one.id: one for some in steps for one in some}
    return plan("preflight --fix", {"fix": unique.values()}, on_failure="go-on")
