"""From options to settings and a placement, judged by the rules: before any node is contacted, and with image facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sparkops import checks, rules
from sparkops.core import models, needs, shapes, topology
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.fabric import cabling_of, graph
from sparkops.core.facts import Facts, Peers, Unread
from sparkops.core.facts.models import complete
from sparkops.core.findings import Finding
from sparkops.core.models import KnownModel
from sparkops.core.proxy_image import EARLIER, called
from sparkops.core.revision import deployment_name
from sparkops.core.schema import did_you_mean
from sparkops.core.topology import Placement, Topology
from sparkops.errors import Refused, UsageError
from sparkops.files import deployments, recipes
from sparkops.report.report import Report
from sparkops.session.open import Selected
from sparkops.verbs.deploy.options import PlanOptions

DEFAULT_RECIPE = "openai-gpt-oss-120b"
GOT_BY_SETUP = frozenset({"image-present", "model-present", "vocabulary-present"})
"""Checks that fail for what `deploy --setup` gets."""

LISTS = "list them: `sparkops rules`, `sparkops preflight --list`"
SETUP = "or let deploy get the missing images and models (may take hours): add --setup"


@dataclass(frozen=True)
class Draft:
    """The settings and placement of a deploy, after the rules. `unjudged` are the settings before the rules.

    For the choice of nodes: `peers` is what they heard at their cables, if that was asked; `seen` are those on which
    this machine saw the deployment last.
    """

    unjudged: Effective
    effective: Effective
    placement: Placement
    findings: tuple[Finding, ...]
    peers: Mapping[str, Peers | Unread] = field(default_factory=dict)
    seen: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.placement.nodes)

    @property
    def images(self) -> dict[str, tuple[str, ...]]:
        """Each image with the nodes that run it."""
        engines = tuple(dict.fromkeys(place.node.name for place in self.placement.engines))
        proxies = tuple(dict.fromkeys(place.node.name for place in self.placement.proxies))
        return {self.effective.image: engines} | ({called(self.placement.proxy_image): proxies} if proxies else {})

    @property
    def asked(self) -> tuple[str, ...]:
        """The images to read from the nodes: also those of proxies that an earlier release started."""
        return tuple(dict.fromkeys((*self.images, *(EARLIER if self.placement.proxies else ()))))

    @property
    def models(self) -> tuple[str, ...]:
        """The model that is served, then the further ones, with the revisions that the recipe pins."""
        return tuple(str(one.name) for one in needs.models(self.effective))


def drafted(options: PlanOptions, chosen: Selected) -> Draft:
    """Read recipe, topology and overrides, and let the rules judge; raises `Refused` if a rule refuses."""
    wanted = topology.parse(options.topology)
    if options.name and (usable := deployment_name(options.name)) != options.name:
        raise UsageError(f"--name {options.name}: Docker does not accept this name", hint=f"use --name {usable}")
    name = options.recipe or chosen.inventory.recipe_for(chosen.nodes) or DEFAULT_RECIPE
    recipe = recipes.recipe(name)
    settings = effective(recipe, wanted.kind, Overrides(options.sets, options.extra))
    placement = _placed(wanted, settings, chosen, options)
    rule_ids, check_ids = {rule.id for rule in rules.RULES}, {check.id for check in checks.CHECKS}
    for unknown in sorted(options.allow - rule_ids - check_ids):
        near = did_you_mean(unknown, rule_ids | check_ids)
        raise UsageError(f"--allow {unknown}: no such rule or check{near}", hint=LISTS)
    draft = _judged(settings, placement, options)
    return replace(draft, seen=deployments.where(chosen.inventory.source, name_of(options, draft)))


def name_of(options: PlanOptions, draft: Draft) -> str:
    """The name of the deployment: that of the recipe, unless `--name` gives one."""
    return deployment_name(options.name or draft.effective.recipe.name)


def informed(draft: Draft, options: PlanOptions, facts: Mapping[str, Facts]) -> Draft:
    """Judge again with what the nodes found in image and model; raises `Refused` if a rule refuses."""
    found = [image for node in draft.nodes if (image := facts[node].image(draft.effective.image))]
    software = next((image.software for image in found if image.software), None)
    asked = replace(draft.unjudged, software=software, on_node=on_node(draft, facts))
    placement = over_cables(draft.placement, asked, facts)
    judged = _judged(asked, replace(placement, executor=options.executor or placement.executor), options)
    return replace(judged, peers=draft.peers, seen=draft.seen)


def over_cables(placement: Placement, asked: Effective, facts: Mapping[str, Facts]) -> Placement:
    """Clusters with the executor that fits image and cables; in a ring, with their ranks as the cables lead."""
    if placement.topology.kind != "cluster":
        return placement
    fabric = graph(facts)
    found = [cabling_of(fabric, [place.node.name for place in copy.engines]) for copy in placement.copies]
    executor = shapes.executor(asked, ring=any(one.kind == "ring" for one in found))
    return replace(topology.arranged(placement, [one.order for one in found]), executor=executor)


def on_node(draft: Draft, facts: Mapping[str, Facts]) -> KnownModel | None:
    """The served model by its files on the first node that has all of them."""
    for node in draft.nodes:
        if (found := complete(facts[node].model)) and found.architecture:
            return models.of(draft.effective.model, found.architecture, found.weights_gib, f"config.json on {node}")
    return None


def _judged(asked: Effective, placement: Placement, options: PlanOptions) -> Draft:
    settings, findings = rules.judge(asked, placement.shape, options.allow)
    refuse(findings)
    return Draft(asked, settings, placement, findings)


def _placed(wanted: Topology, settings: Effective, chosen: Selected, options: PlanOptions) -> Placement:
    most = None if "topology-allowed" in options.allow else settings.recipe.nodes.max
    size = shapes.cluster_size(settings, len(chosen.nodes) // wanted.copies, most)
    executor = options.executor or shapes.executor(settings)
    return topology.place(wanted, chosen.nodes, executor, options.proxy, size)


def supposed(name: str | None, kind: str | None, chosen: Selected, report: Report) -> Draft:
    """Return the most likely deploy on these nodes, for preflight; what a rule refuses is only a warning."""
    recipe = recipes.recipe(name or chosen.inventory.recipe_for(chosen.nodes) or DEFAULT_RECIPE)
    usual = "cluster" if "cluster" in shapes.kinds(recipe) and len(chosen.nodes) >= topology.LEAST_CLUSTER else "solo"
    wanted = topology.parse(kind or usual)
    asked = effective(recipe, wanted.kind, Overrides())
    size = shapes.cluster_size(asked, len(chosen.nodes) // wanted.copies, recipe.nodes.max)
    placement = topology.place(wanted, chosen.nodes, shapes.executor(asked), size=size)
    settings, findings = rules.judge(asked, placement.shape, frozenset())
    for finding in findings:
        if finding.action == "refuse":
            report.warn(f"deploy would refuse this recipe here: {finding.message} [{finding.id}]")
    seen = deployments.where(chosen.inventory.source, deployment_name(recipe.name))
    return Draft(asked, settings, placement, findings, seen=seen)


def spanning(chosen: Selected) -> Draft:
    """A cluster over all selected nodes, to judge their fabric by it; one node alone serves for itself."""
    wanted = topology.parse("cluster" if len(chosen.nodes) >= topology.LEAST_CLUSTER else "solo")
    asked = effective(recipes.recipe(DEFAULT_RECIPE), wanted.kind, Overrides())
    return Draft(asked, asked, topology.place(wanted, chosen.nodes, "mp"), ())


def refuse(findings: tuple[Finding, ...], *, setup: bool = False) -> None:
    """Raise one `Refused` for all findings that refuse, with their hints; --allow is offered if it can help.

    `setup`: whether `deploy --setup` can get every missing model; it never gets one in a directory.
    """
    bad = [finding for finding in findings if finding.action in ("refuse", "fail")]
    if not bad:
        return
    told: dict[str, list[str]] = {}
    for finding in bad:
        told.setdefault(f"{finding.message} [{finding.id}]", []).extend([finding.node] if finding.node else [])
    lines = [f"{', '.join(nodes)}: {text}" if nodes else text for text, nodes in told.items()]
    ids = dict.fromkeys(finding.id for finding in bad)
    advice = list(dict.fromkeys(finding.hint for finding in bad if finding.hint and finding.follows not in ids))
    if setup and ids.keys() <= GOT_BY_SETUP:
        advice.append(SETUP)
    if not any(finding.final for finding in bad):
        advice.append("to deploy anyway: " + " ".join(f"--allow {name}" for name in ids))
    raise Refused("\n".join(lines), node=bad[0].node, hint="\n".join(advice))
