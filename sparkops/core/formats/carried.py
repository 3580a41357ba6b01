"""Keys beside the command: what sparkops does in its own way, and a caveat for each that it does not do."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from sparkops.core import schema
from sparkops.core.formats import values
from sparkops.core.formats.commandline import Serving
from sparkops.core.recipe import MOUNTS, Caveat
from sparkops.core.schema import Located

ABOUT = (
    *("name", "title", "summary", "description", "metadata", "maintainer", "author", "authors", "license", "id"),
    *("source", "sources", "links", "references", "url", "homepage", "tested_on", "tested", "validated", "family"),
    *("created", "updated", "version", "status", "category", "tags", "notes", "note", "comments", "specs", "hardware"),
    *("benchmark", "benchmarks", "results", "capabilities", "unsupported_capabilities", "draft_model", "engine"),
    *(
        "scheduler",
        "runtime_cache",
        "stop_after_post",
        "builder",
        "runtime_version",
        "engine_version",
        "vllm_version",
        "sparkrun_version",
        "readiness",
    ),
)
"""Keys that tell people about a recipe, or that only the launcher's own build and lists use."""

OWN = "write `mounts:` in a recipe of your own that extends this one"
INSTEAD = {
    "patches": "build them into the image, as mods for example",
    "vetted_local_code": "build it into the image, as a mod for example",
    "pre_exec": "build it into the image, as a mod for example",
    "post_exec": "run it yourself after the deploy",
    "post_commands": "run it yourself after the deploy",
}
"""What to do instead of the keys that others use often."""

SAFE = re.compile(r"(?:~|/mnt|/srv|/data|/models|/opt|/home/[\w.-]+)(?:/[\w+@-][\w.+@-]*)+/?")
CACHE = re.compile(r"~/\.(?:cache(?:/[\w+@-][\w.+@-]*)+|(?:triton|tilelang)(?:/[\w+@-][\w.+@-]*)*)/?")
"""Caches in hidden directories; Triton and TileLang keep what they compile in their own."""

TARGET = re.compile(r"(?:/[\w+@.-]*[\w+@-])+/?")
PROVIDED = {
    "entrypoint": ("",),
    "user": ("root", "0", "0:0"),
    "privileged": ("False",),
    "gpus": ("all",),
    "ipc": ("host",),
    "network": ("host",),
    "network_mode": ("host",),
    "auto_remove": None,
    "restart_policy": None,
    "shm_size": None,
    "cap_add": ("IPC_LOCK",),
    "devices": ("/dev/infiniband", "/dev/infiniband:/dev/infiniband"),
    "ulimit": (
        *("memlock=-1", "memlock=-1:-1", "stack=67108864", "stack=67108864:67108864"),
        *("nofile=1048576", "nofile=1048576:1048576"),
    ),
}
"""Options of the container that sparkops sets itself to these values; None: the value does not matter to the engine."""


def volumes(given: Located | None, key: str) -> tuple[tuple[str, ...], list[Caveat]]:
    """Volumes as mounts; a caveat for each that leaves the places where people keep models."""
    mounts, left = [], list[Caveat]()
    items = given.value if given is not None and isinstance(given.value, tuple) else ()
    for item in items:
        source, _, rest = str(values.seen(item)).partition(":")
        target, _, mode = rest.partition(":")
        safe = (SAFE.fullmatch(source) or CACHE.fullmatch(source)) and TARGET.fullmatch(target)
        if safe and mode in ("", "ro", "rw") and ".." not in source + target:
            mounts.append(_named(source.rstrip("/"), target.rstrip("/"), ":ro" * (mode == "ro")))
        else:
            said = schema.one_line(f"{key}: sparkops does not mount {values.seen(item)}")
            left.append(Caveat(item.where, said, instead=OWN))
    if given is not None and not items and given.value:
        left.append(Caveat(given.where, f"{key}: sparkops mounts only a list of HOST:CONTAINER", instead=OWN))
    return tuple(dict.fromkeys(mounts)), left


def _named(source: str, target: str, mode: str) -> str:
    """A cache by its name, another directory as `SOURCE:TARGET`."""
    names = (name for name, (path, inside) in MOUNTS.items() if (source, target) == (f"~/{path}", inside))
    return next(names, f"{source}:{target}{mode}")


def path_of_nothing(found: Serving, named: str | None, mounts: Iterable[str]) -> Iterator[Caveat]:
    """A caveat if the command serves a path that is no mount's: it would be taken for a directory of the nodes."""
    targets = [MOUNTS[mount][1] if mount in MOUNTS else mount.split(":")[1] for mount in (*mounts, "huggingface")]
    inside = any(found.model == target or found.model.startswith(f"{target}/") for target in targets)
    if found.model.startswith("/") and found.model != named and not inside:
        said = schema.one_line(f"no mount of the recipe provides {found.model}, the model in the command")
        name = named or "NAME"
        instead = (
            f"serve it by name (--set model={name}), or write `mounts:` in a recipe of your own that extends this one"
        )
        yield Caveat(found.model_at, said, True, instead)


def options(given: Located | None) -> Iterator[Caveat]:
    """Options of the container that sparkops sets otherwise, or not at all."""
    if given is None or not given.value:
        return
    entries = given.value if isinstance(given.value, Mapping) else {"executor_config": given}
    for name, value in entries.items():
        if name in ("volumes", "mounts") or not (said := values.seen(value)) and name not in PROVIDED:
            continue
        known = PROVIDED.get(name, ())
        wrong = [
            str(one)
            for one in (said if isinstance(said, list) else [said])
            if known is not None and str(one) not in known
        ]
        if wrong:
            text = f"sparkops does not set the container option {name} ({', '.join(wrong)})"
            yield Caveat(value.where, schema.one_line(text), instead="check that the engine works without it")


def distributed(given: Located | None, found: Serving, revision: str | None, container: str) -> Iterator[Caveat]:
    """Models and images that the recipe has copied to the nodes besides those that the engine names."""
    speculative = found.args.get("speculative-config")
    draft = speculative.value.get("model") if speculative and isinstance(speculative.value, Mapping) else None
    for kind, own in (("models", (found.model, "{model}")), ("containers", (container, "{container}"))):
        part = given.value.get(kind) if given is not None and isinstance(given.value, Mapping) else None
        entries = part.value.get("entries") if part is not None and isinstance(part.value, Mapping) else None
        for entry in entries.value if entries is not None and isinstance(entries.value, tuple) else ():
            said = values.seen(entry)
            said = said if isinstance(said, Mapping) else {"name": said}
            name, commit = str(said.get("name")), said.get("revision")
            if name == draft or (name in own and (kind == "containers" or commit in (None, revision))):
                continue
            what = f"{name}@{commit}" if commit else name
            get = f"sparkops {'model fetch' if kind == 'models' else 'image pull'} {shlex.quote(what)}"
            text = schema.one_line(f"sparkops does not copy {what} to the nodes for distribution_config")
            yield Caveat(entry.where, text, instead=f"get it before the deploy: `{get}`")


def unknown(entries: Mapping[str, Located], known: Iterable[str]) -> Iterator[Caveat]:
    """A caveat for each key that neither sparkops nor its reader knows."""
    meant = {*known, *ABOUT}
    for key, value in entries.items():
        if key not in meant and value.value not in (None, "", (), {}, False):
            instead = INSTEAD.get(key, "check what the engine needs of it, and write that in a recipe of your own")
            yield Caveat(value.where, schema.one_line(f"sparkops does not use the key {key}"), instead=instead)


def repeated(value: Located) -> Iterator[Caveat]:
    """A caveat for each key that is given twice with one value."""
    if isinstance(value.value, Mapping):
        for key, item in value.value.items():
            if item.again:
                text = schema.one_line(f"{key} is given twice with the same value (first on line {item.line})")
                yield Caveat(f"{item.file}:{item.again}", text, instead="remove one of the two lines")
    if isinstance(value.value, (Mapping, tuple)):
        for item in value.value.values() if isinstance(value.value, Mapping) else value.value:
            yield from repeated(item)
