"""The node's image store: lookups by reference, ID or prefix; `image ls`, `rm`, `tag`, `save`, `load`."""

import os
import sys
from typing import Any

from sparklab import files
from sparklab.fake_docker import flow, template
from sparklab.fake_docker.errors import daemon_says
from sparklab.fake_docker.human import ago, size
from sparklab.fake_docker.store import containers, seconds
from sparklab.layout import Node
from sparklab.tools import repairs
from sparklab.tools.say import out
from sparklab.tree.images import digest

Image = dict[str, Any]
WIDE = "{Repository:<30} {Tag:<12} {ID:<14} {CreatedSince:<14} {Size}"
TITLES = {"Repository": "REPOSITORY", "Tag": "TAG", "ID": "IMAGE ID", "CreatedSince": "CREATED", "Size": "SIZE"}


def images(node: Node) -> list[Image]:
    """Return the images of a node, newest first; none while the fault `no-image` is on."""
    if node.fault("no-image"):
        return []
    directory = node.path("docker", "images")
    found = (files.read_json(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".json"))
    other = _rebuilt if node.fault("image-differs") else dict
    return sorted((other(image) for image in found if image), key=lambda image: str(image["Created"]), reverse=True)


def _rebuilt(image: Image) -> Image:
    """Return a different build with the same name."""
    return image | {"RootFS": image["RootFS"] | {"Layers": [digest(layer) for layer in image["RootFS"]["Layers"]]}}


def normal(reference: str) -> str:
    """Return a reference with a tag and without Docker Hub's host."""
    reference = reference.removeprefix("docker.io/").removeprefix("library/")
    return reference if ":" in reference.rpartition("/")[2] or "@" in reference else f"{reference}:latest"


def _pinned(reference: str) -> str:
    """Return NAME:TAG@DIGEST without its tag: Docker looks for the digest alone."""
    name, at, pin = reference.partition("@")
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}{at}{pin}"


def find(node: Node, reference: str) -> Image | None:
    wanted = reference.removeprefix("sha256:")
    for image in images(node):
        if normal(reference) in image["RepoTags"] or _pinned(reference) in image["RepoDigests"]:
            return image
        if len(wanted) >= 4 and image["Id"].removeprefix("sha256:").startswith(wanted):
            return image
    return None


def _existing(node: Node, reference: str) -> Image:
    if image := find(node, reference):
        return image
    raise daemon_says(f"No such image: {normal(reference)}")


def shown(image: Image) -> Image:
    return {key: value for key, value in image.items() if not key.startswith("Sparklab")}


def inspect(node: Node, options: dict[str, Any], names: list[str]) -> int:
    found = {name: find(node, name) for name in names}
    missing = [f"Error response from daemon: No such image: {normal(name)}" for name in names if not found[name]]
    return template.show(options, [shown(image) for name in names if (image := found[name])], missing)


def listing(node: Node, options: dict[str, Any], names: list[str]) -> int:
    wanted = [normal(name) for name in names]
    tagged = [(image, tag) for image in images(node) for tag in image["RepoTags"] or ["<none>:<none>"]]
    rows = [_row(image, tag, "no-trunc" in options) for image, tag in tagged if not wanted or tag in wanted]
    return template.table(options, rows, WIDE, TITLES)


def _row(image: Image, tag: str, whole: bool) -> dict[str, Any]:
    repository, _, version = tag.rpartition(":")
    return {
        "Containers": "N/A",
        "CreatedAt": image["Created"].replace("T", " ")[:19] + " +0000 UTC",
        "CreatedSince": ago(seconds(image["Created"])) + " ago",
        "Digest": "<none>",
        "ID": image["Id"] if whole else image["Id"][7:19],
        "Repository": repository,
        "SharedSize": "N/A",
        "Size": size(image["Size"]),
        "Tag": version,
        "UniqueSize": "N/A",
        "VirtualSize": size(image["Size"]),
    }


def remove(node: Node, options: dict[str, Any], names: list[str]) -> int:
    for name in names:
        image, named = _existing(node, name), normal(name)
        users = [c for c in containers(node) if c.config["image_id"] == image["Id"]]
        if users and "force" not in options:
            raise daemon_says(
                f"conflict: unable to delete {image['Id'][7:19]} (must be forced) - container {users[0].id[:12]} is "
                "using its referenced image"
            )
        if named in image["RepoTags"] and len(image["RepoTags"]) > 1:
            _write(node, image, [tag for tag in image["RepoTags"] if tag != named])
            out(f"Untagged: {named}")
            continue
        os.unlink(_path(node, image))
        for tag in image["RepoTags"]:
            out(f"Untagged: {tag}")
        out(f"Deleted: {image['Id']}")
        repairs.end(node, "disk-full", "disk-low")
    return 0


def tag(node: Node, options: dict[str, Any], names: list[str]) -> int:
    image = _existing(node, names[0])
    put(node, image, *image["RepoTags"], normal(names[1]))
    return 0


def put(node: Node, image: Image, *tags: str) -> None:
    """Store an image under these names and take the names from other images. It ends faults of the images before it."""
    if node.fault("no-image"):
        for name in os.listdir(node.path("docker", "images")):
            os.unlink(node.path("docker", "images", name))
    repairs.end(node, "no-image", "image-differs")
    for other in images(node):
        if other["Id"] != image["Id"] and set(other["RepoTags"]) & set(tags):
            _write(node, other, [name for name in other["RepoTags"] if name not in tags])
    _write(node, image, list(dict.fromkeys(tags)))


def save(node: Node, options: dict[str, Any], names: list[str]) -> int:
    found = []
    for name in names:
        image = find(node, name)
        if image is None:
            raise daemon_says(f"reference does not exist: {name}")
        found.append(image | {"RepoTags": [tag for tag in image["RepoTags"] if tag == normal(name)], "RepoDigests": []})
    flow.save(node, found)
    return 0


def load(node: Node, options: dict[str, Any], _: list[str]) -> int:
    for image in flow.load(node, sys.stdin.buffer):
        there = find(node, image["Id"])
        put(node, image, *(there["RepoTags"] if there else []), *image["RepoTags"])
        for name in image["RepoTags"]:
            out(f"Loaded image: {name}")
        if not image["RepoTags"]:
            out(f"Loaded image ID: {image['Id']}")
    return 0


def _write(node: Node, image: Image, tags: list[str]) -> None:
    files.write_json(_path(node, image), image | {"RepoTags": tags})


def _path(node: Node, image: Image) -> str:
    return node.path("docker", "images", image["Id"].removeprefix("sha256:") + ".json")
