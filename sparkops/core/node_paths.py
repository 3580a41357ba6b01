"""Directories of a node that a file names, and that Docker mounts: `-v SOURCE:TARGET:MODE` has no quotes."""

import re

_MODE = re.compile("[a-zA-Z,]+")


def problem(path: str) -> str | None:
    """Why this is no directory that can be mounted; None if it is one."""
    if not path.isprintable():
        return f"must be a path of printable characters, not {ascii(path)}"
    if ":" in path:
        return f"must be a path without a colon, which separates the parts of a mount, not {path!r}"
    if path != "~" and not path.startswith(("/", "~/")):
        return f"must be a path such as /models or ~/models, not {path!r}"
    return None


def mount_problem(mount: str) -> str | None:
    """Why this is not `PATH[:PATH_IN_CONTAINER[:MODE]]`; None if it is."""
    source, _, rest = mount.partition(":")
    target, _, mode = rest.partition(":")
    if wrong := problem(source) or problem(target or source):
        return wrong
    if source == "~" or (rest and not target.startswith("/")) or (rest.count(":") and not _MODE.fullmatch(mode)):
        return f"must be PATH or PATH:PATH_IN_CONTAINER, with :ro at the end if it is read-only, not {mount!r}"
    return None
