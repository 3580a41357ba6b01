"""What a preflight reads, in two waves over one connection per node: facts, then what depends on other nodes."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from sparkops import rules
from sparkops.checks.check import CannotTell, Check
from sparkops.checks.fabric_links import targets
from sparkops.core.facts import PROBES, Facts, absent
from sparkops.core.inventory import Node
from sparkops.core.plan import Command
from sparkops.core.revise import revise
from sparkops.core.revision import deployment_name
from sparkops.core.situation import Away, Choices, Situation, Span
from sparkops.node_commands import scripts
from sparkops.session.bandwidth import measure
from sparkops.session.peers import ask_peers, interfaces, link_locals
from sparkops.session.session import Session
from sparkops.verbs.deploy.choose import READS, best_of, heard
from sparkops.verbs.deploy.draft import Draft, on_node, over_cables

PINGS, CABLES, BANDWIDTH, GPU = "cx7-pings", "cx7-cabling", "cx7-bandwidth", "gpu-in-container"
TRIED = ("images", "docker-version", "docker-ps")
"""Probes that are needed to run a container."""


def see(
    session: Session, draft: Draft, wanted: Iterable[Check], *, narrow: bool, deep: bool, clock: Callable[[], float]
) -> Situation:
    """Read the situation. `narrow` reads only what the wanted checks need; `clock` is this machine's."""
    checks = tuple(wanted)
    ids = {check.id for check in checks}
    tried = deep and GPU in ids
    probes = {name for check in checks for name in check.reads} | set(TRIED if tried else ()) if narrow else set(PROBES)
    probes |= set(READS if draft.placement.open else ())
    only = () if probes >= set(PROBES) else tuple(name for name in PROBES if name in probes)
    facts, spans = _facts(session, draft, only, clock)
    if draft.placement.open:
        draft = replace(draft, peers=heard(draft.placement, session, facts))
    first = _situation(session, draft, facts, spans)
    asked = _second(session, first, pings=PINGS in ids, cables=CABLES in ids, deep=tried)
    met = replace(first, peers=ask_peers(session, asked)) if asked else first
    if deep and BANDWIDTH in ids and met.placement.topology.kind == "cluster":
        return replace(met, measured=measure(session, met.fabric, met.cabling))
    return met


def _facts(
    session: Session, draft: Draft, only: tuple[str, ...], clock: Callable[[], float]
) -> tuple[dict[str, Facts], dict[str, Span]]:
    commands = {node.name: session.facts_command(node, draft.asked, draft.models, only) for node in session.selected}
    ahead = clock() - session.fleet.now()
    spans: dict[str, tuple[float, float]] = {}
    facts = session.read(commands, spans)
    return facts, {name: Span(ahead + sent, ahead + back) for name, (sent, back) in spans.items() if name in facts}


def _situation(session: Session, draft: Draft, facts: Mapping[str, Facts], spans: Mapping[str, Span]) -> Situation:
    away = {
        name: Away(lost.reason, getattr(lost, "hint", None) or "", getattr(lost, "kind", ""))
        for name, lost in session.away.items()
    }
    known = situation(draft, session.names, facts)
    return replace(known, choices=Choices(sudo_password=session.sudo_password), away=away, spans=spans)


def situation(draft: Draft, names: Iterable[str], facts: Mapping[str, Facts]) -> Situation:
    """Return the situation; unreachable nodes have empty facts, so that the others can be judged."""
    every = {name: facts.get(name) or absent("not reached") for name in names}
    placement = best_of(draft, facts, deployment_name(draft.effective.recipe.name))
    placement = over_cables(placement, draft.unjudged, every)
    settings = draft.effective
    if placement.executor != draft.placement.executor:
        settings, _ = rules.judge(draft.unjudged, placement.shape, frozenset())
    settings = replace(settings, on_node=on_node(draft, every))
    revision = revise(deployment_name(settings.recipe.name), settings, placement, every)
    digest = every[revision.fronts[0].name].key_digest or "new"
    return Situation(revision, settings, placement, every, digest)


def _second(session: Session, s: Situation, *, pings: bool, cables: bool, deep: bool) -> dict[str, Command]:
    """Return the second command of each node that needs one."""
    linked = s.placement.topology.kind == "cluster"
    over: dict[str, list[tuple[str, str, int]]] = {}
    for copy in s.copies if pings and linked else ():
        with suppress(CannotTell):
            over |= targets(copy)
    commands = {}
    among = link_locals(s.facts)
    for node in session.selected:
        image = _image(s, node) if deep else None
        hear = interfaces(s.facts[node.name]) if cables and linked else ()
        if node.name not in session.away and (hear or node.name in over or image):
            whole = node.become == "sudo" and session.sudo_password
            sudo = node.become == "sudo" and not whole
            command = scripts.peers(hear, among, over.get(node.name, ()), image, sudo=sudo)
            commands[node.name] = replace(command, become=whole)
    return commands


def _image(s: Situation, node: Node) -> str | None:
    """Return an image on the node to run nvidia-smi in; None if there is none."""
    facts = s.facts[node.name]
    images = (s.revision.image, s.revision.proxy_image)
    return next((one.reference for one in images if one and facts.image(one.reference)), None)
