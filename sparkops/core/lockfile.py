"""A lock: a record of what ran, and how a later run differs from it.

It holds what a measurement depends on: the revision as the containers' labels hold it, and for every node the image
that its container really runs, the model's snapshot, driver and kernel.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sparkops.core import schema
from sparkops.core.revision import SCHEMA as REVISION_SCHEMA
from sparkops.core.schema import Located

SCHEMA = 1
"""Version of the file's shape; readers accept every version ever released."""

MARK = "sparkops_lock"
COMPARED = ("image", "model", "models", "driver", "kernel", "spec")
IGNORABLE = (*COMPARED, "sparkops", "nodes")
REVISION = (
    *("recipe", "model", "model_revision", "models", "served", "kind", "topology", "executor"),
    *("args", "env", "mounts", "program"),
)


@dataclass(frozen=True)
class NodeLock:
    """A node's part. `image` is the fingerprint of what its container runs, `model` the snapshot that it loads."""

    role: str
    image: str | None = None
    model: str | None = None
    models: Mapping[str, str] | None = None
    """The snapshots of further models, such as a draft model, by name."""

    driver: str | None = None
    kernel: str | None = None
    spec: int | None = None


@dataclass(frozen=True)
class RecipeLock:
    """`revision` is the JSON of the labels; `nodes` are keyed by name, a node with two parts as its engine."""

    deployment: str
    hash: str
    sparkops: str
    revision: Mapping[str, Any]
    nodes: Mapping[str, NodeLock]
    locked: str = ""
    schema: int = field(default=SCHEMA)

    @property
    def document(self) -> dict[str, Any]:
        said = {"deployment": self.deployment, "hash": self.hash, "sparkops": self.sparkops, "locked": self.locked}
        nodes = {name: asdict(node) for name, node in self.nodes.items()}
        return {MARK: self.schema, **said, "revision": dict(self.revision), "nodes": nodes}


@dataclass(frozen=True)
class LockDifference:
    """One value that differs from the lock; `node` is empty for values of the whole deployment."""

    what: str
    key: str
    locked: Any
    now: Any
    node: str = ""

    def __str__(self) -> str:
        where = f"{self.node}: " if self.node else ""
        return f"{where}{self.key}: {shown(self.locked)} in the lock file, {shown(self.now)} now"


def read(document: Located) -> RecipeLock:
    """A lock file; anything else is one line with its place."""
    entries = schema.mapping(document)
    if MARK not in entries:
        schema.fail(document, MARK, "is missing: this is not a lock file", "write one: `sparkops recipe lock -o FILE`")
    version = schema.integer(entries[MARK], MARK)
    if not 1 <= version <= SCHEMA:
        schema.fail(entries[MARK], MARK, f"is version {version}; sparkops reads up to {SCHEMA}", "use a newer sparkops")
    for key in ("deployment", "hash", "sparkops", "revision", "nodes"):
        if key not in entries or entries[key].value is None:
            schema.fail(document, key, "is required")
    nodes = {name: _node(value, f"nodes.{name}") for name, value in schema.mapping(entries["nodes"], "nodes").items()}
    schema.mapping(entries["revision"], "revision")
    texts = {key: schema.text(entries[key], key) for key in ("deployment", "hash", "sparkops")}
    locked = schema.text(entries["locked"], "locked") if "locked" in entries else ""
    return RecipeLock(**texts, revision=schema.plain(entries["revision"]), nodes=nodes, locked=locked, schema=version)


def _node(value: Located, path: str) -> NodeLock:
    given = schema.mapping(value, path).items()
    known = {key: item for key, item in given if key in ("role", *COMPARED) and item.value is not None}
    texts = {key: schema.text(item, f"{path}.{key}") for key, item in known.items() if key not in ("spec", "models")}
    if "role" not in texts:
        schema.fail(value, f"{path}.role", "is required")
    spec = schema.integer(known["spec"], f"{path}.spec") if "spec" in known else None
    models = _texts(known["models"], f"{path}.models") if "models" in known else None
    return NodeLock(**texts, models=models, spec=spec)


def _texts(value: Located, path: str) -> dict[str, str]:
    return {name: schema.text(item, f"{path}.{name}") for name, item in schema.mapping(value, path).items()}


def changes(locked: RecipeLock, now: RecipeLock, ignore: frozenset[str] = frozenset()) -> tuple[LockDifference, ...]:
    """Differences from the lock, those of the deployment first; fields that the lock lacks are ignored."""
    found = (*_revision(locked.revision, now.revision), *_machines(locked, now))
    return tuple(change for change in found if change.what not in ignore)


def _revision(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockDifference]:
    for part in REVISION:
        before, after = old.get(part), new.get(part)
        if part in ("args", "env"):
            yield from _settings(part, _mapping(before), _mapping(after))
        elif before != after:
            yield LockDifference("revision", part, before, after)
    if old.get("schema", REVISION_SCHEMA) != new.get("schema", REVISION_SCHEMA):
        yield LockDifference("revision", "schema", old.get("schema"), new.get("schema"))


def _settings(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockDifference]:
    for key in sorted({*old, *new}):
        if old.get(key) == new.get(key):
            continue
        if part == "args":
            yield LockDifference("flags", f"--{key}", old.get(key), new.get(key))
        else:
            yield LockDifference("env", key, old.get(key), new.get(key))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _machines(locked: RecipeLock, now: RecipeLock) -> Iterator[LockDifference]:
    for name in sorted({*locked.nodes, *now.nodes}):
        before, after = locked.nodes.get(name), now.nodes.get(name)
        if before is None or after is None:
            yield LockDifference("nodes", "part", before.role if before else None, after.role if after else None, name)
            continue
        for key in ("role", *COMPARED):
            x, y = getattr(before, key), getattr(after, key)
            if x is not None and x != y:
                yield LockDifference("nodes" if key == "role" else key, key, x, y, name)
    if locked.sparkops != now.sparkops:
        yield LockDifference("sparkops", "sparkops", locked.sparkops, now.sparkops)


def shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = str(value)
    return text if len(text) <= 70 else f"{text[:67]}..."
