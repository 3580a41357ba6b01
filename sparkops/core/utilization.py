"""The share of memory that the engine asks for (`gpu-memory-utilization`)."""

from sparkops.core import images
from sparkops.core.effective import Effective

UTILIZATION = 0.92
"""What it asks for if a recipe says nothing: vLLM's own since 0.30."""

OLD_UTILIZATION = 0.9
"""Before; also what an engine of unknown version asks for at least."""

WHOLE = 0.97
"""The share of a node's memory that engines can have together: DGX OS itself uses about 3.5 of 121 GiB."""


def requested_share(effective: Effective) -> float:
    """The share of a node's memory that is free when the engine starts, else it fails, also with a given KV cache.

    Source: `request_memory` in vLLM's `v1/worker/utils.py`.
    """
    return effective.number("gpu-memory-utilization", OLD_UTILIZATION if is_old(effective) else UTILIZATION)


def is_old(effective: Effective) -> bool:
    """Whether the image has a vLLM before 0.21, which takes more than its share."""
    return images.known(effective.image).kind in ("mxfp4", "ngc")
