"""`init --fleet`: a fleet's file from what serves now."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparkops import rules
from sparkops.core.facts import Facts
from sparkops.core.fleet.entry import WrittenEntry, corrected, file_text, page_entry
from sparkops.core.fleet.on_demand import as_in_a_fleet
from sparkops.core.fleet.ports import first_ports
from sparkops.core.fleet.routes import USUAL_PORT
from sparkops.core.fleet.written_routes import further_names
from sparkops.core.history import runs
from sparkops.core.revise import Ports
from sparkops.core.revision import Revision
from sparkops.core.revision_changes import in_words
from sparkops.core.stored import Stored
from sparkops.errors import Refused, SparkopsError
from sparkops.files import fleets, own_files, pages, recipes
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.find_deployment import current
from sparkops.session.find_gateway import companions_on, gateways_on, on_demand, routed_by
from sparkops.session.open import Selected, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import drafted
from sparkops.verbs.deploy.observe import observe
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.setup.options import InitFleetOptions

NOTHING = "nothing serves on these nodes, so there is nothing to write"

_RECIPE = re.compile(r"--recipe[ =]'?([^']*?\.ya?ml)'?(?= |$)")
"""The path of a recipe in a command line of the history."""

TRIES = 2
"""With the first settings other ones may follow from a rule."""


def write(options: InitFleetOptions, report: Report) -> Answer:
    """Write what serves on the selected nodes as a fleet's file; only reads the nodes."""
    path = Path(options.output or fleets.DEFAULT)
    own_files.refuse_existing(path, options.force, "overwrite it with --force, or name another file with --output")
    chosen = selected(options.where, report)
    with connected(chosen, report) as session:
        facts = session.what_runs()
        session.require(session.names)
        asleep = on_demand(facts)
        known = (one for one in current(facts, session.names) if one.runs or one.stored.deployment in asleep)
        found = [one for one in known if not left_over(facts, one)]
        if not found:
            raise Refused(NOTHING, hint=f"write {path} yourself; `sparkops schema fleet` prints its keys")
        past = runs({name: known.history for name, known in facts.items()})
        writer = _Writer(options, path, tuple(run.begin.command for run in reversed(past)), session, chosen, asleep)
        written = [writer.entry(one, found) for one in _by_name(sorted(found, key=_places), report)]
        further = _further(path, found, facts, session)
        written += [(one, ()) for one in _pages(facts, found, session)] if "endpoint" in further else []
        own_files.write(path, file_text((entry for entry, _ in written), further))
    differs = {entry.name: list(lines) for entry, lines in written if lines}
    for name, lines in differs.items():
        report.warn(f"{name}: `sparkops apply` would change it: {'; '.join(lines)}")
    return Answer({"file": str(path), "deployments": [entry.name for entry, _ in written], "differs": differs})


def _further(
    path: Path, found: Sequence[DeployedRevision], facts: Mapping[str, Facts], session: Session
) -> dict[str, Any]:
    """The name of the fleet, if that is not the file's, and its endpoint."""
    names = {container.fleet for one in found for _, container in one.running} - {""}
    further: dict[str, Any] = {}
    if len(names) == 1 and names != {path.name.partition(".")[0]}:
        further["name"] = next(iter(names))
    served = {one.stored.served for one in found}
    for one in gateways_on(facts, session.names):
        if one.runs and {container.fleet for _, container in one.running} <= names and one.stored.fronts:
            front, more = one.stored.fronts[0], further_names(routed_by(one.stored, facts), served)
            port = {} if front.port == USUAL_PORT else {"port": front.port}
            further["endpoint"] = {"node": front.name, **port, **({"names": more} if more else {})}
    if asleep := on_demand(facts):
        further["on-demand"] = as_in_a_fleet(asleep, {one.stored.deployment for one in found})
    return further


def _pages(facts: Mapping[str, Facts], found: Sequence[DeployedRevision], session: Session) -> Iterator[WrittenEntry]:
    """The pages for people that run and are of the same fleet, each once."""
    fleets_here = {container.fleet for one in found for _, container in one.running}
    here = [one for one in companions_on(facts, session.names) if one.stored.is_page and one.runs]
    for one in {it.stored.deployment: it for it in here}.values():
        recipe = pages.page(one.stored.recipe)
        if recipe is None or recipe.program.command != one.stored.data.get("program"):
            told = f"is left out, because it is not the page {one.stored.recipe}; write it with the path of its file"
            session.report.warn(f"{one.title} {told}")
        elif {container.fleet for _, container in one.running} <= fleets_here:
            yield page_entry(one.stored, recipe)


def _places(one: DeployedRevision) -> tuple[list[str], str]:
    return [member.name for member in one.stored.engines], one.stored.deployment


def _by_name(found: Iterable[DeployedRevision], report: Report) -> Iterator[DeployedRevision]:
    """The first deployment of each name; a file has each name once."""
    seen: set[str] = set()
    for one in found:
        if one.stored.deployment in seen:
            told = "is left out, because another deployment has this name; `sparkops apply` would stop it"
            report.warn(f"{one.title} {told}")
        else:
            seen.add(one.stored.deployment)
            yield one


@dataclass(frozen=True)
class _Writer:
    """`typed` are the command lines that the nodes remember, the newest first; `asleep` the deployments on demand."""

    options: InitFleetOptions
    path: Path
    typed: tuple[str, ...]
    session: Session
    chosen: Selected
    asleep: Mapping[str, Mapping[str, Any]]

    def entry(self, one: DeployedRevision, found: Sequence[DeployedRevision]) -> tuple[WrittenEntry, Sequence[str]]:
        """The deployment as an entry whose deploy gives the revision that serves; and what differs, if it does not."""
        stored = one.stored
        beside = any(other is not one and one.runs and other.runs and one.nodes & other.nodes for other in found)
        beside = bool(self.asleep.get(stored.deployment, {}).get("alongside", beside))
        every = sum(member.role == "proxy" for member in stored.members) > 1
        keys = {"alongside": (True, beside), "proxy": ("all", every), "api-key": (False, stored.without_key)}
        given = {key: value for key, (value, wanted) in keys.items() if wanted}
        entry = WrittenEntry(stored.deployment, self._recipe(stored.recipe), stored.topology, keys=given)
        try:
            entry, made = self._deployed(entry, stored)
            for _ in range(TRIES):
                if made.hash != stored.hash:
                    entry, made = self._deployed(corrected(entry, stored, made), stored)
            return entry, in_words(stored.data, made.data)
        except SparkopsError as error:
            return entry, [error.message]

    def _deployed(self, entry: WrittenEntry, stored: Stored) -> tuple[WrittenEntry, Revision]:
        """The entry with the rules that refuse it switched off, and the revision that a deploy by it would start."""
        port = entry.keys.get("port")
        options = PlanOptions(
            where=self.options.where,
            topology=entry.topology,
            recipe=fleets.beside(self.path, entry.recipe),
            name=entry.name,
            executor=entry.keys.get("executor"),
            sets=(*entry.sets, *([f"port={port}"] if port else [])),
            extra=tuple(entry.keys.get("extra", ())),
            alongside=True,
            proxy=entry.keys.get("proxy", "first"),
            open_access=stored.without_key,
        )
        nodes = tuple(self.session.nodes[member.name] for member in stored.engines)
        there = Selected(self.chosen.inventory, nodes, self.chosen.sudo_password)
        free = drafted(replace(options, allow=frozenset(rule.id for rule in rules.RULES)), there)
        _, findings = rules.judge(free.unjudged, free.placement.shape, frozenset())
        allow = sorted({one.id for one in findings if one.action == "refuse"})
        options = replace(options, allow=frozenset(allow))
        ports = None if port else Ports({}, kept=first_ports(stored.places))
        _, situation = observe(replace(options, alongside=not port), self.session, drafted(options, there), ports)
        return (replace(entry, keys={**entry.keys, "allow": allow}) if allow else entry), situation.revision

    def _recipe(self, name: str) -> str:
        """The recipe's name; for one of a file, the path with which it was deployed, relative to the fleet's file."""
        if name in recipes.recipe_names() or "/" in name:
            return name
        for command in self.typed:
            for path in _RECIPE.findall(command):
                if Path(path).stem == name and own_files.is_there(path):
                    return os.path.relpath(path, self.path.parent)
        return name
