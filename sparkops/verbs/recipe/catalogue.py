"""`recipe add`, `update` and `remove`: other people's recipes, kept by commit. Nothing of them is run."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sparkops.core import shapes, topology
from sparkops.core.catalogue import Catalogue, changes, checked_name, checked_ref, usual_name
from sparkops.core.comparison import compare
from sparkops.core.effective import Overrides, effective
from sparkops.core.target import NameOptions
from sparkops.errors import PRECEDENCE, SparkopsError, UsageError
from sparkops.files import catalogue_store as store
from sparkops.files import catalogues, recipes
from sparkops.files.catalogues import Kept
from sparkops.files.recipe_places import in_catalogue
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.verbs.recipe import origins
from sparkops.verbs.recipe.list import about
from sparkops.verbs.recipe.options import AddOptions, UpdateOptions


def add(options: AddOptions, report: Report) -> Answer:
    """Keep the recipes of a repository or directory under a name."""
    origin = origins.origin(options.origin)
    name = checked_name(options.name) if options.name else usual_name(origin)
    if name in catalogues.names():
        raise store.existing(name)
    ref = checked_ref(options.ref) if options.ref else None
    with _written(Catalogue(name, origin, "", ref=ref), report) as (made, uncommitted):
        store.add(made)
    found = made.catalogue
    names = [name for name, file in found.names.items() if file not in found.unread]
    document = {"catalogue": about(found), "recipes": names, "unread": _unread(found)}
    return Answer({**document, "uncommitted": list(uncommitted)})


def update(options: UpdateOptions, report: Report) -> Answer:
    """Move one catalogue, or all, to the newest commit or to `ref`; a failure of one does not stop the others."""
    if options.ref and not options.name:
        raise UsageError("--ref needs the name of a catalogue: `sparkops recipe update NAME --ref REF`")
    found, errors = [], []
    for name in [options.name] if options.name else catalogues.names():
        try:
            found.append(_updated(catalogues.named(name), options.ref, report))
        except SparkopsError as error:
            if options.name:
                raise
            errors.append(error)
            found.append({"name": name, "error": error.message})
    worst = min(errors, key=lambda error: PRECEDENCE.index(error.exit_code), default=None)
    return Answer({"catalogues": found}, error=worst)


def remove(options: NameOptions, report: Report) -> Answer:
    """Remove a catalogue, also one that cannot be read."""
    if options.name not in catalogues.names():
        catalogues.named(options.name)
    found = catalogues.kept(options.name)
    store.remove(options.name)
    return Answer({"removed": options.name, "origin": found.catalogue.origin if found else None})


def _updated(old: Kept, ref: str | None, report: Report) -> dict[str, Any]:
    """Move a catalogue, and return what that changes."""
    wanted = replace(old.catalogue, ref=checked_ref(ref) if ref else old.catalogue.ref)
    with _written(wanted, report) as (made, uncommitted):
        new = made.catalogue
        files = [file for file in new.recipes if file in old.catalogue.recipes and not store.alike(old, made, file)]
        found = changes(old.catalogue, new, files)
        differences = [{"recipe": name, "changes": _differences(old, made, name)} for name in found.changed]
        store.move(old, made)
    return {
        **about(new),
        "before": old.catalogue.commit,
        "new": list(found.added),
        "removed": list(found.removed),
        "changed": differences,
        "cannot_be_used": _unread(new),
        "uncommitted": list(uncommitted),
        "error": None,
    }


def _differences(old: Kept, new: Kept, name: str) -> list[Mapping[str, Any]]:
    """Return the settings that differ between two states of a recipe; none if one of them cannot be read."""
    file = new.catalogue.names[name]
    try:
        a, b = (recipes.at(in_catalogue(one, file)) for one in (old, new))
    except UsageError:
        return []
    kind = topology.parse(shapes.usual(a, b)).kind
    found = compare(effective(a, kind, Overrides()), effective(b, kind, Overrides()), {})
    return [{"part": one.part, "key": one.key, "before": one.a.value, "after": one.b.value} for one in found]


@contextlib.contextmanager
def _written(wanted: Catalogue, report: Report) -> Iterator[tuple[Kept, tuple[str, ...]]]:
    """The files of the newest state beside the catalogues, with the recipes among them, and what is not committed."""
    report.note(f"reading {wanted.origin}")
    with origins.state(wanted.origin, wanted.ref) as state:
        now = datetime.now(UTC).strftime("%Y-%m-%d")
        catalogue = replace(wanted, commit=state.commit, added=now, recipes=(), unread={})
        with store.writing(catalogue, state.files) as written:
            made = _read(written)
            if not made.catalogue.recipes:
                hint = "see which formats sparkops reads: docs/how-to/recipes.md"
                raise UsageError(f"{wanted.origin} has no recipe", hint=hint)
            yield made, state.uncommitted


def _read(written: Kept) -> Kept:
    """The catalogue with its recipes: each is read once, so that those that cannot be used are known."""
    files = store.yaml_files(written)
    found = tuple(file for file in files if recipes.is_recipe(written.path(file), written.label(file)))
    kept = replace(written, catalogue=replace(written.catalogue, recipes=found))
    unread = {}
    for name, file in kept.catalogue.names.items():
        try:
            recipes.at(in_catalogue(kept, name))
        except UsageError as error:
            unread[file] = re.sub(rf"^{re.escape(kept.label(file))}:([0-9]+): ", r"line \1: ", error.message)
    return replace(kept, catalogue=replace(kept.catalogue, unread=unread))


def _unread(catalogue: Catalogue) -> list[dict[str, str]]:
    """Return the recipes that cannot be used, each with its reason."""
    names = {file: name for name, file in catalogue.names.items()}
    return [{"recipe": names.get(file, file), "reason": reason} for file, reason in catalogue.unread.items()]
