"""A fleet's file."""

from dataclasses import replace
from pathlib import Path

from sparkops.core.fleet import fleet_file
from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.fleet.pages import with_pages
from sparkops.errors import UsageError
from sparkops.files import pages, recipes
from sparkops.files.recipe_places import YAML

DEFAULT = "fleet.yml"


def here() -> bool:
    """Whether a fleet's file is in the current directory."""
    return Path(DEFAULT).exists()


def written() -> int:
    """When the fleet's file in the current directory was written last, in nanoseconds; 0 if there is none."""
    try:
        return Path(DEFAULT).stat().st_mtime_ns
    except OSError:
        return 0


def fleet(path: str | None = None) -> WantedFleet:
    """The file, by default `fleet.yml` here; it names recipe files relative to itself."""
    file = Path(path or DEFAULT)
    try:
        found = fleet_file.read(recipes.document(file))
    except UsageError as error:
        if not file.exists():
            error.hint = f"name the fleet's file, or write {DEFAULT} from what serves now: `sparkops init --fleet`"
        raise
    deployments = tuple(replace(one, recipe=beside(file, one.recipe)) for one in found.deployments)
    recipes_of_pages = {one.name: page for one in deployments if (page := pages.page(one.recipe))}
    return with_pages(replace(found, deployments=deployments), recipes_of_pages)


def beside(file: Path, named: str) -> str:
    """The recipe that a fleet's file names: a path is relative to that file."""
    return (
        f"{file.parent}/{named.removeprefix('./')}"
        if named.startswith(("./", "../")) or named.endswith(YAML)
        else named
    )
