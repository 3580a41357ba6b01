"""What a recipe of NVIDIA says to people: limits, tested stack, notes."""

from collections.abc import Iterator

from sparkops.core import schema
from sparkops.core.formats import parts
from sparkops.core.recipe import Metadata, ValidatedStack

SOURCE = "a recipe.yaml of NVIDIA/local-ai-inference-recipes"
NOTED = {
    "status": "status {}",
    "variant": "variant {}",
    "concurrency": "made for {} requests at once",
    "backend_min_version": "needs vLLM {} or newer",
    "mtp": "speculative decoding: {}",
    "spec_dec": "speculative decoding: {}",
    "sampling": "sampling: {}",
}
"""Keys with one value, and how a note says it."""


def metadata(entries: parts.Entries) -> Metadata:
    """All that `recipe show` prints; texts are on one line."""
    checked, topology = parts.inner(entries, "validation"), parts.inner(entries, "topology")
    title, precision = parts.text(entries, "title"), parts.text(parts.inner(entries, "precision"), "label")
    model, date = parts.text(entries, "model"), parts.text(checked, "validated_at")
    hardware = [parts.text(topology, "summary") or parts.text(entries, "hardware")]
    if memory := parts.text(entries, "min_vidmem_gb"):
        hardware.append(f"{memory} GB of memory on each node")
    return Metadata(
        description=_line(" · ".join(one for one in (title, precision) if one)),
        source=(_line(f"{SOURCE}, model {model}"),),
        verified=_line(date or ""),
        hardware=_line("; ".join(one for one in hardware if one)),
        trade_offs=_texts(entries, "limitations"),
        before=_texts(entries, "prerequisites"),
        notes=tuple(_notes(entries)),
        tested_with=_stack(entries, parts.inner(checked, "tested_stack")),
    )


def _stack(entries: parts.Entries, said: parts.Entries) -> ValidatedStack | None:
    """The software that the recipe was tested with; None if it does not say that it was tested."""
    if not said:
        return None
    driver, system, cuda = (_line(parts.text(said, key) or "") for key in ("driver", "os_version", "cuda"))
    return ValidatedStack(driver, system, cuda, _line(parts.text(entries, "backend_version") or ""))


def _notes(entries: parts.Entries) -> Iterator[str]:
    """The notes of the author, and keys that are worth knowing before a deploy."""
    said = [form.format(value) for key, form in NOTED.items() if (value := parts.text(entries, key))]
    if said:
        yield _line("; ".join(said))
    for given, key in ((parts.inner(entries, "serve"), "instructions"), (entries, "notes")):
        if text := parts.text(given, key):
            yield _line(text)
    if text := parts.text(entries, "security"):
        yield _line(f"security, as the recipe says: {text}")


def _texts(entries: parts.Entries, key: str) -> tuple[str, ...]:
    """A list of texts, or one text."""
    found = entries.get(key)
    if found is not None and isinstance(found.value, str):
        return (_line(found.value),)
    return tuple(_line(text) for text in parts.words(entries, key))


def _line(text: str) -> str:
    return " ".join(schema.one_line(text).split())
