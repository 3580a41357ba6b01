"""The share of memory that the engine asks for when a recipe says nothing (`gpu-memory-utilization`)."""

UTILIZATION = 0.92
"""vLLM's own since 0.30."""

OLD_UTILIZATION = 0.9
"""Before; also what an engine of unknown version asks for at least."""

WHOLE = 0.97
"""The share of a node's memory that engines can have together: DGX OS itself uses about 3.5 of 121 GiB."""
