"""A proposal as the text of a recipe file: each value below the comment that says why."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from sparkops.core.advice import BANDWIDTH_GB_S
from sparkops.core.proposal import Line, Proposal
from sparkops.core.recipe import MOUNTS
from sparkops.core.yaml_text import flow

WIDTH = 110


def text(proposal: Proposal) -> str:
    """The whole file. It has no date of verification: the values are estimated."""
    snapshot = proposal.snapshot
    at = f" at commit {snapshot.commit}" if snapshot.commit else ""
    lines = [
        *_comment(f"Written by `sparkops recipe new` from the files of {snapshot.model}{at}: estimated, not measured."),
        f"model: {flow(snapshot.model)}",
        *_group(proposal.lines, ""),
        "",
        "args:",
        *_group(proposal.lines, "args."),
        *(line for reason in proposal.left_out for line in _comment(f"not set: {reason}", "  ")),
        "",
        "# the caches that outlive a container, so that later starts are faster",
        f"mounts: {flow(list(MOUNTS))}",
        "",
        "metadata:",
        *(f"  {key}: {flow(value)}" for key, value in _metadata(proposal)),
    ]
    return "\n".join(lines) + "\n"


def _group(lines: Iterable[Line], prefix: str) -> Iterator[str]:
    indent = "  " * bool(prefix)
    for line in lines:
        if line.key.startswith("args.") == bool(prefix):
            yield from _comment(line.reason, indent)
            yield f"{indent}{line.key.removeprefix('args.')}: {flow(line.value)}"


def _metadata(proposal: Proposal) -> Iterator[tuple[str, Any]]:
    snapshot, found = proposal.snapshot, proposal.snapshot.architecture
    kind = "a mixture of experts" if snapshot.moe else "a dense model"
    seen = ", with images or sound as input" if snapshot.multimodal else ""
    yield "description", f"{snapshot.model}, {kind} in {snapshot.quantisation}{seen}"
    yield "source", [f"config.json and file sizes at {snapshot.origin}"]
    yield "hardware", f"estimated for {proposal.shape.nodes} x GB10 with {proposal.estimate.total:.0f} GiB"
    yield "weights-gib", round(snapshot.weights_gib, 1) or round(snapshot.weights_gib, 4)
    if not isinstance(found, str):
        numbers = {key.replace("_", "-"): value for key, value in vars(found).items() if value}
        yield "architecture", {**numbers, "full": found.full, "experts": bool(found.experts)}
    if not (snapshot.moe or snapshot.pooling):
        most = BANDWIDTH_GB_S * proposal.shape.span / (snapshot.weights_bytes / 1e9)
        told = f"each token reads all weights, so one request gets at most about {most:.0f} tokens/s"
        yield "trade-offs", [f"{told} ({BANDWIDTH_GB_S} GB/s for each node)"]
    yield "notes", ["nobody has measured this recipe yet: test it, then write what you learn here"]


def _comment(reason: str, indent: str = "") -> list[str]:
    return textwrap.wrap(reason, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
