"""Which file the name of a recipe means: one in `./recipes`, a packaged one, one of a catalogue, or a path."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError
from sparkops.files import catalogues
from sparkops.files.catalogues import Kept

YAML = (".yml", ".yaml")
PAGES = "pages"
"""The folder, in those of recipes, with pages for people."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]*(?<!\.yml)(?<!\.yaml)")
"""Like the name of a model: an organisation and one word, no file of YAML."""

_WITH_TOPOLOGY = re.compile(r"(.+?)-((?:\d+x-)?(?:solo|cluster))")


@dataclass(frozen=True)
class Found:
    """A recipe's file. `label` is how messages name it; `kept` its catalogue, where `file` is its path."""

    path: Path
    name: str
    label: str
    kept: Kept | None = None
    file: str = ""


@dataclass(frozen=True)
class RecipeFolders:
    """The user's own recipes, then the packaged ones."""

    own: Path
    packaged: Path

    def names(self) -> tuple[str, ...]:
        """All recipes that can be named, without those of catalogues."""
        files = (path for place in (self.own, self.packaged) if place.is_dir() for path in place.iterdir())
        return tuple(sorted({path.stem for path in files if path.suffix in YAML}))

    def find(self, wanted: str, chain: Sequence[Found] = ()) -> Found:
        """The file of a recipe, which the last of `chain` extends. Files already read are skipped: a file may extend
        a packaged recipe of its name. Raises UsageError."""
        child = chain[-1] if chain else None
        candidates = list(self._inside(child, wanted) if child and child.kept else self._outside(wanted, child))
        existing = [one for one in candidates if os.path.isfile(one.path)]
        read = {one.path.resolve() for one in chain}
        for one in existing:
            if one.path.resolve() not in read:
                return one
        if existing and child:
            names = " > ".join(one.path.stem for one in (*chain, existing[0]))
            raise UsageError(f"{child.label}: extends itself: {names}")
        if is_path(wanted) and candidates:
            if meant := next((f"{wanted}{end}" for end in YAML if os.path.isfile(f"{wanted}{end}")), None):
                raise UsageError(one_line(f"{wanted}: no such file (did you mean {meant}?)"))
            if _HUB_NAME.fullmatch(wanted) and not (child or candidates[0].path.exists()):
                hint = (
                    f"for a model of the hub: `sparkops recipe new {wanted}`; recipes by name: `sparkops recipe list`"
                )
                raise UsageError(one_line(f"{wanted}: no such file"), hint=hint)
            return candidates[0]
        raise UsageError(one_line(f"no such recipe: {wanted}{self._instead(wanted)}"))

    def _outside(self, wanted: str, child: Found | None) -> Iterator[Found]:
        if is_path(wanted):
            path = Path(os.path.expanduser(wanted))
            found = None if os.path.isfile(path) else catalogues.recipe(wanted)
            yield self._at(path) if found is None else in_catalogue(*found)
            return
        places = (child.path.parent if child else self.own, self.own, self.packaged)
        yield from (self._at(place / f"{wanted}{suffix}") for place in places for suffix in YAML)

    def _inside(self, child: Found, wanted: str) -> Iterator[Found]:
        """What a recipe of a catalogue may extend: others of its catalogue, and packaged ones; no path leads out."""
        assert child.kept
        names = {file: name for name, file in child.kept.catalogue.names.items()}
        for file in child.kept.catalogue.beside(child.file, wanted):
            yield in_catalogue(child.kept, names.get(file, file))
        if not is_path(wanted):
            yield from (self._at(self.packaged / f"{wanted}{suffix}") for suffix in YAML)

    def _at(self, path: Path) -> Found:
        """A file; the label of a packaged one does not depend on where the package is installed."""
        return Found(path, path.stem, f"recipes/{path.name}" if path.parent == self.packaged else str(path))

    def _instead(self, name: str) -> str:
        """spark-vllm-docker has a recipe for each topology; here the topology is an option. A page has no model."""
        if any(os.path.isfile(place / PAGES / f"{name}{end}") for place in (self.own, self.packaged) for end in YAML):
            return ": it is a page for people, which only a fleet with an `endpoint` can have, in its file"
        names, split = self.names(), _WITH_TOPOLOGY.fullmatch(name)
        if split and split[1] in names:
            return f" (did you mean {split[1]} with --topology {split[2]}?)"
        elsewhere = (one for one in catalogues.recipe_names() if one.rpartition("/")[2] == name)
        if (other := next(elsewhere, None)) is not None:
            return f" (did you mean {other}?)"
        return did_you_mean(name, names)


def in_catalogue(kept: Kept, name: str) -> Found:
    """A recipe of a catalogue by its name there."""
    file = kept.catalogue.names.get(name, name)
    return Found(kept.path(file), f"{kept.catalogue.name}/{name}", kept.label(file), kept, file)


def is_path(name: str) -> bool:
    return name.endswith(YAML) or "/" in name or os.sep in name
