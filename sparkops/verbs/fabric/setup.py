"""`fabric setup`: give the interfaces what they lack, after a confirmation; `--undo` takes it away."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from sparkops.checks.check import LINKS
from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core import manifest
from sparkops.core.fabric import graph
from sparkops.core.fabric.address_pool import POOL
from sparkops.core.fabric.addressing import lacking
from sparkops.core.fabric.netplan import PATH, addresses, merged, readable
from sparkops.core.facts import WHAT_RUNS, Facts, Left
from sparkops.core.plan import Plan
from sparkops.errors import Interrupted, Refused, SparkopsError
from sparkops.node_commands import netplan
from sparkops.phases.fabric import compile_setup, compile_undo
from sparkops.phases.parts import deployed_revisions
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import attempt
from sparkops.session.open import connected, selected
from sparkops.session.peers import ask_peers, hears
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, spanning
from sparkops.verbs.fabric.options import SetupOptions
from sparkops.verbs.fabric.run import judged_fabric

AGAIN = "what was not confirmed is taken back within a minute; then see: `sparkops fabric setup --check`"
UNDO = "keep what you need of it in another file, then: `sparkops fabric setup --undo`"
READS = (*WHAT_RUNS, *LINKS, "routes")


def setup(options: SetupOptions, report: Report) -> Answer:
    """Set up the selected nodes, which have to answer; an address must be new to all nodes of the inventory."""
    chosen = selected(options.where, report)
    with connected(chosen, report) as session:
        session.require(session.names)
        if unknown := [name for name in session.away if name not in session.names]:
            session.report.warn(f"{', '.join(unknown)} not reached: an address that is in use there may be given twice")
        return _setup(options, session, spanning(chosen))


def _setup(options: SetupOptions, session: Session, draft: Draft) -> Answer:
    texts = _wanted(options, session)
    if texts and not options.check:
        if not options.yes:
            session.report.show({**_shown(options, texts), "asked": True})
            if not session.report.confirm("Change the network configuration of these nodes, one after the other?"):
                raise Refused(
                    "nothing was changed: nobody answered yes on a terminal", hint="change without asking: --yes"
                )
        session.lock(session.names)
        asked, texts = texts, _wanted(options, session)
        if texts not in ({}, asked) and not options.yes:
            hint = "run the command again"
            raise Refused("what the nodes lack has changed meanwhile; nothing was changed", hint=hint)
    shown = _shown(options, texts)
    if not texts:
        now = judged_fabric(session, draft, deep=False)
        return Answer({**now.document, **shown}, error=None if options.undo else now.error)
    if options.check:
        return Answer({**shown, "check": True})
    if error := _changed(compile_undo(texts) if options.undo else compile_setup(texts), session):
        return Answer({**shown, "changed": session.changed}, error=error)
    session.report.done = "the nodes have the new configuration: `sparkops fabric` shows it"
    after = judged_fabric(session, draft, deep=not options.undo)
    done = {**after.document, **shown, "changed": True}
    return Answer(done, error=session.lost.error if options.undo else after.error)


def _changed(plan: Plan, session: Session) -> SparkopsError | None:
    try:
        return attempt(plan, session, AGAIN)
    except Interrupted:
        raise Interrupted(hint=AGAIN) from None


def _shown(options: SetupOptions, texts: Mapping[str, str]) -> dict[str, Any]:
    files = [{"node": node, "path": PATH, "text": text} for node, text in texts.items()]
    return {"files": files, "undo": options.undo, "pool": options.pool, "changed": False}


def _wanted(options: SetupOptions, session: Session) -> dict[str, str]:
    """By node the text to write; with `--undo`, an empty one for each file to remove."""
    there = _there(options, session)
    facts = session.facts(only=READS)
    session.require(session.names)
    texts = dict.fromkeys(there, "") if options.undo else _texts(options, session, facts, there)
    _refuse_in_use(texts, facts)
    return texts


def _there(options: SetupOptions, session: Session) -> tuple[str, ...]:
    """The selected nodes that have the file. Of a node that tries a configuration, the run must end first."""
    told = _told(session)
    if _trying(told) and not options.check:
        session.lock(session.names)  # refused or awaited while that run goes on
        told = _told(session)
    if trying := _trying(told):
        hint = "run the command again in a minute: it is taken back until then, unless that run goes on and keeps it"
        raise Refused(f"{trying} still tries the network configuration of another run", node=trying, hint=hint)
    return tuple(node for node, words in told.items() if "file" in words)


def _trying(told: Mapping[str, Sequence[str]]) -> str | None:
    return next((node for node, words in told.items() if "try" in words), None)


def _told(session: Session) -> dict[str, list[str]]:
    said = session.outputs(dict.fromkeys(session.names, netplan.there()), f"look for {PATH}")
    return {node: text.split() for node, text in said.items()}


def _texts(
    options: SetupOptions, session: Session, facts: Mapping[str, Facts], there: tuple[str, ...]
) -> dict[str, str]:
    """The new file of each selected node whose interfaces lack something."""
    nodes = session.inventory.nodes
    fabric = graph(facts, ask_peers(session, hears(facts, nodes)))
    pool = _pool(options, session)
    named = {node.name: node.fabric_address for node in nodes if node.fabric_address}
    if not lacking(fabric, facts, named, pool).keys() & {*session.names}:
        return {}  # without a need for sudo, which the files are read with
    now = dict.fromkeys(session.names, "") | session.outputs(dict.fromkeys(there, netplan.show()), f"read {PATH}")
    for node, text in now.items():
        if not readable(text):
            raise Refused(f"{node}: {PATH} was changed by hand", node=node, hint=UNDO)
    reserved = [address for text in now.values() for address in addresses(text)]
    settings = lacking(fabric, facts, named, pool, reserved)
    return {node: merged(text, settings[node]) for node, text in now.items() if node in settings}


def _pool(options: SetupOptions, session: Session) -> tuple[IPv4Network, ...]:
    """Where new subnets come from; of the inventory, the first selected node that says so decides."""
    own = (session.nodes[name].fabric_pool for name in session.names)
    wanted = options.pool or next(filter(None, own), None)
    return (IPv4Network(wanted),) if wanted else POOL


def _refuse_in_use(nodes: Iterable[str], facts: Mapping[str, Facts]) -> None:
    """The ranks of a cluster do not survive that the addresses of their cable are set anew."""
    going = [one for one in deployed_revisions(facts) if one.runs and one.stored.executor]
    for node in nodes:
        if name := next((one.stored.deployment for one in going if node in one.nodes), None):
            hint = f"stop it first: `sparkops stop {name}`"
            raise Refused(f"the cluster {name} uses the fabric of {node}", node=node, hint=hint)
        known = facts[node]
        left = manifest.entries(known.state.manifest) if isinstance(known.state, Left) else ()
        if (problem := docker_problem(known)) and any(entry.kind == "folder" for entry in left):
            raise Refused(f"{node}: cannot see what runs there: {problem}", node=node, hint=docker_hint(problem))
