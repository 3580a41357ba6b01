"""A page for people beside the endpoint of a fleet, such as a chat in the browser: a recipe without a model."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sparkops.core import proxy_image, schema
from sparkops.core.recipe import PORTS, Metadata, env_problem
from sparkops.core.schema import Located

USUAL_PORT = 3000
"""Where Open WebUI's own instructions publish it."""


@dataclass(frozen=True)
class PageVariables:
    """The variables by which the program is told its port, the endpoint's URL, its API key, and its first user."""

    port: str
    endpoint: str
    key: tuple[str, ...]
    user: str | None = None


@dataclass(frozen=True)
class PageProgram:
    """`command` runs in the image's working directory. `data` is the folder in the container that a volume keeps.

    `user` is who signs in first; the page's key is the password.
    """

    command: str
    data: str
    variables: PageVariables
    user: str | None = None


@dataclass(frozen=True)
class PageFile:
    """The content of a page's file."""

    page: PageProgram
    container: str
    port: int = USUAL_PORT
    env: Mapping[str, Located] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True)
class PageRecipe:
    """A page: its program in an image, and what that is told."""

    name: str
    source: str
    container: str
    program: PageProgram
    port: int
    env: Mapping[str, str]
    metadata: Metadata

    @property
    def given(self) -> dict[str, str]:
        """Its variables, with that of its first user."""
        user, name = self.program.user, self.program.variables.user
        return {**self.env, **({name: user} if name and user else {})}


def is_page(document: Located) -> bool:
    """Whether a file is a page's."""
    return isinstance(document.value, dict) and "page" in document.value


def read(name: str, document: Located) -> PageRecipe:
    """A page from its file; raises UsageError with file and line."""
    file = schema.build(PageFile, document)
    lines = schema.mapping(document)
    for path, problem in _problems(file):
        schema.fail(lines.get(path.partition(".")[0], document), path, problem)
    env = {key: _text(key, value) for key, value in file.env.items()}
    return PageRecipe(name, document.file, file.container, file.page, file.port, env, file.metadata)


def _problems(file: PageFile) -> Iterator[tuple[str, str]]:
    """The first wrong value of each kind, with its key."""
    page = file.page
    if not proxy_image.FORM.fullmatch(file.container):
        yield "container", f"must be NAME:TAG or NAME:TAG@sha256:DIGEST, not {file.container!r}"
    if not PORTS[0] <= file.port <= PORTS[1]:
        yield "port", f"must be between {PORTS[0]} and {PORTS[1]}, not {file.port}"
    if not page.data.startswith("/") or ":" in page.data:
        yield "page.data", f"must be a path in the container, such as /data, not {page.data!r}"
    if not words(page.command):
        yield "page.command", "must be the words that start the program, such as `bash start.sh`"
    given = page.variables
    if not given.key:
        yield "page.variables.key", "needs the name of a variable"
    for name in (given.port, given.endpoint, *given.key, *filter(None, [given.user])):
        if not (name.isascii() and name.isidentifier()):
            yield "page.variables", f"{name!r} is not a valid name for a variable"
    if (page.user is None) != (given.user is None):
        yield "page.user", "and page.variables.user belong together"


def words(command: str) -> list[str]:
    """The words of a command line; none if it has an open quote."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _text(key: str, value: Located) -> str:
    if isinstance(value.value, dict | tuple | schema.Opaque) or value.value is None:
        schema.fail(value, f"env.{key}", f"must be one value, not {schema.kind_of(value.value)}")
    if problem := env_problem(key):
        schema.fail(value, f"env.{key}", problem)
    return value.text or str(value.value)
