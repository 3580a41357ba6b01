"""A catalogue: other people's recipes at one commit; the names of its recipes, and which of them a text means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

from sparkops.core.schema import meant
from sparkops.errors import UsageError

CONTENT = "sha256:"
"""What begins the `commit` of a plain directory: a hash of its content."""

LARGEST_FILE, LARGEST, MOST_FILES = 1_000_000, 200_000_000, 20_000
"""Bytes of a file that is kept, bytes of all together, and their number."""

RESERVED = ("recipes",)
"""Names that would be read as paths: of the recipes that come with sparkops, and of the user's own."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>\S+)", re.IGNORECASE)
_SSH = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!/)[A-Za-z0-9._~/+-]+")
_SUFFIX = re.compile(r"\.ya?ml$")
_LONGEST_PATH = 400


@dataclass(frozen=True)
class Catalogue:
    """`origin` is a URL or an absolute directory. `unread` has the reason for each recipe that cannot be used."""

    name: str
    origin: str
    commit: str
    recipes: tuple[str, ...] = ()
    """The recipes' files, relative to the catalogue."""

    unread: Mapping[str, str] = field(default_factory=dict)
    ref: str | None = None
    added: str = ""

    @property
    def at(self) -> str:
        """The name with the first 12 digits of the commit, as origins of settings show it."""
        return f"{self.name}@{self.short}"

    @property
    def short(self) -> str:
        return self.commit.removeprefix(CONTENT)[:12]

    @cached_property
    def names(self) -> dict[str, str]:
        """The file of each recipe by its name: the path without what all share, `.yaml`, and a last `recipe`."""
        found: dict[str, str] = {}
        folders = [path.split("/")[:-1] for path in self.recipes]
        same = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
        shared = len(list(same))
        for path in self.recipes:
            parts = _SUFFIX.sub("", path).split("/")
            parts = parts[min(shared, len(parts) - 2) :][:-1] if parts[-1] == "recipe" and parts[1:] else parts[shared:]
            found.setdefault("/".join(parts), path)
        return found

    def meant(self, text: str) -> tuple[str, ...]:
        """The names that a text means: one by its name or file, else all that end in it."""
        if text in self.names:
            return (text,)
        files = [name for name, path in self.names.items() if text in (path, _SUFFIX.sub("", path))]
        plain = _SUFFIX.sub("", text)
        return tuple(files or (name for name in self.names if f"/{name}".endswith(f"/{plain}")))

    def one(self, text: str) -> str:
        """The one name that a text means; raises UsageError."""
        found = self.meant(text)
        if len(found) == 1:
            return found[0]
        hint = f"list its recipes: `sparkops recipe list {self.name}`"
        if found:
            names = ", ".join(f"{self.name}/{name}" for name in found[:5])
            raise UsageError(f"{self.name}/{text} means more than one recipe: {names}", hint=hint)
        raise UsageError(f"no such recipe: {self.name}/{text}{self._instead(text)}", hint=hint)

    def _instead(self, text: str) -> str:
        known = {name.rpartition("/")[2]: name for name in self.names} | {name: name for name in self.names}
        near = meant(text, known)
        return f" (did you mean {self.name}/{known[near]}?)" if near else ""

    def beside(self, child: str, text: str) -> tuple[str, ...]:
        """The files that a recipe's `extends` may mean: in its own folder, else anywhere in the catalogue."""
        folder = child.rpartition("/")[0]
        near = f"{folder}/{text}" if folder else text
        files = [path for path in self.recipes if near in (path, _SUFFIX.sub("", path))]
        return (*files, *(self.names[name] for name in self.meant(text)))


def safe(path: str) -> bool:
    """Whether a path of someone's repository can be a path here, and be printed."""
    parts = path.split("/")
    usual = all(part not in ("", ".", "..") and part.lower() != ".git" for part in parts)
    return usual and path.isprintable() and "\\" not in path and len(path) <= _LONGEST_PATH


def checked_name(name: str) -> str:
    """A name for a catalogue; raises UsageError."""
    hint = "use letters, digits, `.`, `_` and `-`, such as --name spark-vllm-docker"
    if name in RESERVED:
        raise UsageError(f"--name {name}: this is the directory of your own recipes", hint=hint)
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(f"--name {name!r}: is not a valid name of a catalogue", hint=hint)
    return name


def checked_ref(ref: str) -> str:
    """A branch, a tag or a commit; raises UsageError."""
    if not _REF.fullmatch(ref) or ".." in ref:
        raise UsageError(f"--ref {ref!r}: is not a branch, a tag or a commit with all its digits")
    return ref


def is_url(origin: str) -> bool:
    """Whether a text is meant as the address of a repository, not as a directory."""
    return bool(_URL.match(origin) or "::" in origin or _SSH.fullmatch(origin))


def checked_url(origin: str) -> str:
    """An address from which recipes may be fetched; raises UsageError."""
    found = _URL.fullmatch(origin)
    if found is None and _SSH.fullmatch(origin):
        return origin
    scheme = found["scheme"].lower() if found else origin.partition("::")[0]
    if scheme not in ("https", "ssh"):
        hint = "use https:// or ssh://; or clone it yourself, and add the directory"
        why = (
            "it is not encrypted" if scheme in ("http", "git", "ftp") else "it is not an address that sparkops fetches"
        )
        raise UsageError(f"{origin!r}: {why}", hint=hint)
    user, at, host = found["rest"].partition("/")[0].rpartition("@") if found else ("", "", "")
    if host.startswith("-") or not host:
        raise UsageError(f"{origin!r}: has no valid host")
    if at and (scheme == "https" or ":" in user):
        raise UsageError(
            "the URL contains a user name or a password", hint="leave it out: git asks its credential helper"
        )
    return origin


def usual_name(origin: str) -> str:
    """The name of a catalogue without `--name`: that of its repository, or of its owner if that says nothing."""
    parts = [part for part in re.split(r"[/:\\]", origin.rstrip("/")) if part]
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", part.removesuffix(".git")).strip("-.") for part in parts[-2:]]
    fitting = [name for name in reversed(names) if _NAME.fullmatch(name) and ".." not in name and name not in RESERVED]
    if not fitting:
        raise UsageError(f"{origin!r} has no name for the catalogue", hint="give one: --name NAME")
    return fitting[0]


@dataclass(frozen=True)
class Changes:
    """What an update changes, by the names of recipes."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def changes(old: Catalogue, new: Catalogue, changed: Iterable[str]) -> Changes:
    """The differences of two states of a catalogue; `changed` are files of both that differ."""
    before, after, files = set(old.recipes), set(new.recipes), set(changed)

    def named(catalogue: Catalogue, wanted: set[str]) -> tuple[str, ...]:
        return tuple(name for name, path in catalogue.names.items() if path in wanted)

    return Changes(named(new, after - before), named(old, before - after), named(new, files & before & after))
