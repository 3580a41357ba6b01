"""Playbooks from files: the included ones by name, an operator's by path.

A bare name that is that of an included playbook always means this one; a file of that name is `./NAME`.
"""

import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from sparkops.core.playbook import reading
from sparkops.core.playbook.values import Playbook, StepsPlay
from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError
from sparkops.files import recipes

LARGEST_COPY = 10_000_000
"""Bytes of the largest file that `copy:` puts on nodes."""


def playbook(name: str, extra: Iterable[str] = ()) -> Playbook:
    """Read an included playbook by its name, or a file; `extra` are the variables that `-e` sets."""
    place = packaged(name) if name in packaged_names() else Path(name)
    if name == place.name and not place.suffix and not place.exists():
        raise UsageError(
            one_line(f"no such playbook: {name}{did_you_mean(name, packaged_names())}"),
            hint=f"your own playbook is a file, such as {name}.yml; `sparkops playbook list` shows the included ones",
        )
    shown = str(place) if place == Path(name) else f"playbooks/{name}.yml"
    return reading.read(recipes.document(place, shown), lambda file: _beside(place, file), extra)


def packaged_text(name: str) -> str:
    """The text of a packaged playbook."""
    return packaged(name).read_text(encoding="utf-8")


def packaged(name: str) -> Path:
    names = packaged_names()
    if name not in names:
        raise UsageError(one_line(f"no such playbook: {name}{did_you_mean(name, names)}"))
    return recipes.packaged("playbooks") / f"{name}.yml"


def is_packaged(path: str) -> bool:
    """Whether this path is in the directory of packaged playbooks; a copy elsewhere is the operator's own."""
    return Path(path).resolve().parent == recipes.packaged("playbooks").resolve()


@cache
def built_in(verb: str) -> StepsPlay:
    """The play of a built-in verb, from the packaged file."""
    name = verb.replace(" ", "-")
    (play,) = reading.read(recipes.document(packaged(name), f"playbooks/{name}.yml"), str).plays
    assert isinstance(play, StepsPlay)
    return play


def packaged_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in recipes.packaged("playbooks").glob("*.yml")))


def _beside(place: Path, name: str) -> str:
    """The text of a file beside the playbook, line ends unchanged; raises `OSError`."""
    path = place.parent / name
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(0, "is not a file")
    with path.open("rb") as file:
        data = file.read(LARGEST_COPY + 1)
    if len(data) > LARGEST_COPY:
        raise OSError(0, f"is larger than {LARGEST_COPY // 1_000_000} MB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise OSError(0, "is not UTF-8 text") from None
