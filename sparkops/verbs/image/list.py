"""`image list` and `verify`: the nodes' images, and whether they are equal."""

from collections.abc import Mapping
from typing import Any

from sparkops.checks.docker import docker_hint
from sparkops.core.image_sources import copy_newest, image_source
from sparkops.core.printable import last_lines
from sparkops.core.schema import did_you_mean
from sparkops.core.stored_images import StoredImage, listed
from sparkops.core.target import NodesOptions
from sparkops.errors import Refused, SparkopsError, StepFailed
from sparkops.node_commands import images as commands
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import reached
from sparkops.session.session import Session


def listing(options: NodesOptions, report: Report) -> Answer:
    """List each image once, with the nodes that have it."""
    with reached(options.where, report) as session:
        found = stores(session)
        names = sorted({tag for images in found.values() for image in images for tag in image.tags})
        shown = [_everywhere(name, found) for name in names]
        nameless = [document(one) for images in found.values() for one in images if not (one.tags or one.digests)]
        return session.answer({"images": shown, "nameless": nameless})


def verify(options: NodesOptions, report: Report) -> Answer:
    """Compare the named image (or each that has a name) on all selected nodes."""
    with reached(options.where, report) as session:
        found = stores(session)
        names = {tag for images in found.values() for image in images for tag in image.tags}
        if options.name is not None:
            wanted = normal(options.name)
            if wanted not in names:
                missing = f"no node has the image {options.name}{did_you_mean(wanted, names)}"
                raise session.lost.error or Refused(missing, hint=image_source(options.name).command)
            names = {wanted}
        shown = [_everywhere(name, found) for name in sorted(names)]
        wrong = [one for one in shown if not one["same"]]
        return session.answer({"images": shown}, _differs(wrong))


def stores(session: Session) -> dict[str, tuple[StoredImage, ...]]:
    """Read all images of the selected nodes; a node that does not answer joins `away`."""
    found: dict[str, tuple[StoredImage, ...]] = {}
    for node, result in session.answers(dict.fromkeys(session.names, commands.listing())).items():
        if not result.ok:
            output = last_lines(result.stderr or result.stdout)
            told = f"{node}: Docker cannot list the images: {output}"
            raise StepFailed(told, node=node, step="list the images", hint=docker_hint(output))
        found[node] = listed(node, result.stdout)
    return found


def normal(name: str) -> str:
    """Return the name as `docker image inspect` prints it: with a tag, without Docker Hub's host."""
    name = name.removeprefix("docker.io/").removeprefix("library/")
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


def _everywhere(name: str, found: Mapping[str, tuple[StoredImage, ...]]) -> dict[str, Any]:
    here = {node: one for node, images in found.items() for one in images if name in one.tags}
    fingerprints = {one.fingerprint for one in here.values()}
    return {
        "name": name,
        "same": len(fingerprints) == 1 and len(here) == len(found),
        "nodes": [document(one) for one in here.values()],
        "missing": [node for node in found if node not in here],
    }


def document(one: StoredImage) -> dict[str, Any]:
    return {
        "node": one.node,
        "id": one.id,
        "fingerprint": one.fingerprint,
        "size_bytes": one.size_bytes,
        "created": one.created,
        "used": one.used,
    }


def _differs(wrong: list[dict[str, Any]]) -> SparkopsError | None:
    if not wrong:
        return None
    first = wrong[0]
    what = f"is missing on {', '.join(first['missing'])}" if first["missing"] else "differs between nodes"
    more = f"; other images that are missing or differ: {len(wrong) - 1}" if len(wrong) > 1 else ""
    command = copy_newest(first["name"], {one["node"]: one["created"] for one in first["nodes"]})
    return StepFailed(f"{first['name']} {what}{more}", hint=f"copy the newest build: `{command}`")
