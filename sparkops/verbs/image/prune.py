"""`image prune`: remove named images, or those without a name; never what a deployment or its rollback needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sparkops.core.build import KNOWN, LABEL
from sparkops.core.facts import Facts
from sparkops.core.plan import Action, Phase, Plan, Step
from sparkops.core.schema import did_you_mean
from sparkops.core.situation import companions, deployed
from sparkops.core.sizes import gb
from sparkops.core.stored import Stored
from sparkops.core.stored_images import StoredImage
from sparkops.core.target import PruneOptions
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.node_commands import images as commands
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.find_deployment import in_use
from sparkops.session.open import reached
from sparkops.verbs.image.list import document, normal, stores


@dataclass(frozen=True)
class PruneTarget:
    """An image to remove from its node: one of its names, or all of it."""

    image: StoredImage
    name: str = ""

    @property
    def reference(self) -> str:
        return self.name or self.image.id

    @property
    def title(self) -> str:
        return self.name or self.image.id[7:19]


def prune(options: PruneOptions, report: Report) -> Answer:
    """Show and then remove the named images, or those without a name."""
    names = tuple(normal(name) for name in options.names)
    with reached(options.where, report) as session:
        session.lock(node.name for node in session.selected)
        facts = session.containers()
        needed = _needed({name: facts[name] for name in session.names if name in facts})
        found = tuple(chain.from_iterable(stores(session).values()))
        if unknown := _unknown(names, found):
            raise session.lost.error or UsageError(unknown)
        free = [one for one in found if not one.used and one.fingerprint not in needed]
        gone = [PruneTarget(one, name) for one in free for name in names if name in one.tags]
        if not names:  # a deploy finds images by name, so one without is needed only by its own containers
            gone = [PruneTarget(one) for one in found if not (one.used or one.tags or one.digests)]
        kept = [one for one in found if one not in free and {*one.tags} & {*names}]
        shown: dict[str, Any] = {
            "images": [document(one.image) | {"name": one.name or None} for one in gone],
            "size_bytes": sum(one.image.size_bytes for one in gone if len(one.image.tags) < 2),
            "kept": sorted({name for one in kept for name in names if name in one.tags}),
            "unneeded": [] if names else _unneeded(free),
        }
        removed = bool(gone) and _agreed(gone, options, report)
        if removed:
            execute(with_sudo(_removal(gone), session.sudo), session)
        users = chain.from_iterable(needed.get(one.fingerprint, ()) for one in kept)
        others = (stored for _, stored, _ in deployed(facts))
        refused = in_use(shown["kept"], users, others) if kept and not gone else None
        return session.answer({**shown, "removed": removed}, refused)


def _agreed(gone: Sequence[PruneTarget], options: PruneOptions, report: Report) -> bool:
    for one in gone:
        what = f"{one.title}, built {one.image.created[:10]}, {gb(one.image.size_bytes)}"
        report.note(what if one.name else f"{what}, has no name", one.image.node)
    return options.yes or report.confirm(f"Remove {len(gone)} images?")


def _unneeded(free: Iterable[StoredImage]) -> list[str]:
    """Names of images that sparkops built and that no deployment or included recipe uses."""
    asked = {normal(name) for name in (*KNOWN, *(recipe.container for _, recipe in recipes.readable()))}
    return sorted({name for one in free if LABEL in one.labels for name in one.tags} - asked)


def _unknown(names: Iterable[str], found: Iterable[StoredImage]) -> str:
    here = {tag for one in found for tag in one.tags}
    return next((f"no node has the image {name}{did_you_mean(name, here)}" for name in names if name not in here), "")


def _needed(facts: Mapping[str, Facts]) -> dict[str, list[Stored]]:
    """By fingerprint of an image the deployments that serve with it or keep it for a rollback, on these nodes."""
    found: dict[str, list[Stored]] = {}
    for _, stored, _ in (*deployed(facts), *companions(facts)):
        for image in (stored.data.get("image"), stored.data.get("proxy_image")):
            if isinstance(image, Mapping):
                found.setdefault(str(image.get("fingerprint", "")), []).append(stored)
    return found


def _removal(gone: Iterable[PruneTarget]) -> Plan:
    steps = (
        Step(
            f"remove.{one.image.node}.{one.title}",
            one.image.node,
            f"remove {one.title}",
            Action(commands.remove(one.reference)),
        )
        for one in gone
    )
    return Plan("image prune", None, (Phase("remove images", tuple(steps)),), on_failure="go-on")
