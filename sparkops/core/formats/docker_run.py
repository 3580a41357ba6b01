"""A script with `docker run` as the keys of a recipe: image, variables, volumes and options of the container."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sparkops.core import schema
from sparkops.core.formats import command_text
from sparkops.core.formats.commandline import Lines
from sparkops.core.formats.server_command import SHELLS, assigned, shortened
from sparkops.core.formats.shell import CommandError, Simple, Word, commands, filled
from sparkops.core.recipe import SECRET, Caveat
from sparkops.core.schema import Located

SHORT = {"e": "env", "v": "volume", "u": "user", "w": "workdir", "h": "hostname", "m": "memory", "p": "publish"}
SWITCHES = ("rm", "detach", "interactive", "tty", "privileged", "init", "read-only", "publish-all", "no-healthcheck")
"""Options of `docker run` without a value."""

HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""What the operator's shell would give: the container needs none, as models are fetched before the start."""

WITHOUT_EFFECT = ("rm", "detach", "interactive", "tty", "name")
"""Options that say how a person starts the container, not what is in it."""

KEYS = {"device": "devices", "net": "network", "restart": "restart_policy"}
"""Options that the readers of recipes know by another name."""

PREPARES = ("export", "mkdir", "docker pull", "docker login", "docker run", "echo", "set", "cd")
_BY_HAND = re.compile(r"<[^<>]+>")
_SWITCHES = re.compile(r"-[ditP]+")
_LONGEST_NAME = 2


@dataclass
class DockerRun:
    """What `docker run` starts. `by_hand`: variables whose values a person fills in on each node."""

    image: Located | None = None
    env: dict[str, Located] = field(default_factory=dict)
    by_hand: dict[str, Located] = field(default_factory=dict)
    volumes: list[Located] = field(default_factory=list)
    options: dict[str, Located] = field(default_factory=dict)
    caveats: list[Caveat] = field(default_factory=list)


def read(located: Located, key: str) -> DockerRun:
    """The container that a script starts with `docker run`; raises UsageError with the line if it cannot be read.

    Nothing is run. Variables get the values that the script sets, and `$HOME` is `~`, as in the volumes of a recipe.
    """
    text, found, values = command_text.template(located, key), DockerRun(), {"HOME": "~"}
    places = command_text.lines(located, text)
    try:
        for simple in commands(text):
            words = [made for word in simple.words for made in filled(word, values)[0]]
            values |= {name: value for name, word, value in assigned(Simple(words)) if not word.expands}
            _command(found, words, places)
    except CommandError as error:
        schema.fail(Located(None, located.file, places.number(error.line)), key, str(error))
    return found


def _command(found: DockerRun, words: list[Word], places: Lines) -> None:
    """Keep what one command of the script says; a program that sparkops does not run instead is a caveat."""
    said = " ".join(word.text for word in words)
    if said.startswith("docker run ") and found.image is None:
        _run(found, words[2:], places)
    elif words and not (said.startswith(PREPARES) or "=" in words[0].text):
        text = f"sparkops does not run `{shortened(said)}` before it starts the container"
        instead = "run it yourself on each node, or build its effect into the image"
        found.caveats.append(Caveat(places.where(words[0].line), schema.one_line(text), instead=instead))


def _run(found: DockerRun, words: list[Word], places: Lines) -> None:
    rest = iter(words)
    for word in rest:
        place = Located(None, places.file, places.number(word.line))
        if not word.text.startswith("-"):
            found.image = _at(word.text, place)
            _after(found, list(rest), places)
            return
        for name, value in _option(word.text, rest):
            _keep(found, name, value, place)


def _option(text: str, rest: Iterator[Word]) -> Iterator[tuple[str, Word | bool]]:
    """The option of a word, with its value from `=` or from the next word."""
    if _SWITCHES.fullmatch(text):
        return
    name, equals, value = text.lstrip("-").partition("=")
    if not text.startswith("--") and len(text) > _LONGEST_NAME:
        name, equals, value = text[1], "=", text[2:].removeprefix("=")
    name = SHORT.get(name, name)
    if name in SWITCHES:
        yield name, value != "false"
    elif equals:
        yield name, Word(value, 0)
    elif (following := next(rest, None)) is not None:
        yield name, following


def _keep(found: DockerRun, name: str, value: Word | bool, place: Located) -> None:
    text = value if isinstance(value, bool) else value.text
    if isinstance(value, Word) and name == "env":
        _variable(found, value, place)
    elif name in ("volume", "mount"):
        found.volumes.append(_at(text, place))
    elif name not in WITHOUT_EFFECT and not (name == "entrypoint" and str(text).rpartition("/")[2] in SHELLS):
        key = KEYS.get(name, name).replace("-", "_")
        before = found.options[key].value if key in found.options else ()
        found.options[key] = _at((*before, _at(text, place)), found.options.get(key, place))


def _variable(found: DockerRun, word: Word, place: Located) -> None:
    """Keep `NAME=VALUE`. Without a value, or with one that only a person knows, it differs from node to node."""
    name, equals, value = word.text.partition("=")
    unknown = not equals or word.expands or "$" in value or _BY_HAND.search(value)
    if unknown and name in HUB_TOKENS:
        return
    kept = found.by_hand if unknown and not SECRET.fullmatch(name) else found.env
    kept[name] = _at(value, place)


def _after(found: DockerRun, words: list[Word], places: Lines) -> None:
    """The words after the image; a shell is what the recipe's command is typed into."""
    if words and words[0].text.rpartition("/")[2] not in SHELLS:
        said = shortened(" ".join(word.text for word in words))
        where = places.where(words[0].line)
        text = schema.one_line(f"sparkops does not run `{said}` in the container")
        found.caveats.append(Caveat(where, text, instead="write what the engine needs of it into serve.command"))


def _at(value: Any, place: Located) -> Located:
    return Located(value, place.file, place.line)
