"""The node's image store: lookups by reference, ID or prefix; `image ls`, `rm`, `tag`, `save`, `load`."""

import json
import os
import sys
from typing import Any

from sparklab import files
from sparklab.fake_docker import flow, template
from sparklab.fake_docker.errors import daemon_says
from sparklab.fake_docker.human import ago, size
from sparklab.fake_docker.store import containers, seconds
from sparklab.layout import Node
from sparklab.tools.say import err, out
from sparklab.tree.images import digest

Image = dict[str, Any]


def images(node: Node) -> list[Image]:
    """None at all while the `no-image` fault is on."""
    if node.fault("no-image"):
        return []
    directory = node.path("docker", "images")
    found = (files.read_json(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".json"))
    other = _rebuilt if node.fault("image-differs") else dict
    return sorted((other(image) for image in found if image), key=lambda image: str(image["Created"]), reverse=True)


def _rebuilt(image: Image) -> Image:
    """Another build of the same name."""
    return image | {"RootFS": image["RootFS"] | {"Layers": [digest(layer) for layer in image["RootFS"]["Layers"]]}}


def normal(reference: str) -> str:
    """With a tag, without Docker Hub's host."""
    reference = reference.removeprefix("docker.io/").removeprefix("library/")
    return reference if ":" in reference.rpartition("/")[2] or "@" in reference else f"{reference}:latest"


def find(node: Node, reference: str) -> Image | None:
    wanted = reference.removeprefix("sha256:")
    for image in images(node):
        if normal(reference) in image["RepoTags"] or reference in image["RepoDigests"]:
            return image
        digest = image["Id"].removeprefix("sha256:")
        if digest == wanted or (
            len(wanted) >= 4 and all(c in "0123456789abcdef" for c in wanted) and digest.startswith(wanted)
        ):
            return image
    return None


def shown(image: Image) -> Image:
    return {key: value for key, value in image.items() if not key.startswith("Sparklab")}


def inspect(node: Node, words: list[str]) -> int:
    form = template.option(words)
    found, missing = [], []
    for reference in words:
        image = find(node, reference)
        (missing.append(reference) if image is None else found.append(shown(image)))
    if form:
        for image in found:
            out(template.render(form, image))
    else:
        out(json.dumps(found, indent=4))
    for reference in missing:
        err(f"Error response from daemon: No such image: {normal(reference)}")
    return 1 if missing else 0


def listing(node: Node, words: list[str]) -> int:
    form = template.option(words)
    flags = set(words)
    wanted = [normal(word) for word in words if not word.startswith("-")]
    if not form and not flags & {"-q", "--quiet"}:
        out(f"{'REPOSITORY':<30} {'TAG':<12} {'IMAGE ID':<14} {'CREATED':<14} SIZE")
    for image in images(node):
        for tag in image["RepoTags"] or ["<none>:<none>"]:
            if not wanted or tag in wanted:
                _row(image, tag, form, flags)
    return 0


def _row(image: Image, tag: str, form: str, flags: set[str]) -> None:
    repository, _, version = tag.rpartition(":")
    identity = image["Id"] if "--no-trunc" in flags else image["Id"][7:19]
    created = ago(seconds(image["Created"])) + " ago"
    row = {
        "Containers": "N/A",
        "CreatedAt": image["Created"].replace("T", " ")[:19] + " +0000 UTC",
        "CreatedSince": created,
        "Digest": "<none>",
        "ID": identity,
        "Repository": repository,
        "SharedSize": "N/A",
        "Size": size(image["Size"]),
        "Tag": version,
        "UniqueSize": "N/A",
        "VirtualSize": size(image["Size"]),
    }
    if flags & {"-q", "--quiet"}:
        out(identity)
    elif form:
        out(template.render(form, row))
    else:
        out(f"{repository:<30} {version:<12} {identity:<14} {created:<14} {row['Size']}")


def remove(node: Node, words: list[str]) -> int:
    for reference in [word for word in words if not word.startswith("-")]:
        image = find(node, reference)
        if image is None:
            raise daemon_says(f"No such image: {normal(reference)}")
        users = [c for c in containers(node) if c.config["image_id"] == image["Id"]]
        if users and not {"-f", "--force"} & set(words):
            raise daemon_says(
                f"conflict: unable to delete {image['Id'][7:19]} (must be forced) - container {users[0].id[:12]} is "
                "using its referenced image"
            )
        named = normal(reference)
        if named in image["RepoTags"] and len(image["RepoTags"]) > 1:
            files.write_json(_path(node, image), image | {"RepoTags": [t for t in image["RepoTags"] if t != named]})
            out(f"Untagged: {named}")
            continue
        os.unlink(_path(node, image))
        for tag in image["RepoTags"]:
            out(f"Untagged: {tag}")
        out(f"Deleted: {image['Id']}")
    return 0


def tag(node: Node, words: list[str]) -> int:
    image = find(node, words[0])
    if image is None:
        raise daemon_says(f"No such image: {normal(words[0])}")
    put(node, image | {"RepoTags": [*image["RepoTags"], normal(words[1])]})
    return 0


def put(node: Node, image: Image) -> None:
    """Keep an image; whoever had one of its names loses it."""
    for other in images(node):
        if other["Id"] != image["Id"] and set(other["RepoTags"]) & set(image["RepoTags"]):
            left = [name for name in other["RepoTags"] if name not in image["RepoTags"]]
            files.write_json(_path(node, other), other | {"RepoTags": left})
    files.write_json(_path(node, image), image | {"RepoTags": list(dict.fromkeys(image["RepoTags"]))})


def save(node: Node, words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    found = []
    for name in names:
        image = find(node, name)
        if image is None:
            raise daemon_says(f"reference does not exist: {name}")
        named = normal(name) in image["RepoTags"]
        found.append(image | {"RepoTags": [normal(name)] if named else [], "RepoDigests": []})
    flow.save(node, found)
    return 0


def load(node: Node, words: list[str]) -> int:
    for image in flow.load(node, sys.stdin.buffer):
        there = find(node, image["Id"])
        put(node, image | {"RepoTags": [*(there["RepoTags"] if there else []), *image["RepoTags"]]})
        for name in image["RepoTags"]:
            out(f"Loaded image: {name}")
        if not image["RepoTags"]:
            out(f"Loaded image ID: {image['Id']}")
    return 0


def _path(node: Node, image: Image) -> str:
    return node.path("docker", "images", image["Id"].removeprefix("sha256:") + ".json")
