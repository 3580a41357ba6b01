"""Write and remove catalogues: each state is written beside the others, then renamed, so none is ever half there."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sparkops.core.catalogue import CONTENT, LARGEST, LARGEST_FILE, MOST_FILES, Catalogue, safe
from sparkops.core.schema import one_line
from sparkops.core.sizes import gb
from sparkops.errors import UsageError
from sparkops.files import catalogues, own_files
from sparkops.files.catalogues import Kept
from sparkops.files.recipe_places import YAML

PART = ".part-"
FORGOTTEN = 86_400
"""Seconds after which the directory of a run that was killed is removed."""

Files = Iterable[tuple[str, bytes]]


@contextlib.contextmanager
def writing(catalogue: Catalogue, files: Files) -> Iterator[Kept]:
    """Write the files beside the catalogues; at the end, `add` or `move` has renamed them, or they are removed."""
    place = catalogues.folder()
    own_files.make_folder(place)
    _forget(place)
    part = Path(tempfile.mkdtemp(prefix=PART, dir=place))
    try:
        _write(part / catalogues.tree(catalogue), files)
        yield Kept(catalogue, part / catalogues.tree(catalogue))
    finally:
        shutil.rmtree(part, ignore_errors=True)


def add(made: Kept) -> None:
    """Keep a new catalogue; raises UsageError if there is one with this name."""
    part, place = made.root.parent, catalogues.folder(made.catalogue.name)
    _about(part, made.catalogue)
    with own_files.writing(place):
        try:
            part.rename(place)
        except OSError:
            if not place.is_dir():
                raise
            raise existing(made.catalogue.name) from None


def existing(name: str) -> UsageError:
    """The error for a name that is taken."""
    hint = f"to get its newest recipes: `sparkops recipe update {name}`; or give another name: --name NAME"
    return UsageError(f"there is already a catalogue {name}", hint=hint)


def move(old: Kept, made: Kept) -> None:
    """Put the new state of a catalogue in place of the old one."""
    place = catalogues.folder(made.catalogue.name)
    with own_files.writing(place):
        with contextlib.suppress(FileExistsError):
            if not (place / made.root.name).is_dir():
                made.root.rename(place / made.root.name)
        _about(place, made.catalogue)
    if old.root.name != made.root.name:
        shutil.rmtree(old.root, ignore_errors=True)


def remove(name: str) -> None:
    """Remove a catalogue; first out of sight, so that no command finds half of it."""
    place = catalogues.folder(name)
    with own_files.writing(place):
        part = Path(tempfile.mkdtemp(prefix=PART, dir=catalogues.folder()))
        place.rename(part / name)
    shutil.rmtree(part, ignore_errors=True)


def in_repository(directory: Path) -> bool:
    """Whether a directory, or one above it, is a work tree of git."""
    return any((one / ".git").exists() for one in (directory, *directory.parents))


def plain(directory: Path) -> tuple[str, list[tuple[str, bytes]]]:
    """A hash of the content of a directory without git, and its files; raises UsageError."""
    found: list[tuple[str, bytes]] = []
    digest = hashlib.sha256()
    for path in sorted(_regular(directory)):
        if len(found) >= MOST_FILES:
            raise _too_much()
        name, data = path.relative_to(directory).as_posix(), read(path)
        found.append((name, data))
        digest.update(json.dumps([name, len(data)]).encode() + data)
    return CONTENT + digest.hexdigest(), found


def read(path: Path) -> bytes:
    """The content of a file; raises UsageError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(one_line(f"{path}: {(error.strerror or 'cannot be read').lower()}")) from None


def same(path: Path, data: bytes) -> bool:
    """Whether a file has this content; ends of lines do not count, because git may have changed them."""
    return path.is_file() and read(path).replace(b"\r\n", b"\n") == data.replace(b"\r\n", b"\n")


def _regular(directory: Path) -> Iterator[Path]:
    """Files that are not too large; no symbolic link is followed."""
    for top, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name != ".git"]
        regular = (path for name in files if not (path := Path(top, name)).is_symlink() and path.is_file())
        yield from (path for path in regular if path.stat().st_size <= LARGEST_FILE)


def _write(root: Path, files: Files) -> None:
    """Write files whose paths are safe, readable only by their owner, none executable."""
    size = 0
    with own_files.writing(root):
        root.mkdir(mode=0o700)
        for count, (name, data) in enumerate(files, 1):
            size += len(data)
            if size > LARGEST or count > MOST_FILES:
                raise _too_much()
            if safe(name):
                path = root / name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_bytes(data)


def _too_much() -> UsageError:
    return UsageError(
        f"the repository has more than {MOST_FILES} files or more than {gb(LARGEST)} of them",
        hint="clone it yourself, and add only the directory with the recipes",
    )


def _about(place: Path, catalogue: Catalogue) -> None:
    """Write what is known of a catalogue, completely or not at all."""
    path = place / catalogues.ABOUT
    own_files.write(path, json.dumps(catalogues.document(catalogue), indent=2) + "\n")


def _forget(place: Path) -> None:
    """Remove what killed runs left."""
    for part in place.glob(f"{PART}*"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > FORGOTTEN:
                shutil.rmtree(part, ignore_errors=True)


def yaml_files(made: Kept) -> list[str]:
    """The files of YAML of a catalogue, relative to it."""
    found = (path for path in made.root.rglob("*") if path.suffix in YAML and path.is_file())
    return sorted(path.relative_to(made.root).as_posix() for path in found)


def alike(old: Kept, new: Kept, file: str) -> bool:
    """Whether a file has one content in two states of a catalogue."""
    return same(old.path(file), read(new.path(file)))
