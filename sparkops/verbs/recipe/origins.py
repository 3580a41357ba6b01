"""Where a catalogue comes from: a repository by URL, a directory in one, or a plain directory; and its state there."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sparkops.core.catalogue import checked_url, is_url
from sparkops.core.schema import one_line
from sparkops.errors import UsageError
from sparkops.files import catalogue_store, own_files
from sparkops.session import git


@dataclass(frozen=True)
class CatalogueState:
    """One state of the recipes; `uncommitted` files of the directory are not part of it."""

    commit: str
    files: Iterable[tuple[str, bytes]]
    uncommitted: tuple[str, ...] = ()


def origin(text: str) -> str:
    """A URL, or the absolute path of a directory; raises UsageError."""
    if not text.strip():
        raise UsageError("the directory or the URL is empty", hint="this directory: `sparkops recipe add .`")
    found = own_files.directory(text)
    if found is not None:
        return str(found)
    if is_url(text):
        return checked_url(text)
    parts = text.split("/")
    hint = f"a repository on GitHub: https://github.com/{text}" if len(parts) == 2 and all(parts) else None  # noqa: PLR2004
    raise UsageError(one_line(f"{text}: no such directory, and not a URL"), hint=hint)


@contextlib.contextmanager
def state(place: str, ref: str | None) -> Iterator[CatalogueState]:
    """The newest state of an origin, or that of `ref`; raises UsageError and Unreachable."""
    if not Path(place).is_absolute():
        with git.fetched(place, ref) as (fetched, commit):
            yield CatalogueState(commit, fetched.files(commit))
        return
    directory = own_files.directory(place)
    if directory is None:
        raise UsageError(one_line(f"{place}: no such directory"))
    repository = git.here(directory) if catalogue_store.in_repository(directory) else None
    if repository is not None:
        yield _committed(directory, repository, ref)
    elif ref is not None:
        raise UsageError(one_line(f"--ref {ref}: {place} is not in a git repository"))
    else:
        yield CatalogueState(*catalogue_store.plain(directory))


def _committed(directory: Path, repository: git.Repository, ref: str | None) -> CatalogueState:
    """The commit of a work tree, and which of its files differ from it."""
    commit = repository.commit(ref or "HEAD")
    if commit is None:
        raise UsageError(one_line(f"{directory}: {f'has no {ref}' if ref else 'has no commit yet'}"))
    files = list(repository.files(commit))
    differ = [name for name, data in files if not catalogue_store.same(directory / name, data)] if ref is None else []
    new = [name for name in repository.untracked() if name.endswith((".yml", ".yaml"))] if ref is None else []
    return CatalogueState(commit, files, tuple(sorted({*differ, *new})))
