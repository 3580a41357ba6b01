"""From options to settings and a placement, judged by the rules before any node is contacted."""

from dataclasses import dataclass

from sparkops import checks, rules
from sparkops.core import images, topology
from sparkops.core.findings import Finding
from sparkops.core.proxy_image import EARLIER, called
from sparkops.core.recipe import Effective, Overrides, Recipe, effective
from sparkops.core.revision import deployment_name
from sparkops.core.schema import did_you_mean
from sparkops.core.topology import Placement
from sparkops.errors import Refused, UsageError
from sparkops.files import recipes
from sparkops.report.report import Report
from sparkops.session.open import Selected
from sparkops.verbs.deploy.options import PlanOptions

DEFAULT_RECIPE = "openai-gpt-oss-120b"
GOT_BY_SETUP = {"image-present", "model-present"}
LISTS = "list them: `sparkops rules`, `sparkops preflight --list`"
SETUP = "or let deploy get the missing images and models (may take hours): add --setup"


@dataclass(frozen=True)
class Draft:
    """The settings and placement of a deploy, after the rules; no node was contacted yet."""

    effective: Effective
    placement: Placement
    findings: tuple[Finding, ...]

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
    def model(self) -> str:
        """The model, with the revision if the recipe pins one."""
        revision = self.effective.recipe.revision
        return f"{self.effective.model}@{revision}" if revision else self.effective.model


def drafted(options: PlanOptions, chosen: Selected, report: Report) -> Draft:
    """Read recipe, topology and overrides, and let the rules judge; raises `Refused` if a rule refuses."""
    wanted = topology.parse(options.topology)
    if options.name and (usable := deployment_name(options.name)) != options.name:
        raise UsageError(f"--name {options.name}: Docker does not accept this name", hint=f"use --name {usable}")
    name = options.recipe or chosen.inventory.recipe_for(chosen.nodes) or DEFAULT_RECIPE
    recipe = recipes.recipe(name)
    settings = effective(recipe, wanted.kind, Overrides(options.sets, options.extra))
    executor = options.executor or images.executor(settings.image)
    placement = topology.place(wanted, chosen.nodes, executor, options.proxy, _most(recipe, options.allow))
    if placement.note:
        report.note(placement.note)
    rule_ids, check_ids = {rule.id for rule in rules.RULES}, {check.id for check in checks.CHECKS}
    for unknown in sorted(options.allow - rule_ids - check_ids):
        near = did_you_mean(unknown, rule_ids | check_ids)
        raise UsageError(f"--allow {unknown}: no such rule or check{near}", hint=LISTS)
    settings, findings = rules.judge(settings, placement.shape, options.allow & rule_ids)
    refuse(findings)
    return Draft(settings, placement, findings)


def _most(recipe: Recipe, allow: frozenset[str]) -> int | None:
    """Return the recipe's largest cluster; None without a limit, or if `--allow topology-allowed` lifts it."""
    most = recipe.nodes.max
    limited = most is not None and most >= topology.LEAST_CLUSTER and "topology-allowed" not in allow
    return most if limited else None


def supposed(name: str | None, kind: str | None, chosen: Selected, report: Report) -> Draft:
    """Return the most likely deploy on these nodes, for preflight; what a rule refuses is only a warning."""
    wanted = topology.parse(kind or ("cluster" if len(chosen.nodes) >= topology.LEAST_CLUSTER else "solo"))
    recipe = recipes.recipe(name or chosen.inventory.recipe_for(chosen.nodes) or DEFAULT_RECIPE)
    settings = effective(recipe, wanted.kind, Overrides())
    placement = topology.place(wanted, chosen.nodes, images.executor(settings.image))
    settings, findings = rules.judge(settings, placement.shape, frozenset())
    for finding in findings:
        if finding.action == "refuse":
            report.warn(f"deploy would refuse this recipe here: {finding.message} [{finding.id}]")
    return Draft(settings, placement, findings)


def refuse(findings: tuple[Finding, ...]) -> None:
    """Raise one `Refused` for all findings that refuse, with their hints."""
    bad = [finding for finding in findings if finding.action in ("refuse", "fail")]
    if not bad:
        return
    lines = [f"{f'{finding.node}: ' if finding.node else ''}{finding.message} [{finding.id}]" for finding in bad]
    hints = dict.fromkeys(finding.hint for finding in bad if finding.hint)
    allow = " ".join(f"--allow {name}" for name in dict.fromkeys(finding.id for finding in bad))
    advice = [*hints, *([SETUP] if {finding.id for finding in bad} <= GOT_BY_SETUP else [])]
    raise Refused("\n".join(lines), node=bad[0].node, hint="\n".join([*advice, f"to deploy anyway: {allow}"]))
