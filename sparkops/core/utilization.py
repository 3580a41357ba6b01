"""The share of memory that the engine asks for when a recipe says nothing (`gpu-memory-utilization`)."""

UTILIZATION = 0.92
"""vLLM's own since 0.30."""

OLD_UTILIZATION = 0.9
"""Before; also what an engine of unknown version asks for at least."""
