"""Make the build context of an image with mods: the mods' directories and a Dockerfile."""

import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkops.core import mods as modding
from sparkops.core.schema import one_line
from sparkops.errors import Refused, UsageError
from sparkops.files import catalogues
from sparkops.files.build_context import Context, pack

PINNED = "pinned"
"""Given instead of a directory: use only mods whose source the recipe pins."""


def context(directory: str, container: str, mods: Sequence[str], sources: Mapping[str, str]) -> Context:
    """The build context of an image with these mods; a mod in `directory` wins over its pinned source.

    `directory` may also be the name of a catalogue.
    """
    if wrong := modding.strange(modding.needed(mods)):
        raise UsageError(one_line(f"{wrong[0]!r} is not a mod name: it must be a plain directory name"))
    pinned = {mod: source for mod, text in sources.items() if (source := modding.source(text)) is not None}
    here = {} if directory == PINNED else {mod: found for mod in mods if (found := _find(directory, mod)) is not None}
    missing = [mod for mod in modding.needed(mods) if mod not in here and mod not in pinned]
    if missing:
        names = ", ".join(map(modding.short, missing))
        looked = (
            "" if directory == PINNED else f"; looked for {' and '.join(modding.candidates(missing[0]))} in {directory}"
        )
        raise Refused(
            one_line(f"these mods do not exist: {names}{looked}"),
            hint="use --mods DIR, or in the recipe `mods: [{name: NAME, source: REPOSITORY@COMMIT:DIR}]`",
        )
    left = {mod: pinned[mod] for mod in pinned if mod not in here}
    with tempfile.TemporaryDirectory(prefix="sparkops-mods-") as folder:
        Path(folder, "Dockerfile").write_text(modding.dockerfile(container, mods, left), encoding="utf-8")
        for mod, found in here.items():
            _copy(found, Path(folder, "mods", modding.short(mod)))
        return pack(Path(folder))


def _find(directory: str, mod: str) -> Path | None:
    """A directory with a `run.sh`, or a zip of one."""
    base = Path(directory).expanduser()
    if not base.is_dir() and (kept := catalogues.kept(directory)) is not None:
        base = kept.root
    if not base.is_dir():
        raise UsageError(one_line(f"{directory}: no such directory"))
    for name in modding.candidates(mod):
        if (base / name / "run.sh").is_file():
            return base / name
        if (base / f"{name}.zip").is_file():
            return base / f"{name}.zip"
    return base if base.name == modding.short(mod) and (base / "run.sh").is_file() else None


def _copy(found: Path, place: Path) -> None:
    try:
        if found.is_dir():
            shutil.copytree(found, place, symlinks=True)
            return
        with zipfile.ZipFile(found) as packed:
            packed.extractall(place)
    except (OSError, zipfile.BadZipFile, shutil.Error) as error:
        raise UsageError(one_line(f"{found}: {error}")) from None
    if not (place / "run.sh").is_file():
        raise UsageError(one_line(f"{found}: has no run.sh"))
